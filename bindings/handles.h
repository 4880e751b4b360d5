// How objects of the core and arrays cross to JavaScript.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "simd/buffer.h"

namespace lw {

inline std::string last_error;  // why the latest make() gave nothing

// Addresses cross as doubles: above 2 GiB an int would be negative.
template <class T> T* at(double address) { return reinterpret_cast<T*>(uintptr_t(address)); }
inline double address_of(const void* p) { return double(reinterpret_cast<uintptr_t>(p)); }

template <class T> T* made(Error e, std::unique_ptr<T> object) {
  last_error = e.text;
  return e ? nullptr : object.release();
}

}  // namespace lw

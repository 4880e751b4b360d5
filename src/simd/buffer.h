// Memory and errors: what every other folder uses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace lw {

// One sentence for the caller, naming the parameter, its value and what is allowed. Empty: no error.
struct [[nodiscard]] Error {
  std::string text;
  explicit operator bool() const { return !text.empty(); }
};

// A block of numbers, 64-byte aligned, that reports a failed allocation instead of aborting. Everything whose size
// grows with the input lives in one of these; small bookkeeping may use the standard containers.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept { swap(other); return *this; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(block_); }

  // New contents are indeterminate, old ones are kept up to min(old, new) size. False: out of memory, nothing changed.
  [[nodiscard]] bool resize(size_t size) {
    if (size > capacity_) {
      if (size > (SIZE_MAX / 2 - 64) / sizeof(T)) return false;
      void* block = std::malloc(size * sizeof(T) + 64);
      if (!block) return false;
      T* data = reinterpret_cast<T*>((reinterpret_cast<size_t>(block) + 63) / 64 * 64);
      if (size_) std::memcpy(static_cast<void*>(data), data_, size_ * sizeof(T));
      std::free(block_);
      block_ = block, data_ = data, capacity_ = size;
    }
    size_ = size;
    return true;
  }
  [[nodiscard]] bool assign(size_t size, T value) {
    if (!resize(size)) return false;
    for (size_t i = 0; i < size; i++) data_[i] = value;
    return true;
  }
  void fill(T value) { for (size_t i = 0; i < size_; i++) data_[i] = value; }
  void clear() { size_ = 0; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  void swap(Buffer& other) {
    std::swap(block_, other.block_), std::swap(data_, other.data_);
    std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
  }
  void* block_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// Room for [rows][columns] and `more`: sizes multiply in 64 bits, whatever size_t holds. False: out of memory.
template <class T>
[[nodiscard]] bool sized(Buffer<T>& buffer, uint64_t rows, uint64_t columns, uint64_t more = 0) {
  const uint64_t size = rows * columns + more;
  return size <= PTRDIFF_MAX / sizeof(T) && buffer.resize(size_t(size));
}

}  // namespace lw

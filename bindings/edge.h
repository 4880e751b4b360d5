// How values cross to JavaScript (edge.ts is the other side). Numbers and flags cross as they are, arrays as addresses, a
// request as its fields in order, each a double: a number, a flag, or the address of a text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lw {

// A text: its size in bytes, then its UTF-8.
struct Text {
  uint32_t size;
  std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), size}; }
};

// The field of a request that is a text.
struct TextField {
  double address;
  std::string_view view() const { return reinterpret_cast<const Text*>(uintptr_t(address))->view(); }
};

const Text* answer(const std::string& text);  // until the next answer; nullptr stands for ""

// A call that JavaScript finds by its name, "Class.method" for those whose first argument is an object.
struct Call {
  const char* name;
  int text;  // 1: gives a text
  void (*function)();
};

template <auto function> struct Crossing;
template <class R, class... A, R (*function)(A...)> struct Crossing<function> {
  static constexpr bool text = false;
  static R run(A... arguments) { return function(arguments...); }
};
template <class... A, std::string (*function)(A...)> struct Crossing<function> {
  static constexpr bool text = true;
  static const Text* run(A... arguments) { return answer(function(arguments...)); }
};
template <class C, class R, class... A, R (C::*method)(A...)> struct Crossing<method> {
  static constexpr bool text = false;
  static R run(C* object, A... arguments) { return (object->*method)(arguments...); }
};
template <class C, class... A, std::string (C::*method)(A...)> struct Crossing<method> {
  static constexpr bool text = true;
  static const Text* run(C* object, A... arguments) { return answer((object->*method)(arguments...)); }
};

template <auto function> Call call(const char* name) {
  return {name, Crossing<function>::text, reinterpret_cast<void (*)()>(&Crossing<function>::run)};
}

}  // namespace lw

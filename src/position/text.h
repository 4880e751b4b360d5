// How numbers and the caller's own words appear in sentences, specs and JSON.
#pragma once
#include <string>
#include <string_view>

namespace lw {

// Short, and reads back as the same number. As JavaScript spells them where they are none.
std::string number_text(double x);
// Decimal, finite, at most 60 characters; neither white space nor "inf", "nan" or hexadecimal.
bool read_number(std::string_view text, double& value);

// In quotes; what is too long to be read is cut.
inline std::string quoted(std::string_view word) {
  const size_t most = 60;
  return '"' + std::string(word.substr(0, most)) + (word.size() > most ? "…\"" : "\"");
}

inline std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Takes the part before the next separator off the front of `rest`.
inline std::string_view take_until(std::string_view& rest, char separator) {
  size_t end = rest.find(separator);
  std::string_view part = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

}  // namespace lw

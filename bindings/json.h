// Writing small JSON descriptions for JavaScript to parse.
#pragma once
#include <cmath>
#include <string>
#include <string_view>

#include "position/text.h"

namespace lw {

class Json {
 public:
  Json& open(char bracket) { comma(), text_ += bracket, first_ = true; return *this; }
  Json& close(char bracket) { text_ += bracket, first_ = false; return *this; }
  Json& key(std::string_view name) { comma(), quote(name), text_ += ':', first_ = true; return *this; }
  Json& value(std::string_view v) { comma(), quote(v); return *this; }
  Json& value(const char* v) { return value(std::string_view(v)); }
  Json& value(bool v) { comma(), text_ += v ? "true" : "false"; return *this; }
  Json& value(double v) {  // what JSON cannot say becomes null
    comma(), text_ += std::isfinite(v) ? number_text(v) : "null";
    return *this;
  }
  template <class T> Json& field(std::string_view name, T v) { return key(name).value(v); }
  const std::string& text() const { return text_; }

 private:
  void comma() { if (!first_) text_ += ','; first_ = false; }
  void quote(std::string_view v) {
    text_ += '"';
    for (char c : v) {
      if (c == '"' || c == '\\') text_ += '\\', text_ += c;
      else if (static_cast<unsigned char>(c) < 32) text_ += "\\u00", text_ += char('0' + c / 16), text_ += "0123456789abcdef"[c % 16];
      else text_ += c;
    }
    text_ += '"';
  }
  std::string text_;
  bool first_ = true;
};

}  // namespace lw

// Reads the JSON that tests/oracle writes. Anything else ends the test.
#pragma once
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace lw::test {

struct Json {
  double number = 0;                                  // true: 1; "inf" and "-inf" too
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  const Json* find(const std::string& name) const {
    for (auto& [key, value] : members) if (key == name) return &value;
    return nullptr;
  }
  const Json& operator[](const std::string& name) const {
    const Json* found = find(name);
    if (!found) std::abort();
    return *found;
  }
  // All numbers below, in order.
  std::vector<double> flat() const {
    if (items.empty()) return {number};
    std::vector<double> all;
    for (auto& item : items) for (double x : item.flat()) all.push_back(x);
    return all;
  }

  static Json parse(const std::string& source) {
    const char* at = source.c_str();
    return value(at);
  }
  static Json read(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return file ? parse(text.str()) : Json();
  }

 private:
  static char peek(const char*& at) {
    while (*at == ' ' || *at == '\n') at++;
    return *at;
  }
  static std::string quoted(const char*& at) {
    std::string out;
    for (at++; *at != '"'; at++) {
      if (*at == 0) std::abort();
      if (*at == '\\') at++;
      out += *at;
    }
    at++;
    return out;
  }
  static Json value(const char*& at) {
    Json out;
    char open = peek(at);
    if (open == '[' || open == '{') {
      at++;
      while (peek(at) != ']' && peek(at) != '}') {
        if (peek(at) == ',') at++;
        if (peek(at) == 0) std::abort();
        if (open == '[') { out.items.push_back(value(at)); continue; }
        peek(at);
        std::string key = quoted(at);
        if (peek(at) != ':') std::abort();
        out.members.emplace_back(key, value(++at));
      }
      at++;
    } else if (open == '"') {
      out.text = quoted(at);
      if (out.text == "inf" || out.text == "-inf") out.number = out.text == "inf" ? HUGE_VAL : -HUGE_VAL;
    } else if (open == 't' || open == 'f') {
      out.number = open == 't';
      at += open == 't' ? 4 : 5;
    } else {
      char* end = nullptr;
      out.number = std::strtod(at, &end);
      if (end == at) std::abort();
      at = end;
    }
    return out;
  }
};

}  // namespace lw::test

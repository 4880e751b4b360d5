// What a fuzz target reads from its bytes: small choices. Past the last byte all are 0.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "position/stack.h"
#include "position/text.h"

namespace lw::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  uint32_t word() {
    uint32_t x = 0;
    for (int n = 0; n < 4 && at_ < end_; n++) x = x << 8 | *at_++;
    return x;
  }
  int below(int n) {  // 0 … n − 1
    uint32_t x = at_ < end_ ? *at_++ : 0;
    if (n > 256) x = x << 8 | (at_ < end_ ? *at_++ : 0);
    return int(x % uint32_t(n));
  }
  int from(int least, int most) { return least + below(most - least + 1); }
  bool once_in(int n) { return below(n) == n - 1; }
  double unit() { return word() * 0x1p-32; }  // [0, 1)
  // Most often something ordinary.
  double number(double least, double most) {
    switch (below(8)) {
      case 0: return least;
      case 1: return most;
      case 2: return std::clamp(0.0, least, most);
      case 3: return std::clamp(std::floor(unit() * 16), least, most);
      case 4: return least + unit() * (most - least);
      default: return std::clamp(std::exp2(unit() * 12 - 4), least, most);
    }
  }
  std::string text(int most) {
    std::string out;
    for (int n = below(most + 1); n > 0; n--) out += char(below(256));
    return out;
  }
  uint64_t seed() { return uint64_t(word()) << 32 | word(); }

 private:
  const uint8_t *at_, *end_;
};

// Ends the program: what was expected does not hold.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}
inline void expect(bool holds, const std::string& what) { if (!holds) fail(what); }

// An error is a sentence that says what is allowed, or that memory ran out.
inline bool refused(const Error& e) {
  if (!e) return false;
  const std::string& t = e.text;
  const bool says = t.find("allowed") != t.npos || t.starts_with("OutOfMemory: ") || t.find("not finite") != t.npos ||
                    t.starts_with("Encoding: ") || t.find("looks at which tokens") != t.npos;
  expect(says && t.size() < 4000, "no sentence: " + t);
  return true;
}

inline std::string option_text(Input& in, const Option& o) {
  if (o.kind == Option::flag) return in.below(2) ? "true" : "false";
  if (o.kind == Option::choice) {
    std::string_view rest = o.choices, word;
    for (int n = in.from(0, int(o.most)); n >= 0; n--) word = take_until(rest, '|');
    return std::string(word);
  }
  if (o.kind == Option::number) return number_text(in.number(o.least, o.most));
  if (o.kind == Option::integer) return number_text(std::floor(in.number(o.least, o.most)));
  std::string list;
  for (int n = in.from(1, 6); n > 0; n--) list += number_text(in.number(o.least, o.most)) + (n > 1 ? ";" : "");
  return list;
}

// A spec of up to three encodings with some options, now and then with a fault in it.
inline std::string spec(Input& in) {
  if (in.once_in(32)) return in.text(40);
  std::string spec;
  for (int n = in.below(16) / 6; n >= 0; n--) {
    const Descriptor& d = *catalogue()[in.below(int(catalogue().size()))].descriptor;
    spec += (spec.empty() ? "" : "+") + std::string(d.name);
    for (auto& o : d.options) if (in.below(3) == 0) spec += std::string(":") + o.name + "=" + option_text(in, o);
  }
  if (in.once_in(16)) spec[size_t(in.below(int(spec.size())))] = char(in.below(256));
  return spec;
}

// Wide numbers, small sizes: what they multiply to is computed by the plain reference too.
inline Shape shape(Input& in) {
  Shape s;
  s.kv_heads = in.from(1, 3), s.heads = s.kv_heads * in.from(1, 3), s.head_dim = in.from(1, 9);
  if (in.below(4)) s.head_dim *= 2;
  s.width = in.below(3) ? s.heads * s.head_dim : in.from(1, 40);
  s.trained_length = in.once_in(8) ? 1 << 24 : in.from(1, 40), s.causal = in.below(3) != 0;
  return s;
}

// The numbers that tokens carry: counted, spread out, or anything.
inline std::vector<double> positions(Input& in, int length) {
  std::vector<double> p(length);
  const int kind = in.below(6);
  double at = kind == 1 ? in.number(-100, 1e6) : 0;
  for (double& x : p) {
    if (kind == 2) at += in.below(5);
    if (kind == 3) at += in.unit();
    x = kind == 4 ? in.number(-9007199254740992, 9007199254740992) : at;
    if (kind == 5) x = in.number(-1e300, 1e300);
    if (kind < 2) at++;
  }
  return p;
}

inline std::vector<float> normals(size_t n, Random& random, double size = 1) {
  std::vector<float> x(n);
  for (float& value : x) value = float(size * random.normal());
  return x;
}

inline size_t parameter_count(Stack& stack) {
  double total = 0;
  for (Parameter* p : stack.parameters()) total += double(p->rows) * p->columns;
  return size_t(std::min(total, 1e18));
}

}  // namespace lw::fuzz

// A stack with parameters and gradients of its own, inputs of attention made by formulas, and what is said of bad ones.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attention/attention.h"
#include "position/stack.h"

namespace lw::test {

// sin(step·i + phase), as tests/oracle/make_goldens.py has it.
inline std::vector<float> wave(size_t size, double step, double phase, double height = 1) {
  std::vector<float> out(size);
  for (size_t i = 0; i < size; i++) out[i] = float(height * std::sin(step * double(i) + phase));
  return out;
}

// Bytes for encodings that look at them: digits and what ends a sentence, as make_goldens.py has it.
inline const int* some_text() {
  static const std::vector<int> bytes = [] {
    std::vector<int> out;
    for (int i = 0; i < 4096; i++) out.push_back(44 + i * 5 % 14);
    return out;
  }();
  return bytes.data();
}

inline Shape shape(int heads, int head_dim, int width, int trained_length, bool causal = true, int kv_heads = 0) {
  Shape s;
  s.heads = heads, s.kv_heads = kv_heads ? kv_heads : heads, s.head_dim = head_dim;
  s.width = width, s.trained_length = trained_length, s.causal = causal;
  return s;
}

struct BoundStack {
  Stack stack;
  std::vector<std::vector<float>> values, gradients;  // [parameter]

  BoundStack(const std::string& spec, const Shape& shape) {
    Error e = Stack::make(spec, shape, stack);
    CAPTURE(spec);
    REQUIRE_MESSAGE(!e, e.text);
    int n = 0;
    for (Parameter* p : stack.parameters()) {
      values.push_back(wave(p->size(), 0.7, 1.3 * ++n, 0.5));
      gradients.emplace_back(p->size(), 0.f);
    }
    for (size_t i = 0; i < values.size(); i++) {
      stack.parameters()[i]->value = values[i].data();
      stack.parameters()[i]->gradient = gradients[i].data();
    }
  }
  Plan plan(std::span<const double> positions, int present = 0, Random* random = nullptr) {
    Plan out;
    Error e = stack.plan(positions, present, random, out, some_text());
    REQUIRE_MESSAGE(!e, e.text);
    return out;
  }
  Plan plan(int length, int present = 0) {
    Plan out;
    Error e = stack.plan(length, present, nullptr, out, some_text());
    REQUIRE_MESSAGE(!e, e.text);
    return out;
  }
};

// q, k, v [N][heads][D] and x [N][width].
struct Inputs {
  Shape s;
  int N;
  std::vector<float> q, k, v, x;

  Inputs(const Shape& s, int N)
      : s(s), N(N), q(wave(size_t(N) * s.heads * s.head_dim, 0.37, 0.1)), k(wave(size_t(N) * s.kv_heads * s.head_dim, 0.23, 0.2)),
        v(wave(size_t(N) * s.kv_heads * s.head_dim, 0.51, 0.3)), x(wave(size_t(N) * s.width, 0.61, 0.4)) {}

  AttentionInput attention(int offset, int count) const {
    AttentionInput in;
    in.queries = count, in.keys = offset + count, in.offset = offset;
    in.heads = s.heads, in.kv_heads = s.kv_heads, in.head_dim = s.head_dim;
    in.q_stride = s.heads * s.head_dim, in.k_stride = in.v_stride = s.kv_heads * s.head_dim;
    in.q = q.data() + offset * in.q_stride, in.k = k.data(), in.v = v.data();
    return in;
  }
  Sequence sequence(int offset, int count) const {
    Sequence t;
    t.offset = offset, t.count = count, t.x = x.data() + size_t(offset) * s.width;
    t.q_stride = s.heads * s.head_dim, t.k_stride = s.kv_heads * s.head_dim;
    t.q = q.data() + offset * t.q_stride, t.k = k.data() + offset * t.k_stride;
    return t;
  }
};

using Terms = std::vector<std::unique_ptr<ContentTerm>>;

// Output [N][heads·D], fed in chunks; plan covers all of it.
inline std::vector<float> attend(const Inputs& in, const Plan& plan, const Terms& contents, int chunk) {
  const size_t stride = size_t(in.s.heads) * in.s.head_dim;
  std::vector<float> out(in.N * stride);
  for (auto& term : contents) REQUIRE(term->begin(in.N));
  for (int offset = 0; offset < in.N; offset += chunk) {
    const int count = std::min(chunk, in.N - offset);
    for (auto& term : contents) REQUIRE(term->sequence(in.sequence(offset, count)));
    REQUIRE(attention_reference(in.attention(offset, count), plan, contents, out.data() + offset * stride, stride, nullptr));
  }
  return out;
}

inline const Shape plain = shape(3, 4, 12, 8);

inline std::string complaint(const std::string& spec, const Shape& s = plain) {
  Stack stack;
  return Stack::make(spec, s, stack).text;
}
inline std::string plan_complaint(const std::string& spec, std::vector<double> positions, const Shape& s = plain) {
  BoundStack bound(spec, s);
  Plan plan;
  return bound.stack.plan(positions, 0, nullptr, plan, some_text()).text;
}

// Whether it has a table that ends.
inline bool can_overflow(const Descriptor& d) {
  for (auto& option : d.options) if (option.name == std::string_view("overflow")) return true;
  return false;
}

// A spec of each encoding that serves any length.
inline std::vector<std::string> all_specs() {
  std::vector<std::string> specs;
  for (auto& entry : catalogue()) specs.push_back(entry.descriptor->name + std::string(can_overflow(*entry.descriptor) ? ":overflow=clamp" : ""));
  return specs;
}

inline std::vector<double> counted(int n, double first, double step = 1) {
  std::vector<double> p(n);
  for (int i = 0; i < n; i++) p[i] = first + i * step;
  return p;
}

}  // namespace lw::test

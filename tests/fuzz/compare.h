// Fused attention against the plain reference, for any plan that a stack has made.
#pragma once
#include <limits>
#include <numeric>

#include "attention/attention.h"
#include "input.h"

namespace lw::fuzz {

template <class T> bool all_finite(const T& x) { return std::all_of(x.begin(), x.end(), [](float v) { return std::isfinite(v); }); }

// What every plan must be, whatever the spec.
inline void check_plan(const Plan& plan, const Shape& s, const std::string& spec) {
  const size_t n = size_t(plan.length);
  expect(plan.positions.size() == n, spec + ": positions");
  expect(plan.input.empty() || (plan.input.size() == n * s.width && all_finite(plan.input)), spec + ": input");
  const Rotation& r = plan.rotation;
  expect(!r.pairs || (r.cosine.size() == n * r.pairs && r.sine.size() == n * r.pairs && all_finite(r.cosine) && all_finite(r.sine)), spec + ": rotation");
  expect(plan.scale.empty() || plan.scale.size() == n * s.heads, spec + ": scale");
  const bool biased = std::all_of(plan.bias.table.begin(), plan.bias.table.end(), [](float b) { return b < std::numeric_limits<float>::infinity(); });
  expect(biased, spec + ": bias");  // not NaN either
  const Pattern& p = plan.pattern;
  expect(p.begin.empty() || (p.begin.size() == n + 1 && size_t(p.begin[n]) == p.intervals.size()), spec + ": pattern");
  for (size_t i = 0; i < n && !p.begin.empty(); i++)
    for (int m = p.begin[i], end = 0; m < p.begin[i + 1]; end = p.intervals[m++].last)
      expect(end <= p.intervals[m].first && p.intervals[m].first < p.intervals[m].last && p.intervals[m].last <= (s.causal ? int(i) + 1 : int(n)), spec + ": intervals");
}

// How far off single precision may be, by the size of the scores; above 1: too large to compare.
inline double tolerance(const Plan& plan, const AttentionInput& in, bool content, const std::vector<float>& lse, double largest_value) {
  double bias = 0, scale = 1, top = 1;
  auto largest = [&](const float* x, ptrdiff_t vectors) {  // norm of a head
    double most = 0;
    for (ptrdiff_t n = 0; n < vectors; n++) most = std::max(most, std::sqrt(double(std::inner_product(x + n * in.head_dim, x + (n + 1) * in.head_dim, x + n * in.head_dim, 0.0))));
    return most;
  };
  const double q = largest(in.q, ptrdiff_t(in.queries) * in.heads), k = largest(in.k, ptrdiff_t(in.keys) * in.kv_heads);
  for (float b : plan.bias.table) if (std::isfinite(b)) bias = std::max(bias, std::fabs(double(b)));
  for (float f : plan.scale) scale = std::max(scale, std::fabs(double(f)));
  for (auto* table : {&plan.rotation.cosine, &plan.rotation.key_cosine}) for (float c : *table) top = std::max(top, std::fabs(double(c)));
  for (float l : lse) if (std::isfinite(l)) bias = std::max(bias, std::fabs(double(l)));
  if (plan.linear) return 1e-5 * top * top * (1 + q) * (1 + k) * largest_value;
  const double score = (q * k * (content ? 1 : std::fabs(double(plan.score_scale))) * top * top + bias) * scale;
  return (content ? 1e-5 : 1e-6) * (1 + score) * largest_value;
}

struct Problem {
  Shape s;
  int length;
  std::vector<float> q, k, v, x;  // [length][heads][D], x [length][width]
  Problem(const Shape& s, int length, Random& random, double size)
      : s(s), length(length), q(normals(size_t(length) * s.heads * s.head_dim, random, size)),
        k(normals(size_t(length) * s.kv_heads * s.head_dim, random, size)), v(normals(k.size(), random)),
        x(normals(size_t(length) * s.width, random)) {}
  AttentionInput input(int first, int queries) const {
    AttentionInput in;
    in.queries = queries, in.keys = first + queries, in.offset = first;
    in.heads = s.heads, in.kv_heads = s.kv_heads, in.head_dim = s.head_dim;
    in.q_stride = s.heads * s.head_dim, in.k_stride = in.v_stride = s.kv_heads * s.head_dim;
    in.q = q.data() + first * in.q_stride, in.k = k.data(), in.v = v.data();
    return in;
  }
  Sequence sequence() const { return {0, length, x.data(), q.data(), k.data(), s.heads * s.head_dim, s.kv_heads * s.head_dim}; }
};

// Tokens first … first + queries − 1 both ways; the whole sequence has been shown to the content terms.
inline void compare(const Problem& problem, const Plan& plan, Contents contents, int first, int queries, const std::string& spec) {
  const AttentionInput in = problem.input(first, queries);
  std::vector<float> fast(size_t(queries) * in.q_stride), plain(fast.size()), fast_lse(size_t(queries) * in.heads), plain_lse(fast_lse.size());
  AttentionScratch scratch;
  expect(attention(in, plan, contents, fast.data(), in.q_stride, fast_lse.data(), scratch) &&
             attention_reference(in, plan, contents, plain.data(), in.q_stride, plain_lse.data()), spec + ": out of memory");
  double largest = 1;
  for (float x : plain) if (std::isfinite(x)) largest = std::max(largest, std::fabs(double(x)));
  const double allowed = tolerance(plan, in, !contents.empty(), plain_lse, largest);
  if (!(allowed < 1)) return;
  for (size_t n = 0; n < fast.size(); n++)
    if (!(std::fabs(fast[n] - plain[n]) <= allowed)) fail(spec + ": attention[" + std::to_string(n) + "] is " + number_text(fast[n]) + ", by the reference " +
                                                         number_text(plain[n]) + "; allowed is a difference of " + number_text(allowed));
}

}  // namespace lw::fuzz

// Random attention problems for the tests: a shape, a plan with chosen doors open, inputs that are strided and misaligned.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "attention/attention.h"
#include "simd/random.h"

namespace lw::test {

constexpr float infinity = std::numeric_limits<float>::infinity();

inline void set_pattern(Plan& plan, const std::vector<int>& begin, const std::vector<Interval>& intervals) {
  if (!plan.pattern.begin.resize(begin.size()) || !plan.pattern.intervals.resize(intervals.size())) std::abort();
  std::copy(begin.begin(), begin.end(), plan.pattern.begin.begin());
  std::copy(intervals.begin(), intervals.end(), plan.pattern.intervals.begin());
}

struct AttentionCase {
  int queries = 1, keys = 1, offset = 0, heads = 1, kv_heads = 1, head_dim = 1;
  ptrdiff_t q_stride = 0, kv_stride = 0, out_stride = 0;
  Plan plan;
  std::vector<float> q_store, k_store, v_store;
  static constexpr int shift = 1;  // the pointers are 4 bytes off any alignment

  AttentionCase(int queries, int keys, int offset, int heads, int kv_heads, int head_dim, bool causal, uint64_t seed)
      : queries(queries), keys(keys), offset(offset), heads(heads), kv_heads(kv_heads), head_dim(head_dim) {
    q_stride = heads * head_dim + 3, kv_stride = kv_heads * head_dim + 5, out_stride = heads * head_dim + 1;
    plan.length = std::max(keys, offset + queries), plan.causal = causal, plan.score_scale = 1 / std::sqrt(float(head_dim));
    Random random(seed);
    q_store = normals(random, size_t(queries) * q_stride + shift);
    k_store = normals(random, size_t(keys) * kv_stride + shift);
    v_store = normals(random, size_t(keys) * kv_stride + shift);
  }

  AttentionInput input() const {
    AttentionInput in;
    in.queries = queries, in.keys = keys, in.offset = offset;
    in.heads = heads, in.kv_heads = kv_heads, in.head_dim = head_dim;
    in.q = q_store.data() + shift, in.k = k_store.data() + shift, in.v = v_store.data() + shift;
    in.q_stride = q_stride, in.k_stride = in.v_stride = kv_stride;
    return in;
  }

  static std::vector<float> normals(Random& random, size_t n, double size = 1) {
    std::vector<float> x(n);
    for (float& value : x) value = float(random.normal() * size);
    return x;
  }
  static bool fill(Buffer<float>& buffer, size_t n, Random& random, double size = 1) {
    if (!buffer.resize(n)) return false;
    for (float& value : buffer) value = float(random.normal() * size);
    return true;
  }

  bool open_rotation(int pairs, Pairing pairing, uint64_t seed = 7) {
    Random random(seed);
    Rotation& r = plan.rotation;
    r.pairs = pairs, r.pairing = pairing;
    if (!r.cosine.resize(size_t(plan.length) * pairs) || !r.sine.resize(size_t(plan.length) * pairs)) return false;
    for (size_t n = 0; n < r.cosine.size(); n++) {
      double angle = random.normal() * 3;
      r.cosine[n] = float(std::cos(angle)), r.sine[n] = float(std::sin(angle));
    }
    return true;
  }
  // Another gain for queries and keys.
  bool open_gain(uint64_t seed = 6) {
    Random random(seed);
    Rotation& r = plan.rotation;
    if (!r.key_cosine.resize(r.cosine.size()) || !r.key_sine.resize(r.sine.size())) return false;
    for (size_t n = 0; n < r.cosine.size(); n++) {
      const float query = float(0.5 + random.uniform()), key = float(0.5 + random.uniform());
      r.key_cosine[n] = key * r.cosine[n], r.key_sine[n] = key * r.sine[n];
      r.cosine[n] *= query, r.sine[n] *= query;
    }
    return true;
  }
  // Three zones, each with random tables; borders at distances 3 and 9.
  bool open_zones(uint64_t seed = 5) {
    Random random(seed);
    plan.zones.resize(3);
    for (int z = 0; z < 3; z++) {
      Zone& zone = plan.zones[z];
      Rotation& r = z ? zone.rotation : plan.rotation;
      r.pairs = plan.rotation.pairs, r.pairing = plan.rotation.pairing;
      for (auto* table : {&r.cosine, &r.sine, &r.key_cosine, &r.key_sine})
        if (!fill(*table, size_t(plan.length) * r.pairs, random)) return false;
      if (!zone.first.resize(plan.length)) return false;
      for (int i = 0; i < plan.length; i++) zone.first[i] = z == 2 ? 0 : std::max(0, i - (z ? 9 : 3));
    }
    return true;
  }
  bool open_bias(bool toeplitz, uint64_t seed = 8) {
    Random random(seed);
    Bias& b = plan.bias;
    const int T = plan.length;
    b.row_stride = toeplitz ? -1 : T, b.origin = toeplitz ? T - 1 : 0;
    b.head_stride = toeplitz ? 2 * T - 1 : ptrdiff_t(T) * T;
    return fill(b.table, size_t(heads) * b.head_stride + 16, random);
  }
  // As ALiBi: −slope · distance, by distance or (which must make no difference) in a full table; each head's slope is half the
  // slope of the one before.
  bool open_slopes(double steepest = 0.5, bool by_distance = true) {
    if (!open_bias(by_distance)) return false;
    for (int h = 0; h < heads; h++)
      for (int i = 0; i < plan.length; i++)
        for (int j = 0; j < plan.length; j++)
          plan.bias.table[plan.bias.index(h, i) + j] = float(-std::ldexp(steepest, -h) * std::abs(i - j));
    return true;
  }
  bool open_scale(uint64_t seed = 9) {
    Random random(seed);
    if (!plan.scale.resize(size_t(heads) * plan.length)) return false;
    for (float& s : plan.scale) s = float(0.5 + random.uniform());
    return true;
  }
  // rule(i, n, out) appends the intervals of row i of n, not causal yet.
  template <class Rule>
  void open_pattern(Rule rule) {
    std::vector<int> begin = {0};
    std::vector<Interval> intervals;
    for (int i = 0; i < plan.length; i++) {
      std::vector<Interval> row;
      rule(i, plan.length, row);
      for (auto [first, last] : row) {
        if (plan.causal) last = std::min(last, i + 1);
        if (first < last) intervals.push_back({first, last});
      }
      begin.push_back(int(intervals.size()));
    }
    set_pattern(plan, begin, intervals);
  }
};

struct AttentionResult { std::vector<float> out, lse; };

inline AttentionResult run(const AttentionCase& c, bool reference, Contents contents = {}, bool keys_rotated = false) {
  AttentionResult r;
  r.out.assign(size_t(c.queries) * c.out_stride + 1, -77), r.lse.assign(size_t(c.heads) * c.queries, -77);
  AttentionScratch scratch;
  AttentionInput in = c.input();
  in.keys_rotated = keys_rotated;
  bool ok = reference ? attention_reference(in, c.plan, contents, r.out.data() + 1, c.out_stride, r.lse.data())
                      : attention(in, c.plan, contents, r.out.data() + 1, c.out_stride, r.lse.data(), scratch);
  if (!ok) r.out.clear();
  return r;
}

// Largest difference; equal infinities agree, a NaN or a different length agrees with nothing.
inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return HUGE_VAL;
  double worst = 0;
  for (size_t n = 0; n < a.size(); n++) {
    if (a[n] == b[n]) continue;
    double d = std::fabs(double(a[n]) - b[n]);
    if (!(d <= worst)) worst = std::isnan(d) ? HUGE_VAL : d;
  }
  return worst;
}

}  // namespace lw::test

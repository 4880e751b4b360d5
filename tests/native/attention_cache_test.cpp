// Rotation by itself, the cache, and known cases that other implementations got wrong.
#include <doctest/doctest.h>

#include "attention/cache.h"
#include "attention_case.h"

using namespace lw;
using namespace lw::test;

namespace {

// Rotary angles p·base^(−2k/D) for tokens that carry these positions.
Rotation rope(std::vector<double> positions, int D, Pairing pairing, double base = 10000) {
  Rotation r;
  r.pairs = D / 2, r.pairing = pairing;
  if (!r.cosine.resize(positions.size() * r.pairs) || !r.sine.resize(positions.size() * r.pairs)) std::abort();
  for (size_t t = 0; t < positions.size(); t++)
    for (int k = 0; k < r.pairs; k++) {
      const double angle = positions[t] * std::pow(base, -2.0 * k / D);
      r.cosine[t * r.pairs + k] = float(std::cos(angle)), r.sine[t * r.pairs + k] = float(std::sin(angle));
    }
  return r;
}

void near(const std::vector<float>& x, const std::vector<double>& expected, double tolerance) {
  REQUIRE(x.size() == expected.size());
  for (size_t n = 0; n < x.size(); n++) CHECK(std::fabs(x[n] - expected[n]) <= tolerance);
}

// One head of width 1 whose queries are zero: every score is what the plan adds.
struct Flat {
  std::vector<float> q, k, v, out;
  AttentionInput in;
  Flat(int queries, int keys, int offset, std::vector<float> values) : q(queries, 0), k(keys, 1), v(values), out(queries, -1) {
    in.queries = queries, in.keys = keys, in.offset = offset;
    in.q = q.data(), in.k = k.data(), in.v = v.data(), in.q_stride = in.k_stride = in.v_stride = 1;
  }
  std::vector<float> operator()(const Plan& plan) {
    AttentionScratch scratch;
    if (!attention(in, plan, {}, out.data(), 1, nullptr, scratch)) out.clear();
    return out;
  }
};

}  // namespace

TEST_CASE("rotation: both pairings by number, position 3, base 10000") {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8}, y = x;
  rotate(rope({3}, 8, Pairing::interleaved), Side::query, x.data(), 8, 1, 1, 8, 0, false);
  near(x, {-1.272232513, -1.838864985, 1.683928641, 4.707906576, 4.817777168, 6.147277704, 6.975968536, 8.020963969}, 1e-6);
  rotate(rope({3}, 8, Pairing::half), Side::query, y.data(), 8, 1, 1, 8, 0, false);
  near(y, {-1.695592537, 0.1375517383, 2.7886816, 3.975982036, -4.808842475, 6.323059348, 7.086836737, 8.011963982}, 1e-6);
}

TEST_CASE("rotation: shifts of a turned key add up (ggml-org/llama.cpp#3835)") {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  const Rotation r = rope({10, -4, -2}, 8, Pairing::half);
  rotate(r, Side::query, x.data(), 8, 1, 1, 8, 0, false);
  rotate(r, Side::query, x.data(), 8, 1, 1, 8, 1, false);
  near(x, {2.357247778, -1.737183611, 2.574853574, 3.951928288, 4.521435935, 6.081298636, 7.167295799, 8.023855856}, 1e-5);
  rotate(r, Side::query, x.data(), 8, 1, 1, 8, 2, false);
  near(x, {3.130368856, -0.4943880658, 2.717674981, 3.967968085, -4.0250206, 6.305202649, 7.114368749, 8.015935957}, 1e-5);
}

TEST_CASE("rotation: the inverse undoes it, norms are kept, the rest of the head is left alone") {
  Random random(1);
  for (Pairing pairing : {Pairing::interleaved, Pairing::half})
    for (int D : {2, 3, 7, 8, 9, 17, 64})
      for (int pairs : {1, D / 4, D / 2}) {
        if (pairs == 0) continue;
        const int count = 3, heads = 2, stride = heads * D + 1;
        Rotation r = rope({5, 6, 7, 1e6, 8}, 2 * pairs, pairing);
        auto x = AttentionCase::normals(random, size_t(count) * stride + 1), turned = x;
        rotate(r, Side::query, turned.data() + 1, stride, count, heads, D, 2, false);
        for (int t = 0; t < count; t++) {
          for (int h = 0; h < heads; h++) {
            double before = 0, after = 0;
            for (int d = 0; d < D; d++) {
              const size_t at = 1 + t * stride + h * D + d;
              before += double(x[at]) * x[at], after += double(turned[at]) * turned[at];
              if (d >= 2 * pairs) CHECK(turned[at] == x[at]);
            }
            CHECK(after == doctest::Approx(before).epsilon(1e-5));
          }
          if (t + 1 < count) CHECK(turned[1 + t * stride + heads * D] == x[1 + t * stride + heads * D]);
        }
        CHECK(difference(turned, x) > 1e-3);
        rotate(r, Side::query, turned.data() + 1, stride, count, heads, D, 2, true);
        CHECK(difference(turned, x) < 1e-6);
      }
}

TEST_CASE("decoding through the cache equals one pass, in any chunks") {
  for (bool turn_keys : {true, false})
    for (int window : {0, 9})
      for (std::vector<int> chunks : {std::vector<int>(67, 1), {67}, {3, 1, 1, 40, 2, 20}, {60, 4, 3}}) {
        const int T = 67, heads = 4, kv_heads = 2, D = 6;
        AttentionCase c(T, T, 0, heads, kv_heads, D, true, 12);
        REQUIRE(c.open_rotation(3, Pairing::interleaved));
        if (window) REQUIRE(c.open_gain());
        REQUIRE(c.open_bias(true));
        REQUIRE(c.open_scale());
        if (window)
          c.open_pattern([&](int i, int, std::vector<Interval>& out) { out.push_back({std::max(0, i - window + 1), i + 1}); });
        const auto whole = run(c, true);
        KeyValueCache cache(kv_heads, D, turn_keys);
        std::vector<float> out(whole.out.size(), -77);
        AttentionScratch scratch;
        AttentionInput all = c.input();
        for (int begin = 0, n = 0; n < int(chunks.size()); begin += chunks[n++]) {
          const float *k = all.k + begin * all.k_stride, *v = all.v + begin * all.v_stride;
          REQUIRE(cache.append(c.plan.rotation, k, all.k_stride, v, all.v_stride, chunks[n]));
          if (begin == 3 && chunks[n] == 1) {  // forget a token and bring it again
            cache.truncate(begin);
            REQUIRE(cache.append(c.plan.rotation, k, all.k_stride, v, all.v_stride, 1));
          }
          AttentionInput in = all;
          in.q += begin * all.q_stride;
          cache.serve(in, chunks[n]);
          REQUIRE(attention(in, c.plan, {}, out.data() + 1 + begin * c.out_stride, c.out_stride, nullptr, scratch));
        }
        CHECK(cache.length() == T);
        CHECK(difference(out, whole.out) < 1e-5);
        cache.clear();
        CHECK(cache.length() == 0);
      }
}

TEST_CASE("grouped queries: each key/value head serves neighbours (ekzhang/jax-js#180)") {
  const float q[4] = {1, 2, 3, 4}, k[2] = {5, -6}, v[2] = {10, 20};
  float out[4];
  AttentionInput in;
  in.queries = in.keys = 1, in.heads = 4, in.kv_heads = 2, in.q = q, in.k = k, in.v = v;
  Plan plan;
  plan.length = 1;
  AttentionScratch scratch;
  REQUIRE(attention(in, plan, {}, out, 4, nullptr, scratch));
  CHECK(std::vector<float>(out, out + 4) == std::vector<float>{10, 10, 20, 20});
}

TEST_CASE("a bias by distance counts from the query's own place, behind a cache too") {
  Plan plan;
  plan.length = 5, plan.bias.row_stride = -1, plan.bias.origin = 4, plan.bias.head_stride = 9;
  REQUIRE(plan.bias.table.resize(9 + 16));
  for (int n = 0; n < 25; n++) plan.bias.table[n] = -0.25f * std::fabs(float(n - 4));
  const double weights[] = {0.1140507238, 0.1464440281, 0.1880378542, 0.2414453841, 0.3100220099};
  for (int j = 0; j < 5; j++) {
    std::vector<float> values(5, 0);
    values[j] = 1;
    near(Flat(1, 5, 4, values)(plan), {weights[j]}, 1e-7);
  }
}

TEST_CASE("windows count the query itself") {
  Plan plan;
  plan.length = 6;
  set_pattern(plan, {0, 1, 2, 3, 4, 5, 6}, {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 5}, {3, 6}});
  near(Flat(6, 6, 0, {0, 1, 2, 3, 4, 5})(plan), {0, 0.5, 1, 2, 3, 4}, 1e-6);
}

TEST_CASE("causal masks are aligned to the newest key; queries before all keys yield zeros (onnx/onnx#8068)") {
  Plan plan;
  plan.length = 5;
  near(Flat(2, 5, 3, {1, 2, 3, 4, 5})(plan), {2.5, 3}, 1e-6);
  set_pattern(plan, {0, 0, 0, 0, 1, 2}, {{0, 1}, {0, 2}});
  near(Flat(5, 2, 0, {1, 2})(plan), {0, 0, 0, 1, 1.5}, 1e-6);
}

TEST_CASE("softmax: shifts by the maximum, an empty row is zero (NVIDIA/FasterTransformer#43)") {
  struct { std::vector<float> scores; std::vector<double> weights; } rows[] = {
      {{1000, 1001, 1002}, {0.09003057317, 0.2447284711, 0.6652409558}},
      {{-1000, -1001, -1002}, {0.6652409558, 0.2447284711, 0.09003057317}},
      {{88.9f, 0}, {1, 0}}, {{3}, {1}}, {{1, 2, -infinity}, {0.2689414214, 0.7310585786, 0}}, {{-infinity, -infinity}, {0, 0}}};
  for (auto& row : rows)
    for (int queries : {1, 4}) {  // without and with packing
      const int n = int(row.scores.size());
      Plan plan;
      plan.length = std::max(n, queries), plan.causal = false, plan.bias.row_stride = 0;
      REQUIRE(plan.bias.table.assign(n + 16, NAN));
      for (int j = 0; j < n; j++) plan.bias.table[j] = row.scores[j];
      for (int j = 0; j < n; j++) {
        std::vector<float> values(n, 0);
        values[j] = 1;
        near(Flat(queries, n, 0, values)(plan), std::vector<double>(queries, row.weights[j]), 1e-7);
      }
    }
}

TEST_CASE("softmax: a row that sees nothing is zero, not NaN and not the mean (pytorch/pytorch#103749)") {
  for (int queries : {1, 4}) {
    Plan plan;
    plan.length = 4, plan.causal = false, plan.bias.row_stride = 0;
    REQUIRE(plan.bias.table.assign(4 + 16, 0));
    const float scores[] = {0.3f, 1, -2, 0};
    std::copy(scores, scores + 4, plan.bias.table.begin());
    Flat row(queries, 4, 0, {1, 2, 3, 4});
    set_pattern(plan, {0, 0, 0, 0, 0}, {});
    CHECK(row(plan) == std::vector<float>(queries, 0));
    plan.pattern = {};
    std::fill_n(plan.bias.table.begin(), 4, -infinity);
    CHECK(row(plan) == std::vector<float>(queries, 0));
  }
}

TEST_CASE("softmax: masks are combined as what they are, not as large numbers (huggingface/transformers#17306)") {
  const float lowest = std::numeric_limits<float>::lowest();
  for (int queries : {1, 4}) {
    Plan plan;  // the causal mask leaves key 0, the other one keys 1 and 2
    plan.length = 4, plan.bias.row_stride = 0;
    REQUIRE(plan.bias.table.assign(4 + 16, 0));
    plan.bias.table[0] = -infinity;
    CHECK(Flat(queries, 3, 0, {5, 6, 7})(plan)[0] == 0);
    plan.causal = false;
    for (int j = 0; j < 3; j++) plan.bias.table[j] = lowest + lowest;
    CHECK(Flat(queries, 3, 0, {5, 6, 7})(plan) == std::vector<float>(queries, 0));
  }
}

TEST_CASE("softmax: what is masked adds nothing, whatever its score (ggml-org/llama.cpp#5574)") {
  const double weights[] = {0.2689414214, 0.7310585786, 0};
  for (bool by_pattern : {true, false})
    for (int queries : {1, 4})
      for (int j = 0; j < 3; j++) {
        Plan plan;
        plan.length = 4, plan.causal = false, plan.bias.row_stride = 0;
        REQUIRE(plan.bias.table.assign(4 + 16, 0));
        const float scores[] = {1, 2, by_pattern ? infinity : -infinity};
        std::copy(scores, scores + 3, plan.bias.table.begin());
        if (by_pattern) set_pattern(plan, {0, 1, 2, 3, 4}, {{0, 2}, {0, 2}, {0, 2}, {0, 2}});
        std::vector<float> values(3, 0);
        values[j] = 1;
        near(Flat(queries, 3, 0, values)(plan), std::vector<double>(queries, weights[j]), 1e-7);
      }
}

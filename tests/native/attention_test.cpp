// Fused attention against the three loops, and the properties that it must have whatever the plan opens.
#include <doctest/doctest.h>

#include "attention_case.h"

using namespace lw;
using namespace lw::test;

namespace {

void window(int i, int, std::vector<Interval>& out) { out.push_back({std::max(0, i - 6), i + 1}); }
void sinks(int i, int, std::vector<Interval>& out) {
  if (i > 9) out.push_back({0, 2});
  out.push_back({i > 9 ? i - 5 : 0, i + 1});
}
void scattered(int i, int n, std::vector<Interval>& out) {  // holes of every width; every fifth row sees nothing
  if (i % 5 == 3) return;
  for (int j = i % 3; j < n; j += 2 + (i + j) % 9) out.push_back({j, j + 1});
}
void both_ways(int i, int n, std::vector<Interval>& out) { out.push_back({std::max(0, i - 3), std::min(n, i + 80)}); }

// Door combinations by number: bit 0 rotation (6: with a gain, 2 and 3: in zones), 1 bias, 2 scale; pattern and pairing by the rest.
bool open_doors(AttentionCase& c, int choice, bool keys_rotated = false) {
  bool ok = true;
  if (choice & 1 && c.head_dim >= 2) {
    int pairs = choice & 8 ? std::max(1, c.head_dim / 4) : c.head_dim / 2;
    ok &= c.open_rotation(pairs, choice & 16 ? Pairing::half : Pairing::interleaved);
    if (choice & 64) ok &= c.open_gain();
    if (choice & 4 && choice & 8 && !keys_rotated) ok &= c.open_zones();
  }
  if (choice & 2) ok &= c.open_bias(choice & 32);
  if (choice & 4) ok &= c.open_scale();
  switch (choice % 5) {
    case 1: c.open_pattern(window); break;
    case 2: c.open_pattern(sinks); break;
    case 3: c.open_pattern(scattered); break;
    case 4: c.open_pattern(both_ways); break;
  }
  return ok;
}

// A content term with everything: reads x-independent state, scores and values. term = 0.3·sin(j)·raw_j, read = Σ w_j·cos(j).
struct Wavy final : ContentTerm {
  int head_dim;
  explicit Wavy(int head_dim) : head_dim(head_dim) {}
  bool begin(int) override { return true; }
  bool sequence(const Sequence&) override { return true; }
  void row(const Row& row, const float* raw, float* scores) override {
    for (int j = row.first; j < row.last; j++) scores[j] += 0.3f * std::sin(float(j)) * raw[j] + 0.1f * row.q[0];
  }
  void read(const Row& row, const float* weights, float* out) override {
    for (int j = row.first; j < row.last; j++)
      for (int d = 0; d < head_dim; d++) out[d] += weights[j] * std::cos(float(j + d));
  }
  void row_backward(const Row&, const float*, const float*, float*, float*) override {}
  void sequence_backward(const Sequence&, float*, float*, float*) override {}
  void end_backward() override {}
};

}  // namespace

TEST_CASE("fused attention equals the reference for every door, length and head width") {
  int choice = 0;
  std::vector<int> lengths;
  for (int T = 1; T <= 70; T += T < 12 ? 1 : 3) lengths.push_back(T);
  for (int T : {130, 191, 193, 390}) lengths.push_back(T);
  for (int T : lengths)
    for (int D : {1, 2, 3, 4, 5, 8, 16, 33, 64}) {
      const int heads = 1 + choice % 4, kv_heads = heads == 4 ? 2 : choice % 3 ? heads : 1;
      AttentionCase c(T, T, 0, heads, kv_heads, D, choice % 7 != 0, 100 + choice);
      REQUIRE(open_doors(c, choice));
      auto fast = run(c, false), plain = run(c, true);
      CAPTURE(T); CAPTURE(D); CAPTURE(choice);
      CHECK(difference(fast.out, plain.out) < 2e-5);
      CHECK(difference(fast.lse, plain.lse) < 2e-5);
      choice++;
    }
}

TEST_CASE("rectangles: few queries, offsets, more queries than keys") {
  int choice = 0;
  for (int queries : {1, 2, 3, 4, 5, 31, 66})
    for (int keys : {1, 2, 7, 9, 65, 192, 193})
      for (int D : {1, 6, 16}) {
        AttentionCase c(queries, keys, std::max(0, keys - queries), 2, 1, D, choice % 4 != 0, choice);
        REQUIRE(open_doors(c, choice * 7, true));
        for (bool keys_rotated : {false, true}) {
          auto fast = run(c, false, {}, keys_rotated);
          AttentionCase plain_case(queries, keys, std::max(0, keys - queries), 2, 1, D, choice % 4 != 0, choice);
          REQUIRE(open_doors(plain_case, choice * 7, true));
          auto plain = run(plain_case, true, {}, keys_rotated);
          CAPTURE(queries); CAPTURE(keys); CAPTURE(D); CAPTURE(choice); CAPTURE(keys_rotated);
          CHECK(difference(fast.out, plain.out) < 2e-5);
          CHECK(difference(fast.lse, plain.lse) < 2e-5);
        }
        choice++;
      }
}

TEST_CASE("content terms see whole rows and read normalised weights") {
  int choice = 0;
  for (int queries : {1, 3, 17, 70})
    for (int extra : {0, 1, 131})
      for (int D : {1, 5, 16}) {
        AttentionCase c(queries, queries + extra, extra, 2, 2, D, choice % 2 == 0, choice);
        REQUIRE(open_doors(c, choice * 11));
        std::vector<std::unique_ptr<ContentTerm>> terms;
        terms.push_back(std::make_unique<Wavy>(D)), terms.push_back(std::make_unique<Wavy>(D));
        auto fast = run(c, false, terms), plain = run(c, true, terms);
        CAPTURE(queries); CAPTURE(extra); CAPTURE(D); CAPTURE(choice);
        CHECK(difference(fast.out, plain.out) < 2e-5);
        CHECK(difference(fast.lse, plain.lse) < 2e-5);
        choice++;
      }
}

TEST_CASE("the future does not leak, not even as NaN or infinity") {
  for (int choice : {0, 5, 31, 42, 55})
    for (int T : {5, 67, 195}) {
      AttentionCase c(T, T, 0, 2, 2, 8, true, 3);
      REQUIRE(open_doors(c, choice));
      auto before = run(c, false);
      for (int cut : {1, 2, T / 2, T - 1}) {
        AttentionCase poisoned(T, T, 0, 2, 2, 8, true, 3);
        REQUIRE(open_doors(poisoned, choice));
        for (ptrdiff_t n = cut * c.kv_stride + c.shift; n < ptrdiff_t(c.k_store.size()); n++)
          poisoned.k_store[n] = n % 2 ? NAN : infinity, poisoned.v_store[n] = n % 2 ? infinity : NAN;
        auto after = run(poisoned, false);
        before.out.resize(cut * c.out_stride), after.out.resize(cut * c.out_stride);
        CHECK(before.out == after.out);
        before = run(c, false);
      }
    }
}

TEST_CASE("keys that are too many to be packed at once: tile by tile, with every door, in bounded memory") {
  for (int choice : {0, 1, 2, 3, 4, 7, 13, 79, 103, 107})
    for (bool causal : {true, false}) {
      AttentionCase c(100, 430, 330, 2, 1, 1024, causal, 500 + choice);  // 384 keys of 1024 would fit
      REQUIRE(open_doors(c, choice));
      auto fast = run(c, false), plain = run(c, true);
      CAPTURE(choice);
      CHECK(difference(fast.out, plain.out) < 2e-5);
      CHECK(difference(fast.lse, plain.lse) < 2e-5);
    }
  size_t needed[2];
  for (int n : {0, 1}) {
    AttentionCase c(64, n ? 20000 : 10000, n ? 19936 : 9936, 1, 1, 64, true, 1);
    AttentionScratch scratch;
    std::vector<float> out(64 * c.out_stride);
    REQUIRE(attention(c.input(), c.plan, {}, out.data(), c.out_stride, nullptr, scratch));
    needed[n] = scratch.floats.size() * sizeof(float);
  }
  CHECK(needed[0] == needed[1]);
  CHECK(needed[1] <= 1 << 19);
}

TEST_CASE("NaN stays in its row, large scores do not overflow, rows without keys are zero") {
  AttentionCase c(70, 70, 0, 1, 1, 4, true, 5);
  auto clean = run(c, false);
  for (int d = 0; d < 4; d++) c.q_store[33 * c.q_stride + c.shift + d] = NAN;
  auto dirty = run(c, false);
  for (int r = 0; r < 70; r++)
    for (int d = 0; d < 4; d++) {
      const size_t at = r * c.out_stride + 1 + d;
      CHECK((r == 33 ? std::isnan(dirty.out[at]) : dirty.out[at] == clean.out[at]));
    }
  CHECK(std::isnan(dirty.lse[33]));

  AttentionCase large(9, 200, 191, 1, 1, 2, true, 6);
  for (float& x : large.q_store) x *= 3000;
  CHECK(difference(run(large, false).out, run(large, true).out) < 2e-3);

  AttentionCase banned(6, 6, 0, 1, 1, 3, true, 6);
  REQUIRE(banned.open_bias(true));
  banned.plan.bias.table.fill(-infinity);
  auto nothing = run(banned, false);
  CHECK(nothing.lse == std::vector<float>(6, -infinity));
  for (int r = 0; r < 6; r++)
    for (int d = 0; d < 3; d++) CHECK(nothing.out[r * banned.out_stride + 1 + d] == 0);
  for (float& x : banned.q_store) x = NAN;  // NaN + −∞ is NaN, not nothing
  CHECK(std::isnan(run(banned, false).out[1]));
}

TEST_CASE("a key that weighs next to nothing makes nothing subnormal, which would be slow") {
  for (int queries : {1, 8})
    for (float gap = 1; gap < 110; gap++) {
      CAPTURE(queries); CAPTURE(gap);
      AttentionCase c(queries, 8, 8 - queries, 1, 1, 4, false, 6);
      REQUIRE(c.open_bias(false));
      c.plan.bias.table.fill(-infinity);
      for (int i = 0; i < 8; i++) c.plan.bias.table[i * 8] = -gap, c.plan.bias.table[i * 8 + 1] = 0;
      for (float& x : c.q_store) x = 0;
      for (float& x : c.v_store) x = 1e-4f;
      for (int d = 0; d < 4; d++) c.v_store[c.shift + c.kv_stride + d] = 0;  // the key that weighs 1
      const double exact = 1e-4 * std::exp(-double(gap));
      const float x = run(c, false).out[1];
      CHECK(std::fpclassify(x) != FP_SUBNORMAL);
      if (gap <= 64) CHECK(x == doctest::Approx(exact).epsilon(1e-5));
      else CHECK(std::fabs(x - exact) < 2e-32);
      if (queries < 8) continue;
      const std::vector<float> dout(8 * c.out_stride + 1, 1e-4f), lse(8, 0);
      std::vector<float> dq(c.q_store.size()), dk(c.k_store.size()), dv(c.v_store.size()), out(dout.size());
      AttentionScratch scratch;
      REQUIRE(attention_backward(c.input(), c.plan, {}, out.data(), dout.data(), c.out_stride, lse.data(), {dq.data(), dk.data(), dv.data(), nullptr}, scratch));
      CHECK(std::fpclassify(dv[0]) != FP_SUBNORMAL);
      if (gap <= 64) CHECK(dv[0] == doctest::Approx(8 * exact).epsilon(1e-5));
    }
}

TEST_CASE("no keys at all: zeros") {
  AttentionCase c(5, 0, 0, 2, 1, 3, true, 6);
  for (int queries : {1, 5}) {
    c.queries = queries;
    auto none = run(c, false);
    CHECK(difference(none.out, run(c, true).out) == 0);
    CHECK(none.lse == std::vector<float>(2 * queries, -infinity));
  }
}

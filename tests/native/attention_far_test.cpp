// Tiles of keys that cannot weigh anything are not multiplied, and nobody can tell.
#include <cfenv>

#include <doctest/doctest.h>

#include "attention_case.h"
#include "gradient.h"
#include "simd/simd.h"

using namespace lw;
using namespace lw::test;

namespace {

constexpr int tile = 192;

enum Table { slopes, steep_slopes, full_slopes, spikes, triangular, banned, tables };

bool open_table(AttentionCase& c, int table) {
  Random random(12);
  Bias& b = c.plan.bias;
  const int T = c.plan.length;
  switch (table) {
    case slopes: return c.open_slopes();
    case steep_slopes: return c.open_slopes(300);
    case full_slopes: return c.open_slopes(1, false);
    case spikes:  // a few keys anywhere, between others that weigh nothing
      if (!c.open_bias(false)) return false;
      for (float& x : b.table) x = random.uniform() < 0.003 ? x + 5 : x - 200;
      return true;
    case triangular:
      b.triangular = true, b.origin = 0, b.row_stride = 0, b.head_stride = ptrdiff_t(T) * (T + 1) / 2;
      if (!c.fill(b.table, size_t(c.heads) * b.head_stride + 16, random)) return false;
      for (int h = 0; h < c.heads; h++)
        for (int i = 0; i < T; i++)
          for (int j = 0; j <= i; j++)
            b.table[b.index(h, i) + j] -= float(150 * ((i / 7 + j / 60) % 5) + (h + 1) * 100 * (j < 300));
      return true;
    default:  // whole tiles of −∞
      if (!c.open_slopes(0.01, false)) return false;
      for (int h = 0; h < c.heads; h++)
        for (int i = 0; i < T; i++)
          for (int j = 0; j < T; j++)
            if ((j / tile + i / 90) % 2 == 0) b.table[b.index(h, i) + j] = -infinity;
      return true;
  }
}

bool open_scales(AttentionCase& c) {  // in some rows no larger bias makes a larger score
  if (!c.open_scale()) return false;
  for (size_t n = 0; n < c.plan.scale.size(); n++)
    if (n % 9 > 4) c.plan.scale[n] = n % 9 == 5 ? 0 : n % 9 == 6 ? -0.01f : n % 9 == 7 ? 4 : 0.01f;
  return true;
}

// A key of each tile that nobody sees …
bool unseen(int j) { return j % tile == 5; }
void all_but_unseen(int, int n, std::vector<Interval>& out) {
  for (int first = 0, j = 5; first < n; first = j + 1, j += tile) out.push_back({first, std::min(j, n)});
}
// … and which, with a value that is not finite, forbids to skip the tile.
void forbid_skipping(AttentionCase& c) {
  for (int j = 0; j < c.keys; j++)
    for (int d = 0; d < c.kv_heads * c.head_dim && unseen(j); d++) c.v_store[c.shift + j * c.kv_stride + d] = NAN;
}

struct Everything {
  AttentionResult forward;
  std::vector<float> dq, dk, dv;
  PlanGradient plan;
};
std::vector<float> some_dout(const AttentionCase& c) {
  Random random(5);
  return AttentionCase::normals(random, size_t(c.queries) * c.out_stride + 1);
}
Everything everything(const AttentionCase& c, const std::vector<float>& dout) {
  Everything e{run(c, false), {}, {}, {}, {}};
  e.dq.resize(c.q_store.size()), e.dk.resize(c.k_store.size()), e.dv.resize(c.v_store.size());
  REQUIRE(e.plan.bias.assign(c.plan.bias.table.size(), 0));
  REQUIRE(e.plan.scale.assign(c.plan.scale.size(), 0));
  AttentionScratch scratch;
  REQUIRE(attention_backward(c.input(), c.plan, {}, e.forward.out.data() + 1, dout.data() + 1, c.out_stride, e.forward.lse.data(),
                             {e.dq.data() + 1, e.dk.data() + 1, e.dv.data() + 1, &e.plan}, scratch));
  return e;
}

template <class A, class B>
bool same(const A& a, const B& b) {  // NaN is as NaN
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}
void are_same(const Everything& a, const Everything& b) {
  CHECK(same(a.forward.out, b.forward.out));
  CHECK(same(a.forward.lse, b.forward.lse));
  CHECK(same(a.dq, b.dq));
  CHECK(same(a.dk, b.dk));
  CHECK(same(a.dv, b.dv));
  CHECK(same(a.plan.bias, b.plan.bias));
  CHECK(same(a.plan.scale, b.plan.scale));
}
// To the bit what is computed where nothing may be skipped. The pattern is all_but_unseen.
void cannot_tell(AttentionCase& c, const std::vector<float>& dout) {
  const Everything fast = everything(c, dout);
  const auto values = c.v_store;
  forbid_skipping(c);
  are_same(fast, everything(c, dout));
  c.v_store = values;
}

void is_the_reference(const AttentionCase& c, bool keys_rotated = false, double tolerance = 4e-5) {
  const auto fast = run(c, false, {}, keys_rotated), plain = run(c, true, {}, keys_rotated);
  CHECK(difference(fast.out, plain.out) < tolerance);
  CHECK(difference(fast.lse, plain.lse) < tolerance * 4);
}

// The same numbers are not finite.
void breaks_as_the_reference(const AttentionCase& c) {
  const auto fast = run(c, false), plain = run(c, true);
  bool broken = false, equal = true;
  for (size_t n = 0; n < fast.out.size(); n++) {
    equal = equal && std::isfinite(fast.out[n]) == std::isfinite(plain.out[n]);
    broken = broken || !std::isfinite(fast.out[n]);
  }
  CHECK(equal);
  CHECK(broken);
}

}  // namespace

TEST_CASE("steep biases of every kind: the reference's outputs, and to the bit what nothing skipped gives") {
  int choice = 0;
  for (int table = 0; table < tables; table++)
    for (int T : {193, 500})
      for (bool causal : {true, false}) {
        if (table == triangular && !causal) continue;
        choice++;
        for (int doors = 0; doors < 4; doors++) {
          CAPTURE(table); CAPTURE(T); CAPTURE(causal); CAPTURE(doors);
          AttentionCase c(T, T, 0, 2, 1 + choice % 2, 8, causal, 70 + choice);
          if (doors & 1) REQUIRE((c.open_rotation(4, Pairing::half) && c.open_gain() && (choice % 3 == 0 || c.open_zones())));
          REQUIRE(open_table(c, table));
          if (doors & 2) REQUIRE(open_scales(c));
          const double tolerance = doors & 2 ? 3e-4 : 4e-5;  // scores of thousands, after all
          is_the_reference(c, false, tolerance);
          c.open_pattern(all_but_unseen);
          if (doors == 3) is_the_reference(c, false, tolerance);
          cannot_tell(c, some_dout(c));
        }
      }
}

TEST_CASE("steep biases: queries that come after many keys, and keys packed tile by tile") {
  for (int table = 0; table < tables; table++)
    for (bool causal : {true, false}) {
      if (table == triangular && !causal) continue;
      CAPTURE(table); CAPTURE(causal);
      for (int queries : {5, 130})
        for (bool keys_rotated : {true, false}) {
          AttentionCase c(queries, 700, 700 - queries, 4, 2, 6, causal, 9);
          REQUIRE(c.open_rotation(3, Pairing::interleaved));
          REQUIRE(open_table(c, table));
          is_the_reference(c, keys_rotated);
        }
      AttentionCase middle(64, 900, 400, 1, 1, 4, causal, 9);  // as many keys before as after
      REQUIRE(open_table(middle, table));
      is_the_reference(middle);
      if (table != slopes && table != spikes && table != banned) continue;
      AttentionCase wide(16, 900, causal ? 884 : 500, 1, 1, 1024, causal, 8);  // 384 keys of 1024 would fit
      REQUIRE(open_table(wide, table));
      is_the_reference(wide);
      wide.open_pattern([](int i, int n, std::vector<Interval>& out) { out.push_back({i - 250, std::min(n, i + 300)}); });
      for (int i = 0; i < 251; i++) wide.plan.pattern.intervals[i].first = 0;
      is_the_reference(wide);
    }
}

TEST_CASE("steep biases: gradients against central differences") {
  for (bool by_distance : {true, false}) {
    AttentionCase c(390, 390, 0, 1, 1, 2, true, 3);
    REQUIRE(c.open_slopes(2, by_distance));
    const auto dout = some_dout(c);
    const Everything e = everything(c, dout);
    auto loss = [&] {
      const auto out = run(c, true).out;
      double sum = 0;
      for (int r = 0; r < c.queries; r++)
        for (int d = 0; d < c.head_dim; d++) sum += double(out[r * c.out_stride + 1 + d]) * dout[r * c.out_stride + 1 + d];
      return sum;
    };
    check_gradient("q", c.q_store.size(), c.q_store.data(), e.dq.data(), loss, 5e-3, 1e-12, 131);
    check_gradient("k", c.k_store.size(), c.k_store.data(), e.dk.data(), loss, 5e-3, 1e-12, 131);
    check_gradient("v", c.v_store.size(), c.v_store.data(), e.dv.data(), loss, 5e-3, 1e-12, 131);
    check_gradient("bias", c.plan.bias.table.size(), c.plan.bias.table.data(), e.plan.bias.data(), loss, 5e-3, 1e-12,
                   by_distance ? 43 : 7001);
  }
}

TEST_CASE("a far key that is long enough to win against the bias is not skipped") {
  for (bool causal : {true, false})
    for (int doors = 0; doors < 3; doors++)  // 1: zones, 2: everything negative, and a factor of −1
      for (int key : {10, 191, 192, 400, 650}) {
        CAPTURE(causal); CAPTURE(doors); CAPTURE(key);
        AttentionCase c(700, 700, 0, 1, 1, 8, causal, 3);
        const int query = 600;
        if (doors == 1) {
          REQUIRE((c.open_rotation(4, Pairing::half) && c.open_zones()));
          Rotation& nearest = c.plan.rotation;  // of which a far key knows nothing; four rows are decided on at once
          for (auto* table : {&nearest.cosine, &nearest.sine}) std::fill_n(table->data() + query * 4, 4 * 4, 0.0f);
          for (auto* table : {&nearest.key_cosine, &nearest.key_sine}) std::fill_n(table->data() + key * 4, 4, 0.0f);
        }
        REQUIRE(c.open_slopes());
        if (doors == 2) REQUIRE(c.plan.scale.assign(700, -1));
        for (float& x : c.plan.bias.table) x *= doors == 2 ? -1 : 1;
        const float* q = c.q_store.data() + c.shift + query * c.q_stride;
        float *k = c.k_store.data() + c.shift + key * c.kv_stride, square = 0;
        for (int d = 0; d < 8; d++) square += q[d] * q[d];
        for (int d = 0; d < 8; d++) k[d] = (doors == 2 ? -1e4f : 1e4f) * q[d] / std::sqrt(square);
        is_the_reference(c, false, 5e-3);
        const auto fast = run(c, false);
        for (int d = 0; d < 8 && !(causal && key > query) && doors != 1; d++)
          CHECK(fast.out[query * c.out_stride + 1 + d] == c.v_store[c.shift + key * c.kv_stride + d]);
        c.open_pattern(all_but_unseen);
        cannot_tell(c, some_dout(c));
      }

  // Rows 128 … 191 see a part of the second tile, and skip it; the key that row 600 reads is not in that part.
  AttentionCase c(1000, 1000, 0, 1, 1, 8, false, 3);
  REQUIRE(c.open_slopes(300));
  c.open_pattern([](int i, int n, std::vector<Interval>& out) { out.push_back({std::max(0, i - 300), std::min(n, i + 70)}); });
  for (int d = 0; d < 8; d++) c.k_store[c.shift + 380 * c.kv_stride + d] = 1e6f * c.q_store[c.shift + 600 * c.q_stride + d];
  const auto fast = run(c, false);
  for (int d = 0; d < 8; d++) CHECK(fast.out[600 * c.out_stride + 1 + d] == c.v_store[c.shift + 380 * c.kv_stride + d]);
}

TEST_CASE("what is not finite shows from afar as it does from near") {
  for (float bad : {NAN, infinity, -infinity, 3e38f})  // the last one's square is not finite
    for (bool causal : {true, false})
      for (bool in_key : {true, false})
        for (int at : {20, 250}) {
          CAPTURE(bad); CAPTURE(causal); CAPTURE(in_key); CAPTURE(at);
          AttentionCase c(500, 500, 0, 2, 1, 5, causal, 4);
          REQUIRE(c.open_slopes());
          (in_key ? c.k_store : c.v_store)[c.shift + at * c.kv_stride + 3] = bad;
          if (bad != 3e38f) breaks_as_the_reference(c);
          c.open_pattern(all_but_unseen);
          cannot_tell(c, some_dout(c));
        }

  // A bias that is NaN, in the midst of a tile.
  AttentionCase bias(800, 800, 0, 1, 1, 4, true, 4);
  REQUIRE(bias.open_slopes(1, false));
  bias.plan.bias.table[bias.plan.bias.index(0, 700) + 100] = NAN;
  breaks_as_the_reference(bias);

  for (float bad : {NAN, infinity}) {  // of what comes back, every key that the row sees takes its part
    AttentionCase c(800, 800, 0, 1, 1, 4, true, 4);
    REQUIRE(c.open_slopes());
    auto dout = some_dout(c);
    dout[1 + 700 * c.out_stride + 2] = bad;
    const Everything e = everything(c, dout);
    CHECK(std::isnan(e.dv[1 + 2]));
    CHECK(std::isnan(e.dk[1]));
    CHECK(std::isnan(e.plan.bias[c.plan.bias.index(0, 700)]));
    c.open_pattern(all_but_unseen);
    cannot_tell(c, dout);
  }
}

// Nothing that is returned tells whether a tile was skipped. On its way to 0, though, the exponential of −10¹⁵ overflows, which
// processors tell and WebAssembly does not.
#ifdef FE_OVERFLOW
TEST_CASE("far tiles are skipped: forward and backward") {
  auto overflows = [](auto f) {
    std::feclearexcept(FE_ALL_EXCEPT);
    f();
    return bool(std::fetestexcept(FE_OVERFLOW));
  };
  volatile float far = -1e15f;
  CHECK(overflows([&] { far = simd::largest(simd::softmax_exp(simd::splat(far))); }));
  for (bool causal : {true, false}) {
    AttentionCase c(800, 800, 0, 1, 1, 4, causal, 4);
    REQUIRE(c.open_bias(false));
    for (int i = 0; i < 800; i++)
      for (int j = 0; j < 800; j++) c.plan.bias.table[i * 800 + j] = i / tile == j / tile ? 0 : -1e15f;
    const auto dout = some_dout(c);
    CHECK(!overflows([&] { run(c, false); }));
    CHECK(!overflows([&] { everything(c, dout); }));
  }
}
#endif

// Linear attention: against its definition, as it decodes, and what it costs. Its gradients: attention_gradient_test.cpp.
#include <doctest/doctest.h>

#include "attention/cache.h"
#include "attention_case.h"

using namespace lw;
using namespace lw::test;

namespace {

AttentionCase linear_case(int queries, int keys, int offset, int D, int choice) {
  const int heads = 1 + choice % 4, kv_heads = heads == 4 ? 2 : choice % 3 ? heads : 1;
  AttentionCase c(queries, keys, offset, heads, kv_heads, D, choice % 7 != 0, 300 + choice);
  c.plan.linear = true;
  if (choice & 1 && D > 1) REQUIRE(c.open_rotation(choice & 4 ? std::max(1, D / 4) : D / 2, choice & 8 ? Pairing::half : Pairing::interleaved));
  if (choice & 1 && choice & 2 && D > 1) REQUIRE(c.open_gain());
  return c;
}

}  // namespace

TEST_CASE("linear attention equals the reference for every length and head width") {
  int choice = 0;
  for (int T : {1, 2, 3, 4, 5, 7, 8, 9, 13, 31, 64, 67, 130, 257})
    for (int D : {1, 2, 3, 4, 5, 8, 16, 33, 64}) {
      const auto c = linear_case(T, T, 0, D, choice++);
      CAPTURE(T); CAPTURE(D); CAPTURE(choice);
      const auto fast = run(c, false), plain = run(c, true);
      CHECK(difference(fast.out, plain.out) < 2e-5);
      CHECK(difference(fast.lse, plain.lse) < 2e-5);
    }
}

TEST_CASE("linear attention: rectangles, and rows without keys are zero") {
  struct { int queries, keys, offset; } rectangles[] = {{1, 9, 8}, {3, 20, 17}, {5, 12, 2}, {9, 4, 0}, {4, 3, 6}, {2, 0, 0}};
  for (auto [queries, keys, offset] : rectangles)
    for (int choice = 0; choice < 8; choice++) {
      const auto c = linear_case(queries, keys, offset, 6, choice);
      CAPTURE(queries); CAPTURE(keys); CAPTURE(offset); CAPTURE(choice);
      const auto fast = run(c, false), plain = run(c, true);
      CHECK(difference(fast.out, plain.out) < 1e-5);
      CHECK(difference(fast.lse, plain.lse) < 1e-5);
      if (keys) continue;
      CHECK(fast.out[1] == 0);
      CHECK(fast.lse[0] == -infinity);
    }
}

TEST_CASE("linear attention: the future does not leak, not even as NaN") {
  auto c = linear_case(9, 9, 0, 4, 1);
  const auto before = run(c, false);
  for (int d = 0; d < c.kv_heads * 4; d++)
    c.k_store[1 + 6 * c.kv_stride + d] = NAN, c.v_store[1 + 7 * c.kv_stride + d] = infinity;
  const auto after = run(c, false);
  for (int n = 0; n < 6 * int(c.out_stride); n++) CHECK(after.out[n] == before.out[n]);
  CHECK(std::isnan(after.out[1 + 6 * c.out_stride]));
}

TEST_CASE("linear attention: large queries and keys do not overflow") {
  auto c = linear_case(5, 5, 0, 4, 1);
  for (auto* x : {&c.q_store, &c.k_store}) for (float& f : *x) f *= 1e4f;
  const auto fast = run(c, false), plain = run(c, true);
  for (int r = 0; r < 5; r++)
    for (int d = 0; d < c.heads * 4; d++) {
      const float x = fast.out[1 + r * c.out_stride + d];
      CHECK(std::isfinite(x));
      CHECK(x == doctest::Approx(plain.out[1 + r * c.out_stride + d]).epsilon(1e-4).scale(1));
    }
}

TEST_CASE("linear attention decodes from its state: equal to one pass, and old keys are not looked at again") {
  for (std::vector<int> chunks : {std::vector<int>(67, 1), {67}, {3, 1, 1, 40, 2, 20}, {60, 4, 3}}) {
    auto c = linear_case(67, 67, 0, 6, 3);
    c.plan.causal = true;
    const auto whole = run(c, true);
    KeyValueCache cache(c.kv_heads, 6, false);
    std::vector<float> out(whole.out.size(), -77);
    AttentionScratch scratch;
    const AttentionInput all = c.input();
    auto attend = [&](int begin, int count) {
      REQUIRE(cache.append(c.plan.rotation, all.k + begin * all.k_stride, all.k_stride, all.v + begin * all.v_stride, all.v_stride, count));
      AttentionInput in = all;
      in.q += begin * all.q_stride;
      cache.serve(in, count);
      REQUIRE(attention(in, c.plan, {}, out.data() + 1 + begin * c.out_stride, c.out_stride, nullptr, scratch));
    };
    int begin = 0;
    for (int count : chunks) {
      attend(begin, count);
      begin += count;
      if (begin == 5) cache.truncate(3), attend(3, 2);  // forgotten and brought again
      if (begin < 5) continue;
      for (int h = 0; h < c.kv_heads; h++) std::fill_n(cache.keys(h), begin * 6, NAN), std::fill_n(cache.values(h), begin * 6, NAN);
    }
    CHECK(difference(out, whole.out) < 1e-5);
    cache.clear();
    attend(0, 1);
    CHECK(difference(out, whole.out) < 1e-5);
  }
}

TEST_CASE("linear attention needs no more memory for more tokens") {
  size_t sizes[2], gradients[2];
  for (int n : {0, 1}) {
    const int T = n ? 1000 : 1;
    auto c = linear_case(T, T, 0, 8, 1);
    std::vector<float> out(T * c.out_stride), lse(c.heads * T), dq(c.q_store.size()), dk(c.k_store.size()), dv(c.v_store.size());
    AttentionScratch scratch, back;
    REQUIRE(attention(c.input(), c.plan, {}, out.data(), c.out_stride, lse.data(), scratch));
    REQUIRE(attention_backward(c.input(), c.plan, {}, out.data(), out.data(), c.out_stride, lse.data(), {dq.data(), dk.data(), dv.data(), nullptr}, back));
    sizes[n] = scratch.floats.size(), gradients[n] = back.floats.size();
  }
  CHECK(sizes[0] == sizes[1]);
  CHECK(gradients[0] == gradients[1]);
}

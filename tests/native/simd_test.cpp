// The vector helpers, lane by lane against the plain thing.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "simd/simd.h"

using namespace lw;

namespace {

using Limits = std::numeric_limits<float>;
constexpr float infinity = Limits::infinity(), not_a_number = Limits::quiet_NaN();

float from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

float exp_lane(float x) {
  float lanes[4] = {0, x, -1, 1}, y[4];
  simd::store(y, simd::exp(simd::load(lanes)));
  return y[1];
}

// |got − exact| in units of the last place of a float of exact's size.
double ulps(float got, double exact) {
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

}  // namespace

TEST_CASE("exp: within 1 ulp over every exponent and both signs") {
  double worst = 0;
  float worst_x = 0;
  int wrong = 0;
  // Every 251st float, 17 million of them less the NaNs.
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 4 * 251) {
    float x[4], y[4];
    for (uint32_t i = 0; i < 4; i++) x[i] = from_bits(uint32_t(bits) + 251 * i);
    simd::store(y, simd::exp(simd::load(x)));
    for (int i = 0; i < 4; i++) {
      double exact = std::exp(double(x[i]));
      if (std::isnan(x[i])) wrong += !std::isnan(y[i]);
      else if (exact < 0x1p-126) wrong += y[i] != 0;
      else if (exact > double(Limits::max())) wrong += y[i] != infinity;
      else if (double u = ulps(y[i], exact); u > worst) worst = u, worst_x = x[i];
      else wrong += std::isnan(u);
    }
  }
  CAPTURE(worst_x);
  CHECK(wrong == 0);
  CHECK(worst <= 1);
  MESSAGE("exp: worst error " << worst << " ulp");
}

TEST_CASE("softmax_exp: the bits of exp from −64 to 88, 0 below, and NaN for every NaN") {
  int wrong = 0;
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 4 * 251) {
    float x[4], y[4], expected[4];
    for (uint32_t i = 0; i < 4; i++) x[i] = from_bits(uint32_t(bits) + 251 * i), x[i] = x[i] > 88 ? -x[i] : x[i];
    simd::store(y, simd::softmax_exp(simd::load(x)));
    simd::store(expected, simd::exp(simd::load(x)));
    for (int i = 0; i < 4; i++) wrong += std::isnan(x[i]) ? !std::isnan(y[i]) : y[i] != (x[i] < -64 ? 0 : expected[i]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("exp: dense over the range that matters, and the special values") {
  int wrong = 0;
  for (float x = -87.5f; x < 88.8f; x += 1.1e-4f)
    if (double exact = std::exp(double(x)); exact >= 0x1p-126 && exact <= double(Limits::max()))
      wrong += !(ulps(exp_lane(x), exact) <= 1);
  CHECK(wrong == 0);
  CHECK(exp_lane(0) == 1);
  CHECK(exp_lane(-0.0f) == 1);
  CHECK(exp_lane(infinity) == infinity);
  CHECK(exp_lane(-infinity) == 0);
  CHECK(exp_lane(1e30f) == infinity);
  CHECK(exp_lane(-1e30f) == 0);
  CHECK(exp_lane(-87.4f) == 0);
  CHECK(exp_lane(88.73f) == infinity);
  CHECK(std::isfinite(exp_lane(88.722f)));
  CHECK(std::isnan(exp_lane(not_a_number)));
}

TEST_CASE("each: loads and stores what is there, at every length and alignment") {
  for (size_t count = 0; count < 20; count++)
    for (size_t shift = 0; shift < 4; shift++) {
      std::vector<float> x(count + shift), y(count + shift + 1, -7);
      for (size_t i = 0; i < x.size(); i++) x[i] = float(i) + 1;
      float total = 0;
      simd::each(count, [&](size_t i, auto at) {
        at.store(y.data() + shift + i, at.load(x.data() + shift + i) + simd::splat(0.5f));
        total += simd::sum(at.load(x.data() + shift + i, 100));
      });
      float expected = float((4 - count % 4) % 4) * 100;
      for (size_t i = 0; i < count; i++) {
        CHECK(y[shift + i] == x[shift + i] + 0.5f);
        expected += x[shift + i];
      }
      CHECK(total == expected);
      CHECK(y[shift + count] == -7);
      for (size_t i = 0; i < shift; i++) CHECK(y[i] == -7);
    }
}

TEST_CASE("lanes: sum, largest, min, max, select, flush, transpose") {
  const float x[4] = {1, -2, 3.5f, 0.25f};
  CHECK(simd::sum(simd::load(x)) == 2.75f);
  for (int turn = 0; turn < 4; turn++) {
    float turned[4];
    for (int i = 0; i < 4; i++) turned[i] = x[(i + turn) % 4];
    CHECK(simd::largest(simd::load(turned)) == 3.5f);
  }
  auto lane = [](simd::f32x4 v) { float y[4]; simd::store(y, v); return y[2]; };
  CHECK(lane(simd::min(simd::splat(1), simd::splat(2))) == 1);
  CHECK(lane(simd::max(simd::splat(1), simd::splat(2))) == 2);
  CHECK(lane(simd::max(simd::splat(1), simd::splat(not_a_number))) == 1);  // NaN on either side: the first operand
  CHECK(std::isnan(lane(simd::max(simd::splat(not_a_number), simd::splat(1)))));
  CHECK(lane(simd::min(simd::splat(1), simd::splat(not_a_number))) == 1);
  CHECK(std::isnan(lane(simd::min(simd::splat(not_a_number), simd::splat(1)))));
  CHECK(lane(simd::madd(simd::splat(3), simd::splat(4), simd::splat(5))) == 17);
  CHECK(lane(simd::select(simd::splat(1) < simd::splat(2), simd::splat(3), simd::splat(4))) == 3);
  CHECK(lane(simd::select(simd::splat(not_a_number) <= simd::splat(2), simd::splat(3), simd::splat(4))) == 4);
  CHECK(lane(simd::flush(simd::splat(0x1p-127f))) == 0);
  CHECK(lane(simd::flush(simd::splat(-0x1p-126f))) == -0x1p-126f);
  CHECK(std::isnan(lane(simd::flush(simd::splat(not_a_number)))));
  CHECK(lane(simd::load_splat(x + 1)) == -2);

  float grid[4][4], turned[4][4];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) grid[i][j] = float(4 * i + j);
  simd::f32x4 a = simd::load(grid[0]), b = simd::load(grid[1]), c = simd::load(grid[2]), d = simd::load(grid[3]);
  simd::transpose(a, b, c, d);
  simd::store(turned[0], a), simd::store(turned[1], b), simd::store(turned[2], c), simd::store(turned[3], d);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) CHECK(turned[i][j] == grid[j][i]);
}

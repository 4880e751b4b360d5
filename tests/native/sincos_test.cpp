// simd::sincos against the library in double.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "simd/random.h"
#include "simd/sincos.h"

using namespace lw;

namespace {

double worst(const std::vector<double>& angles) {
  std::vector<float> sine(angles.size()), cosine(angles.size());
  simd::sincos(angles.data(), angles.size(), sine.data(), cosine.data());
  double most = 0;
  for (size_t i = 0; i < angles.size(); i++)
    most = std::max({most, std::fabs(sine[i] - std::sin(angles[i])), std::fabs(cosine[i] - std::cos(angles[i]))});
  return most;
}

}  // namespace

TEST_CASE("sincos: within 6e-8 over every exponent of a float, and over the range of positions") {
  std::vector<double> angles;
  for (uint64_t bits = 0; bits < 0xff800000u; bits += 25013) {
    const uint32_t x = uint32_t(bits);
    float angle;
    std::memcpy(&angle, &x, 4);
    if (std::isfinite(angle)) angles.push_back(angle);
  }
  CHECK(worst(angles) <= 6e-8);
  Random random(1);
  for (double& angle : angles) angle = (random.uniform() * 2 - 1) * 1.4e7;
  CHECK(worst(angles) <= 6e-8);
  for (size_t i = 0; i < angles.size(); i++) angles[i] = std::nextafter(double(i) * 0.78539816339744830962, i % 2 ? 0 : 1e9);
  CHECK(worst(angles) <= 6e-8);
}

TEST_CASE("sincos: doubles within 2e-10; sums of angles") {
  Random random(2);
  for (size_t count : {1, 2, 3, 4, 5, 8, 11, 1000}) {
    std::vector<double> a(count), b(count), x(2 * count), y(2 * count);
    for (size_t i = 0; i < count; i++) a[i] = (random.uniform() * 2 - 1) * 1e6, b[i] = random.uniform() * 30;
    simd::sincos(a.data(), count, x.data(), x.data() + count), simd::sincos(b.data(), count, y.data(), y.data() + count);
    std::vector<float> sums(2 * count);
    simd::add_angles(x.data(), y.data(), count, sums.data());
    double worst = 0, worst_sum = 0;
    for (size_t i = 0; i < count; i++) {
      worst = std::max({worst, std::fabs(x[i] - std::sin(a[i])), std::fabs(x[count + i] - std::cos(a[i]))});
      worst_sum = std::max({worst_sum, std::fabs(sums[i] - std::sin(a[i] + b[i])), std::fabs(sums[count + i] - std::cos(a[i] + b[i]))});
    }
    CHECK(worst <= 2e-10);
    CHECK(worst_sum <= 6e-8);
  }
}

TEST_CASE("sincos: a result depends on its angle alone, and angles that are none give NaN") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> angles{0, -0.0, 1, -2.5, 1e300, infinity, -infinity, std::nan(""), 3e8, 0x1p27, 100, 1e-310, 7};
  float alone_sine[16], alone_cosine[16], sine[16], cosine[16];
  for (size_t i = 0; i < angles.size(); i++) simd::sincos(&angles[i], 1, alone_sine + i, alone_cosine + i);
  for (size_t first = 0; first < angles.size(); first++) {
    simd::sincos(angles.data() + first, angles.size() - first, sine, cosine);
    CHECK(std::memcmp(sine, alone_sine + first, 4 * (angles.size() - first)) == 0);
    CHECK(std::memcmp(cosine, alone_cosine + first, 4 * (angles.size() - first)) == 0);
  }
  CHECK((alone_sine[0] == 0 && alone_cosine[0] == 1 && alone_cosine[1] == 1));
  for (int i : {5, 6, 7}) CHECK((std::isnan(alone_sine[i]) && std::isnan(alone_cosine[i])));
  CHECK(alone_sine[4] == float(std::sin(1e300)));
}

// Encodings that hand out other numbers.
#include <algorithm>

#include "encoding_case.h"

using namespace lw;
using namespace lw::test;

TEST_CASE("random ids") {
  BoundStack bound("random_sorted:max=50:seed=3", plain), other("random_sorted:max=50:seed=4", plain);
  const Plan a = bound.plan(20), b = bound.plan(20), c = other.plan(20);
  auto same = [](const Plan& x, const Plan& y) { return std::equal(x.positions.begin(), x.positions.end(), y.positions.begin()); };
  CHECK(same(a, b));
  CHECK(!same(a, c));
  Random random(1), again(1);
  const std::vector<double> any(20);
  const Plan first = bound.plan(any, 0, &random), second = bound.plan(any, 0, &random), repeated = bound.plan(any, 0, &again);
  CHECK(!same(first, second));
  CHECK(same(first, repeated));
  for (auto* plan : {&a, &first, &second})
    for (int i = 0; i < 20; i++) CHECK((plan->positions[i] >= (i ? plan->positions[i - 1] + 1 : 0) && plan->positions[i] < 50));
  // What wraps an encoding reaches it.
  const Plan wrapped = BoundStack("random_sorted:max=50:seed=3+alibi", plain).plan(20);
  for (int j = 0; j < 20; j++) CHECK(wrapped.bias.row(1, 19)[j] == doctest::Approx(-std::exp2(-8) * (a.positions[19] - a.positions[j])));
  // Each number is drawn equally often.
  int drawn[50] = {};
  for (int n = 0; n < 2000; n++) for (double p : bound.plan(any, 0, &random).positions) drawn[int(p)]++;
  for (int count : drawn) CHECK(std::abs(count - 800) < 6 * 22);
}

TEST_CASE("wrappers of ids work one after the other and reach what they wrap") {
  const std::vector<double> p = {0, 1, 5, -3, 1e6};
  const Plan wrapped = BoundStack("interpolated:factor=8+rope:base=500", plain).plan(p);
  std::vector<double> eighth = p;
  for (double& x : eighth) x /= 8;
  const Plan direct = BoundStack("rope:base=500", plain).plan(eighth);
  CHECK(std::equal(wrapped.rotation.sine.begin(), wrapped.rotation.sine.end(), direct.rotation.sine.begin(), direct.rotation.sine.end()));
  CHECK(std::equal(wrapped.positions.begin(), wrapped.positions.end(), eighth.begin(), eighth.end()));
  // It does not matter where in the spec the wrapper stands beside what it wraps, but it does beside another wrapper.
  const Plan after = BoundStack("rope:base=500+interpolated:factor=8", plain).plan(p);
  CHECK(std::equal(after.rotation.sine.begin(), after.rotation.sine.end(), direct.rotation.sine.begin()));
  const Plan sorted = BoundStack("random_sorted:max=90:seed=2", plain).plan(20),
             third = BoundStack("random_sorted:max=90:seed=2+interpolated:factor=3+alibi", plain).plan(20),
             replaced = BoundStack("interpolated:factor=3+random_sorted:max=90:seed=2", plain).plan(20);
  for (int i = 0; i < 20; i++) {
    CHECK(third.positions[i] == sorted.positions[i] / 3);
    CHECK(replaced.positions[i] == sorted.positions[i]);
    CHECK(third.bias.row(1, 19)[i] == doctest::Approx(-std::exp2(-8) * (sorted.positions[19] - sorted.positions[i]) / 3).epsilon(1e-6));
  }
  // A table between its rows.
  BoundStack table("interpolated:factor=2+learned", plain);
  const Plan between = table.plan(15);
  CHECK(between.input[3 * 12] == doctest::Approx((table.values[0][12] + table.values[0][2 * 12]) / 2));
}

TEST_CASE("randomly stretched ids: evenly spaced, on average as long as the sequence") {
  BoundStack bound("random_linspace", plain), uniform("random_linspace:draw=uniform:max=500", plain);
  Random random(3);
  const std::vector<double> any(21);
  double mean = 0, below = 0, mean_uniform = 0, largest = 0;
  const int draws = 4000;
  for (int n = 0; n < draws; n++) {
    const Plan plan = bound.plan(any, 0, &random), even = uniform.plan(any, 0, &random);
    for (int i = 0; i < 21; i++) CHECK(plan.positions[i] == doctest::Approx(plan.positions[20] * i / 20));
    mean += plan.positions[20] / draws, below += (plan.positions[20] < 21 * std::log(2)) / double(draws);
    mean_uniform += even.positions[20] / draws, largest = std::max(largest, even.positions[20]);
  }
  CHECK(mean == doctest::Approx(21).epsilon(0.06));    // exponential: mean and deviation 21, median 21·ln 2
  CHECK(below == doctest::Approx(0.5).epsilon(0.06));
  CHECK(mean_uniform == doctest::Approx(250).epsilon(0.04));
  CHECK((largest > 495 && largest < 500));
  const Plan evaluation = bound.plan(21);
  for (int i = 0; i < 21; i++) CHECK(evaluation.positions[i] == i);
}

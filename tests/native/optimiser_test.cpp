// AdamW against the numbers of tests/oracle/adamw.py, resuming, refusing, and the learning rate's shape.
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "model/optimiser.h"

using namespace lw;

namespace {

using Floats = std::vector<float>;

constexpr size_t count = 7;  // the last one lies in no segment
const Segment segments[] = {{0, 3, true, 1}, {3, 3, false, 0.5f}};

OptimiserConfig reference_config() {
  OptimiserConfig config;
  config.rate = 0.02f, config.minimum_ratio = 0.1f, config.warm_up = 3, config.steps = 10;
  config.beta1 = 0.9f, config.beta2 = 0.99f, config.epsilon = 1e-8f, config.weight_decay = 0.1f, config.clip = 1;
  return config;
}

struct Run {
  Floats p = Floats(count), g = Floats(count), m = Floats(count), v = Floats(count);
  int64_t steps = 0;
  double norm = 0;
  Run() {
    for (size_t i = 0; i < count; i++) p[i] = float(std::sin(1.0 + double(i)));
  }
  // The gradients of the oracle; the parameter outside has none.
  bool step(const OptimiserConfig& config) {
    for (size_t i = 0; i + 1 < count; i++)
      g[i] = float(std::cos(double(steps + 1) * double(i + 1)) * (steps % 2 ? 0.1 : 2));
    return step_with_g(config);
  }
  bool step_with_g(const OptimiserConfig& config) {
    OptimiserState state{m.data(), v.data(), steps};
    bool done = optimiser_step(p.data(), g.data(), count, segments, state, config, &norm);
    steps = state.step;
    return done;
  }
};

void check_close(const Floats& got, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); i++)
    CHECK(std::fabs(got[i] - expected[i]) <= 3e-6 * (0.1 + std::fabs(expected[i])));
}

}  // namespace

TEST_CASE("AdamW: parameters, moments, norms and rates of twelve steps") {
  const double norms[] = {3.39106535, 0.172036502, 4.22251289, 0.155694579, 3.18398398, 0.151331776,
                          3.34085674, 0.163362465, 3.05392483, 0.178253241, 3.46386418, 0.177787545};
  const double rates[] = {0.00666666667, 0.0133333333, 0.02,          0.02,          0.0191087198, 0.0166114082,
                          0.0130026884,  0.00899731159, 0.00538859178, 0.00289128019, 0.002,        0.002};
  OptimiserConfig config = reference_config();
  Run run;
  const float outside = run.p[count - 1];
  for (int t = 0; t < 12; t++) {
    CHECK(learning_rate(t, config) == doctest::Approx(rates[t]).epsilon(1e-6));
    CHECK(run.step(config));
    CHECK(run.norm == doctest::Approx(norms[t]).epsilon(1e-7));
    CHECK(run.steps == t + 1);
    if (t == 0) check_close(run.p, {0.83424331, 0.915357875, 0.147692588, -0.753469166, -0.962257627, -0.282748822});
    if (t == 4) check_close(run.p, {0.833508956, 0.916788823, 0.191010273, -0.751308963, -0.958952894, -0.309962975});
  }
  check_close(run.p, {0.823878085, 0.917326221, 0.217467233, -0.750581539, -0.960441132, -0.31628025});
  check_close(run.m, {-0.0147377716, -0.0280532485, -0.0786230614, 0.0187618087, 0.00894077213, -0.0886554768});
  check_close(run.v, {0.00888969835, 0.0104264094, 0.00846578303, 0.0101829502, 0.00928588303, 0.0108621932});
  CHECK(run.p[count - 1] == outside);
  CHECK(run.m[count - 1] == 0);
}

TEST_CASE("AdamW: a resumed run has the same bits") {
  OptimiserConfig config = reference_config();
  Run whole, first;
  for (int t = 0; t < 9; t++) CHECK(whole.step(config));
  for (int t = 0; t < 4; t++) CHECK(first.step(config));
  Run second;
  second.p = first.p, second.m = first.m, second.v = first.v, second.steps = first.steps;
  for (int t = 4; t < 9; t++) CHECK(second.step(config));
  CHECK(second.p == whole.p);
  CHECK(second.m == whole.m);
  CHECK(second.v == whole.v);
}

TEST_CASE("AdamW: a gradient that is not finite, or whose square is not, changes nothing") {
  OptimiserConfig config = reference_config();
  config.clip = 0;
  for (float bad : {NAN, INFINITY, -INFINITY, 1e20f})
    for (size_t place = 0; place < count; place++) {
      Run run;
      CHECK(run.step(config));
      Run before = run;
      run.g[place] = bad;
      CHECK_FALSE(run.step_with_g(config));
      CHECK_FALSE(run.norm < 1e18);
      CHECK(run.p == before.p);
      CHECK(run.m == before.m);
      CHECK(run.v == before.v);
      CHECK(run.steps == before.steps);
    }
}

TEST_CASE("AdamW: huge finite gradients are clipped, not refused; tiny moments become 0, not subnormal") {
  OptimiserConfig config = reference_config();
  Run run;
  for (float& x : run.g) x = 3e38f;
  CHECK(run.step_with_g(config));
  for (float x : run.p) CHECK(std::isfinite(x));
  for (float& x : run.g) x = 0;
  for (int t = 0; t < 2000; t++) CHECK(run.step_with_g(config));
  for (float x : run.m) CHECK(x == 0);
}

TEST_CASE("gradient_norm: any length") {
  for (size_t length = 0; length < 12; length++) {
    Floats g(length);
    double squares = 0;
    for (size_t i = 0; i < length; i++) g[i] = float(i) - 3.5f, squares += double(g[i]) * g[i];
    CHECK(gradient_norm(g.data(), length) == doctest::Approx(std::sqrt(squares)).epsilon(1e-14));
  }
}

TEST_CASE("learning_rate: warm-up, peak, minimum, and edges") {
  OptimiserConfig config;
  config.rate = 1, config.minimum_ratio = 0.25f, config.warm_up = 10, config.steps = 110;
  CHECK(learning_rate(0, config) == doctest::Approx(0.1));
  CHECK(learning_rate(9, config) == 1);
  CHECK(learning_rate(10, config) == 1);
  CHECK(learning_rate(60, config) == doctest::Approx(0.625));
  CHECK(learning_rate(110, config) == 0.25f);
  CHECK(learning_rate(100000, config) == 0.25f);
  config.warm_up = 0;
  CHECK(learning_rate(0, config) == 1);
  config.steps = 0;
  CHECK(learning_rate(0, config) == 0.25f);
}

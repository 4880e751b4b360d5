// Layers: forwards against plain double loops, backwards against central differences, at odd shapes.
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "gradient.h"
#include "nn/activation.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "simd/random.h"

using namespace lw;

namespace {

using Floats = std::vector<float>;

Floats normal(size_t count, uint64_t seed, double scale = 1) {
  Random random(seed);
  Floats x(count);
  for (float& v : x) v = float(random.normal() * scale);
  return x;
}

double dot(const Floats& a, const Floats& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); i++) total += double(a[i]) * b[i];
  return total;
}

void check_close(const Floats& got, const std::vector<double>& expected, double tolerance = 2e-6) {
  CHECK(got.size() == expected.size());
  int wrong = 0;
  for (size_t i = 0; i < got.size() && i < expected.size(); i++)
    wrong += !(std::fabs(got[i] - expected[i]) <= tolerance * (1 + std::fabs(expected[i])));
  CHECK(wrong == 0);
}

const int widths[] = {1, 3, 4, 7, 16, 33};

}  // namespace

TEST_CASE("linear: forward and backward") {
  const int shapes[][3] = {{1, 1, 1}, {1, 7, 5}, {3, 5, 9}, {9, 13, 6}, {2, 8, 16}};
  for (auto [rows, in, out] : shapes) {
    Floats x = normal(size_t(rows * in), 1), w = normal(size_t(out * in), 2), dy = normal(size_t(rows * out), 3);
    Floats y(dy.size()), scratch(linear_scratch(rows, in, out));
    auto forward = [&] { linear(y.data(), x.data(), w.data(), rows, in, out, scratch.data()); };
    forward();
    std::vector<double> expected;
    for (int r = 0; r < rows; r++)
      for (int o = 0; o < out; o++) {
        double sum = 0;
        for (int i = 0; i < in; i++) sum += double(x[size_t(r * in + i)]) * w[size_t(o * in + i)];
        expected.push_back(sum);
      }
    check_close(y, expected);

    Floats dx(x.size(), 100), dw(w.size(), 0);
    linear_backward(dx.data(), dw.data(), dy.data(), x.data(), w.data(), rows, in, out, scratch.data(), false);
    auto loss = [&] { return forward(), dot(y, dy); };
    check_gradient("linear dx", x.size(), x.data(), dx.data(), loss, 1e-3);
    check_gradient("linear dw", w.size(), w.data(), dw.data(), loss, 1e-3);

    Floats dx_twice = dx, dw_twice = dw;
    linear_backward(dx_twice.data(), nullptr, dy.data(), x.data(), w.data(), rows, in, out, scratch.data(), true);
    linear_backward(nullptr, dw_twice.data(), dy.data(), x.data(), w.data(), rows, in, out, scratch.data(), true);
    for (size_t i = 0; i < dx.size(); i++) CHECK(dx_twice[i] == doctest::Approx(2 * dx[i]).epsilon(1e-6));
    for (size_t i = 0; i < dw.size(); i++) CHECK(dw_twice[i] == doctest::Approx(2 * dw[i]).epsilon(1e-5));
  }
}

TEST_CASE("rms_norm: forward and backward") {
  for (int width : widths) {
    const int rows = 3;
    const float epsilon = 1e-5f;
    Floats x = normal(size_t(rows * width), 1), gain = normal(size_t(width), 2), dy = normal(x.size(), 3), y(x.size());
    Floats inverse(rows);
    auto forward = [&] { rms_norm(y.data(), inverse.data(), x.data(), gain.data(), rows, width, epsilon); };
    forward();
    std::vector<double> expected;
    for (int r = 0; r < rows; r++) {
      double squares = 0;
      for (int i = 0; i < width; i++) squares += std::pow(double(x[size_t(r * width + i)]), 2);
      for (int i = 0; i < width; i++)
        expected.push_back(x[size_t(r * width + i)] / std::sqrt(squares / width + epsilon) * gain[size_t(i)]);
    }
    check_close(y, expected);

    Floats dx(x.size(), 0), dgain(gain.size(), 0);
    rms_norm_backward(dx.data(), dgain.data(), dy.data(), x.data(), gain.data(), inverse.data(), rows, width);
    auto loss = [&] { return forward(), dot(y, dy); };
    if (width > 1) check_gradient("rms_norm dx", x.size(), x.data(), dx.data(), loss);  // one alone is ±1: slope 0
    check_gradient("rms_norm dgain", gain.size(), gain.data(), dgain.data(), loss, 1e-3);

    Floats dx_twice = dx;
    rms_norm_backward(dx_twice.data(), nullptr, dy.data(), x.data(), gain.data(), inverse.data(), rows, width);
    for (size_t i = 0; i < dx.size(); i++) CHECK(dx_twice[i] == doctest::Approx(2 * dx[i]).epsilon(1e-6));
    Floats in_place = x;
    rms_norm(in_place.data(), nullptr, in_place.data(), gain.data(), rows, width, epsilon);
    forward();
    CHECK(in_place == y);
  }
}

TEST_CASE("layer_norm: forward and backward") {
  for (int width : widths) {
    const int rows = 3;
    const float epsilon = 1e-5f;
    Floats x = normal(size_t(rows * width), 1), gain = normal(size_t(width), 2), bias = normal(size_t(width), 4);
    Floats dy = normal(x.size(), 3), y(x.size()), mean(rows), inverse(rows);
    auto forward = [&] {
      layer_norm(y.data(), mean.data(), inverse.data(), x.data(), gain.data(), bias.data(), rows, width, epsilon);
    };
    forward();
    std::vector<double> expected;
    for (int r = 0; r < rows; r++) {
      double total = 0, squares = 0;
      for (int i = 0; i < width; i++) total += x[size_t(r * width + i)];
      for (int i = 0; i < width; i++) squares += std::pow(x[size_t(r * width + i)] - total / width, 2);
      for (int i = 0; i < width; i++)
        expected.push_back((x[size_t(r * width + i)] - total / width) / std::sqrt(squares / width + epsilon) *
                               gain[size_t(i)] + bias[size_t(i)]);
    }
    check_close(y, expected);

    Floats dx(x.size(), 0), dgain(gain.size(), 0), dbias(bias.size(), 0);
    layer_norm_backward(dx.data(), dgain.data(), dbias.data(), dy.data(), x.data(), gain.data(), mean.data(), inverse.data(),
                        rows, width);
    auto loss = [&] { return forward(), dot(y, dy); };
    if (width > 1) check_gradient("layer_norm dx", x.size(), x.data(), dx.data(), loss, 5e-3);
    check_gradient("layer_norm dgain", gain.size(), gain.data(), dgain.data(), loss, 1e-3);
    check_gradient("layer_norm dbias", bias.size(), bias.data(), dbias.data(), loss, 1e-3);

    Floats dx_twice = dx;
    layer_norm_backward(dx_twice.data(), nullptr, nullptr, dy.data(), x.data(), gain.data(), mean.data(), inverse.data(),
                        rows, width);
    for (size_t i = 0; i < dx.size(); i++) CHECK(dx_twice[i] == doctest::Approx(2 * dx[i]).epsilon(1e-6));
  }
}

TEST_CASE("norm of a constant row: no NaN, and layer_norm is its bias") {
  Floats x(8, 0), y(8), one(8, 1), bias = normal(8, 1);
  rms_norm(y.data(), nullptr, x.data(), one.data(), 1, 8, 1e-5f);
  CHECK(y == x);
  for (float& v : x) v = 3;
  layer_norm(y.data(), nullptr, nullptr, x.data(), one.data(), bias.data(), 1, 8, 1e-5f);
  CHECK(y == bias);
}

TEST_CASE("activations: forward and backward") {
  using Forward = void (*)(float*, const float*, size_t);
  using Backward = void (*)(float*, const float*, const float*, size_t);
  struct { const char* name; Forward forward; Backward backward; double (*plain)(double); } functions[] = {
      {"silu", silu, silu_backward, [](double x) { return x / (1 + std::exp(-x)); }},
      {"gelu", gelu, gelu_backward,
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.141592653589793) * (x + 0.044715 * x * x * x))); }},
  };
  for (auto& function : functions)
    for (size_t count : {1, 2, 3, 4, 5, 18, 101}) {
      Floats x = normal(count, count, 2), dy = normal(count, 9), y(count), dx(count);
      auto forward = [&] { function.forward(y.data(), x.data(), count); };
      forward();
      std::vector<double> expected;
      for (float v : x) expected.push_back(function.plain(v));
      check_close(y, expected, 1e-6);
      function.backward(dx.data(), dy.data(), x.data(), count);
      check_gradient(function.name, count, x.data(), dx.data(), [&] { return forward(), dot(y, dy); }, 1e-3);
      Floats in_place = dy;
      function.backward(in_place.data(), in_place.data(), x.data(), count);
      CHECK(in_place == dx);
    }
  for (auto& function : functions) {
    const float big[] = {40, 1e4f, 1e20f, -40, -1e4f, -1e20f, NAN};
    float y[7], dx[7];
    const float dy[] = {1, 1, 1, 1, 1, 1, 1};
    function.forward(y, big, 7), function.backward(dx, dy, big, 7);
    for (int i = 0; i < 3; i++) CHECK(y[i] == big[i]);
    for (int i = 0; i < 3; i++) CHECK(dx[i] == 1);
    for (int i = 3; i < 6; i++) CHECK(std::fabs(y[i]) < 1e-15);
    for (int i = 3; i < 6; i++) CHECK(std::fabs(dx[i]) < 1e-15);
    CHECK(std::isnan(y[6]));
    CHECK(std::isnan(dx[6]));
  }
}

TEST_CASE("swiglu: forward and backward") {
  for (int hidden : widths) {
    const int rows = 3;
    Floats ab = normal(size_t(rows * 2 * hidden), 1), dy = normal(size_t(rows * hidden), 2), y(dy.size()), dab(ab.size());
    auto forward = [&] { swiglu(y.data(), ab.data(), rows, hidden); };
    forward();
    std::vector<double> expected;
    for (int r = 0; r < rows; r++)
      for (int i = 0; i < hidden; i++) {
        double gate = ab[size_t(r * 2 * hidden + i)], up = ab[size_t(r * 2 * hidden + hidden + i)];
        expected.push_back(gate / (1 + std::exp(-gate)) * up);
      }
    check_close(y, expected, 1e-6);
    swiglu_backward(dab.data(), dy.data(), ab.data(), rows, hidden);
    check_gradient("swiglu", ab.size(), ab.data(), dab.data(), [&] { return forward(), dot(y, dy); }, 1e-3);
    swiglu_backward(ab.data(), dy.data(), ab.data(), rows, hidden);
    CHECK(ab == dab);
  }
}

TEST_CASE("embedding: forward, and repeated tokens add up") {
  const int width = 5, rows = 4;
  const int32_t tokens[rows] = {2, 0, 2, 1};
  Floats table = normal(3 * width, 1), dy = normal(rows * width, 2), y(rows * width), dtable(table.size(), 0);
  auto forward = [&] { embedding(y.data(), {Precision::f32, reinterpret_cast<const unsigned char*>(table.data())}, tokens, rows, width, 1.5f); };
  forward();
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < width; i++) CHECK(y[size_t(r * width + i)] == table[size_t(tokens[r] * width + i)] * 1.5f);
  embedding_backward(dtable.data(), dy.data(), tokens, rows, width, 1.5f);
  check_gradient("embedding", table.size(), table.data(), dtable.data(), [&] { return forward(), dot(y, dy); }, 1e-3);
}

TEST_CASE("cross_entropy: forward and backward") {
  for (int vocabulary : {1, 2, 5, 8, 31}) {
    const int rows = 4;
    const int32_t targets[rows] = {0, vocabulary - 1, -1, vocabulary / 2};
    Floats logits = normal(size_t(rows * vocabulary), 1, 2), weights = {0.5f, 1, 2, 0.25f}, losses(rows, 7);
    auto forward = [&] { cross_entropy(losses.data(), logits.data(), targets, rows, vocabulary); };
    forward();
    std::vector<double> expected;
    for (int r = 0; r < rows; r++) {
      double total = 0;
      for (int i = 0; i < vocabulary; i++) total += std::exp(double(logits[size_t(r * vocabulary + i)]));
      expected.push_back(targets[r] < 0 ? 0 : std::log(total) - logits[size_t(r * vocabulary + targets[r])]);
    }
    check_close(losses, expected, 1e-6);
    Floats gradient = logits;
    forward();
    std::vector<float> again(rows, -1);
    cross_entropy_backward(gradient.data(), again.data(), targets, weights.data(), rows, vocabulary);
    CHECK(std::equal(again.begin(), again.end(), losses.begin()));
    auto loss = [&] { return forward(), dot(losses, weights); };
    check_gradient("cross_entropy", logits.size(), logits.data(), gradient.data(), loss);
  }
}

TEST_CASE("cross_entropy: extreme logits") {
  const float infinity = std::numeric_limits<float>::infinity(), weight = 1;
  const int32_t target = 1;
  float loss;
  auto loss_of = [&](Floats logits) { return cross_entropy(&loss, logits.data(), &target, 1, int(logits.size())), loss; };
  CHECK(loss_of({0, 1e4f, 0, 0, 0}) == 0);
  CHECK(loss_of({1e4f, 0, 0, 0, 0}) == 1e4f);
  CHECK(loss_of({-infinity, 3, -infinity}) == 0);  // masked out
  CHECK(loss_of({0, -infinity, 0}) == infinity);
  CHECK(std::isnan(loss_of({0, 0, NAN, 0, 0})));
  CHECK(std::isnan(loss_of({0, 0, 0, 0, NAN})));
  Floats logits = {-infinity, 3, -infinity, -infinity, 1};
  cross_entropy_backward(logits.data(), nullptr, &target, &weight, 1, 5);
  CHECK(logits[0] == 0);
  CHECK(logits[4] == doctest::Approx(0.1192029).epsilon(1e-5));
  CHECK(logits[1] == doctest::Approx(-0.1192029).epsilon(1e-5));
  const float of_many = 1.f / 1024;
  for (float gap = 60; gap < 100; gap++) {
    Floats far = {0, 3, 3 - gap};
    cross_entropy_backward(far.data(), nullptr, &target, &of_many, 1, 3);
    CHECK(std::fpclassify(far[2]) != FP_SUBNORMAL);
  }
}

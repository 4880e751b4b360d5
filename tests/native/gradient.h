// Analytic gradients against central differences.
#pragma once
#include <cmath>
#include <functional>
#include <string>

#include <doctest/doctest.h>

// analytic[n] against (loss(p + h) − loss(p − h)) / 2h for each of p[n], or one of `every`, which is put back afterwards. The
// loss should be summed in double. h is 2⁻⁷ scaled to p's size: large enough for the rounding of the float kernels inside,
// and the error of the difference itself, O(h²), is removed by a second difference with h/2 (Richardson). An error is measured
// against max(|gradient|, the mean |gradient| of the entries that have one, floor), so that small entries of a gradient do
// not need impossible digits, however many rows of a table are not used.
inline void check_gradient(const char* name, size_t n, float* p, const float* analytic, const std::function<double()>& loss,
                           double tolerance = 2e-3, double floor = 1e-12, size_t every = 1) {
  double typical = 0, used = 0;
  for (size_t i = 0; i < n; i++) typical += std::fabs(double(analytic[i])), used += analytic[i] != 0;
  typical /= std::fmax(1.0, used);
  size_t worst = 0;
  double worst_error = 0, worst_numeric = 0, worst_analytic = 0;
  for (size_t i = 0; i < n; i += every) {
    const float here = p[i];
    auto difference = [&](float h) {
      float up = here + h, down = here - h;
      p[i] = up;
      double above = loss();
      p[i] = down;
      double below = loss();
      p[i] = here;
      return (above - below) / (double(up) - double(down));
    };
    float h = 0x1p-7f * std::fmax(1.0f, std::fabs(here));
    double numeric = (4 * difference(h / 2) - difference(h)) / 3;
    double error = std::fabs(numeric - analytic[i]) / std::fmax(std::fabs(numeric), std::fmax(typical, floor));
    if (!(error <= worst_error)) worst = i, worst_error = error, worst_numeric = numeric, worst_analytic = analytic[i];
    if (std::isnan(error)) break;
  }
  CAPTURE(std::string(name));
  CAPTURE(worst);
  CAPTURE(worst_numeric);
  CAPTURE(worst_analytic);
  CHECK(worst_error <= tolerance);
}

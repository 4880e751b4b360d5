// FIRE: functional interpolation (door: bias, by row). Li et al. 2024, arXiv:2310.04418.
//   bias_h(i, Δ) = MLP(ψ(Δ) / (ψ(max(i, |m·L|)) + 1e-6))_h,  ψ(z) = ln(|c·z| + 1),  MLP 1 → 32 → H with ReLU
// i is the position of the query, L the length trained on. One set for all layers (the paper's FIRE-S). c starts at 0.1, m
// at 1, weights and biases U(−1/√in, 1/√in).
#include <cmath>

#include "position/catalogue.h"
#include "position/perceptron.h"

namespace lw {
namespace {

struct Fire {
  static constexpr Descriptor descriptor{
      .name = "fire", .title = "Functional interpolation (FIRE)", .title_zh = "函数式插值（FIRE）",
      .paper = "Li et al. 2024, Functional Interpolation for Relative Positions Improves Long Context Transformers, arXiv:2310.04418",
      .doors = unsigned(Door::bias), .options = {}, .past = Past::same,
      .past_note = "A query divides its distances by its own position, so that they stay within 0 and 1.",
      .past_note_zh = "每个查询用自己的位置对距离归一化，距离始终落在 0 到 1 之间。"};

  Fire(const Options&, const Shape& s) : length_(s.trained_length), network_({1, 32, s.heads}, Perceptron::relu, parameters) {
    parameters.push_back({Parameter::uniform, "c", 1, 1, 0.1, 0.1});
    parameters.push_back({Parameter::one, "m", 1, 1});
  }

  void bias(double query, std::span<const double> distances, float* out) {
    each_part(query, distances, [&](size_t first, const float* x, size_t count) {
      network_.forward(x, 0, count, out + first, distances.size());
    });
  }
  void bias_backward(double query, std::span<const double> distances, const float* gradient) {
    const double threshold = std::fabs(m().value[0]) * length_, reach = std::max(query, threshold), below = divisor(query);
    double dc = 0, dreach = 0;
    each_part(query, distances, [&](size_t first, const float* x, size_t count) {
      float dx[part];
      network_.backward(x, 0, count, gradient + first, distances.size(), dx);
      for (size_t n = 0; n < count; n++) {
        dc += dx[n] / below * (slope_c(distances[first + n]) - x[n] * slope_c(reach));
        dreach -= dx[n] / below * x[n];
      }
    });
    c().gradient[0] += float(dc);
    if (query > threshold) return;
    const double c_size = std::fabs(c().value[0]), slope_m = std::copysign(length_ * c_size / (1 + c_size * reach), m().value[0]);
    m().gradient[0] += float(dreach * slope_m);
  }

  std::vector<Parameter> parameters;

 private:
  static constexpr size_t part = 256;

  Parameter& c() { return parameters[4]; }
  Parameter& m() { return parameters[5]; }
  double psi(double z) { return std::log1p(std::fabs(c().value[0] * z)); }
  double slope_c(double z) {  // dψ/dc
    const double c_size = std::fabs(c().value[0]), z_size = std::fabs(z);
    return std::copysign(z_size / (1 + c_size * z_size), c().value[0]);
  }
  double divisor(double query) { return psi(std::max(query, std::fabs(double(m().value[0])) * length_)) + 1e-6; }

  // f(first, x, count): what the network reads for some of the distances.
  template <class F>
  void each_part(double query, std::span<const double> distances, F f) {
    const double below = divisor(query);
    float x[part];
    for (size_t first = 0, count; first < distances.size(); first += count) {
      count = std::min(part, distances.size() - first);
      for (size_t n = 0; n < count; n++) x[n] = float(psi(distances[first + n]) / below);
      f(first, x, count);
    }
  }
  double length_;
  Perceptron network_;
};

}  // namespace

const Entry fire_entry = entry<Fire>();

}  // namespace lw

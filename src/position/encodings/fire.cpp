// FIRE: functional interpolation (door: bias, by row). Li et al. 2024, arXiv:2310.04418.
//   bias_h(i, Δ) = MLP(ψ(Δ) / (ψ(max(i, |m·L|)) + 1e-6))_h,  ψ(z) = ln(|c·z| + 1),  MLP 1 → 32 → H with ReLU
// i is the position of the query, L the length trained on. One set for all layers (the paper's FIRE-S). c starts at 0.1, m
// at 1, weights and biases U(−1/√in, 1/√in).
#include <algorithm>
#include <cmath>

#include "position/broken_line.h"
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
      .past_note_zh = "每个查询用自己的位置对距离归一化，距离始终落在 0 到 1 之间。",
      .differs = "The paper also trains a network for each layer; here, as in its FIRE-S, one serves all.",
      .differs_zh = "论文也试过每层一个网络；这里与其 FIRE-S 相同，所有层共用一个。"};

  Fire(const Options&, const Shape& s) : length_(s.trained_length) {
    Perceptron({1, 32, s.heads}, Perceptron::relu, parameters);  // a broken line in its one input, and run as that
    parameters.push_back({Parameter::uniform, "c", 1, 1, 0.1, 0.1});
    parameters.push_back({Parameter::one, "m", 1, 1});
  }

  // Where no position is past |m·L| all rows divide by the same.
  bool by_row(std::span<const double> positions) {
    return std::any_of(positions.begin(), positions.end(), [&](double p) { return p > threshold(); });
  }
  void bias(double query, Distances distances, Heads out) {
    line_.follow(network());
    if (const float* kept = kept_row(distances)) return line_.forward(kept, factor(query), distances.size(), out[0], out.stride);
    each_part(query, distances, [&](size_t first, const float* x, size_t count) {
      line_.forward(x, 1, count, out[0] + first, out.stride);
    });
  }
  void bias_backward(double query, Distances distances, const float* gradient) {
    const double reach = std::max(query, threshold()), below = psi(reach) + 1e-6;
    double dc = 0, dreach = 0;
    line_.follow(network());
    each_part(query, distances, [&](size_t first, const float* x, size_t count) {
      float dx[part];
      line_.backward(network(), x, count, gradient + first, distances.size(), dx);
      for (size_t n = 0; n < count; n++) {
        dc += dx[n] / below * slope_c(distances[first + n]);
        dreach -= dx[n] / below * x[n];
      }
    });
    c().gradient[0] += float(dc + dreach * slope_c(reach));
    if (query > threshold()) return;
    const double c_size = std::fabs(c().value[0]), slope_m = std::copysign(length_ * c_size / (1 + c_size * reach), m().value[0]);
    m().gradient[0] += float(dreach * slope_m);
  }

  std::vector<Parameter> parameters;

 private:
  static constexpr size_t part = 1024;
  static constexpr int whole_reach = 4096;

  std::span<Parameter> network() { return std::span(parameters).first(4); }
  Parameter& c() { return parameters[4]; }
  Parameter& m() { return parameters[5]; }
  double psi(double z) { return std::log1p(std::fabs(c().value[0] * z)); }
  // The distances of most rows are whole: ψ of these is computed once, ψ(reach) … ψ(0) … ψ(−reach).
  void keep_whole() {
    if (kept_c_ == c().value[0]) return;
    kept_c_ = c().value[0];
    whole_.resize(2 * whole_reach + 1);
    for (int z = 0; z <= whole_reach; z++) whole_[whole_reach - z] = whole_[whole_reach + z] = float(psi(z));
  }
  float fast_psi(double z) {
    return std::fabs(z) <= whole_reach && z == int(z) ? whole_[whole_reach - int(z)] : float(psi(z));
  }
  // Where whole distances fall by one, as along most rows, ψ of them all stands there already.
  const float* kept_row(Distances z) {
    keep_whole();
    const bool whole = z.step == 1 && std::fabs(z[0]) <= whole_reach && z[0] == int(z[0]) && z[0] - double(z.size()) >= -whole_reach;
    return whole ? &whole_[whole_reach - int(z[0])] : nullptr;
  }
  float factor(double query) { return float(1 / (psi(std::max(query, threshold())) + 1e-6)); }
  double slope_c(double z) {  // dψ/dc
    const double c_size = std::fabs(c().value[0]), z_size = std::fabs(z);
    return std::copysign(z_size / (1 + c_size * z_size), c().value[0]);
  }
  double threshold() { return std::fabs(double(m().value[0])) * length_; }

  // f(first, x, count): what the network reads for some of the distances.
  template <class F>
  void each_part(double query, Distances distances, F f) {
    const float* kept = kept_row(distances);
    const float by_query = factor(query);
    float x[part];
    for (size_t first = 0, count; first < distances.size(); first += count) {
      count = std::min(part, distances.size() - first);
      for (size_t n = 0; n < count; n++) x[n] = (kept ? kept[first + n] : fast_psi(distances[first + n])) * by_query;
      f(first, x, count);
    }
  }
  double length_;
  BrokenLine line_;           // the network
  float kept_c_ = NAN;        // the c that whole_ was made with
  std::vector<float> whole_;  // [2·whole_reach + 1]
};

}  // namespace

const Entry fire_entry = entry<Fire>();

}  // namespace lw

// The logarithmic kernel of KERPLE (door: bias). Chi et al. 2022, arXiv:2205.09921.
//   bias_h(Δ) = −r1_h·ln(1 + r2_h·|Δ|)
// r1 and r2 for each head, shared by all layers as in the authors' code, initialised U(0, 2) and U(0, 1) and kept at 0.01
// or above: a smaller value counts as 0.01, and a step of training puts it there.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

constexpr float least = 0.01f;

struct KerpleLog {
  static constexpr Descriptor descriptor{
      .name = "kerple_log", .title = "Logarithmic bias (KERPLE log)", .title_zh = "对数偏置（KERPLE 对数）",
      .paper = "Chi et al. 2022, KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation, arXiv:2205.09921",
      .doors = unsigned(Door::bias), .options = {}, .past = Past::same,
      .past_note = "Far keys fade out with the logarithm of their distance.",
      .past_note_zh = "远处的键按距离的对数逐渐淡出。",
      .differs =
          "The authors' code keeps r1 and r2 at 0.01 or above where it uses them. Without that training makes some "
          "negative, and the logarithm then gives NaN or infinity at far keys.",
      .differs_zh = "作者的代码在使用时把 r1、r2 保持在 0.01 以上。否则训练会使其中一些变负，远处的键在取对数时得到 NaN 或无穷大。"};

  KerpleLog(const Options&, const Shape& s) : heads_(s.heads) {
    parameters.push_back({Parameter::uniform, "r1", 1, heads_, 0, 2});
    parameters.push_back({Parameter::uniform, "r2", 1, heads_, 0, 1});
  }
  void project() {
    for (auto& p : parameters)
      for (int h = 0; h < heads_; h++) p.value[h] = std::max(p.value[h], least);
  }

  void bias(std::span<const double> distances, Heads out) const {
    for (int h = 0; h < heads_; h++) {
      const double r1 = at(0, h), r2 = at(1, h);
      for (size_t m = 0; m < distances.size(); m++) out[h][m] = 0 - float(r1 * std::log1p(r2 * std::fabs(distances[m])));
    }
  }
  void bias_backward(std::span<const double> distances, const float* gradient) {
    for (int h = 0; h < heads_; h++) {
      const double r1 = at(0, h), r2 = at(1, h);
      double d1 = 0, d2 = 0;
      for (double distance : distances) {
        const double n = std::fabs(distance), g = *gradient++;
        d1 -= g * std::log1p(r2 * n), d2 -= g * r1 * n / (1 + r2 * n);
      }
      if (parameters[0].value[h] >= least) parameters[0].gradient[h] += float(d1);
      if (parameters[1].value[h] >= least) parameters[1].gradient[h] += float(d2);
    }
  }

  std::vector<Parameter> parameters;

 private:
  double at(int parameter, int head) const { return std::max(parameters[parameter].value[head], least); }
  int heads_;
};

}  // namespace

const Entry kerple_log_entry = entry<KerpleLog>();

}  // namespace lw

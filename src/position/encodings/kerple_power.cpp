// The power kernel of KERPLE (door: bias). Chi et al. 2022, arXiv:2205.09921.
//   bias_h(Δ) = −r1_h·|Δ|^r2_h,  0.01 ≤ r1, 0.01 ≤ r2 ≤ 2
// r1 and r2 for each head, shared by all layers, initialised U(0, 1) and U(0, 2), as in the authors' code. A value outside
// its range counts as the nearest one inside, and a step of training puts it there.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

constexpr float least = 0.01f, most[] = {INFINITY, 2};  // of r1, of r2

struct KerplePower {
  static constexpr Descriptor descriptor{
      .name = "kerple_power", .title = "Power bias (KERPLE power)", .title_zh = "幂函数偏置（KERPLE 幂）",
      .paper = "Chi et al. 2022, KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation, arXiv:2205.09921",
      .doors = unsigned(Door::bias), .options = {}, .past = Past::same,
      .past_note = "Far keys fade out with a power of their distance.",
      .past_note_zh = "远处的键按距离的幂逐渐淡出。",
      .differs =
          "The authors' code keeps r1 and r2 within their ranges where it uses them. Without that training makes some "
          "negative, and far keys are then rewarded.",
      .differs_zh = "作者的代码在使用时把 r1、r2 限制在范围之内。否则训练会使其中一些变负，远处的键反而得到加分。"};

  KerplePower(const Options&, const Shape& s) : heads_(s.heads) {
    parameters.push_back({Parameter::uniform, "r1", 1, heads_, 0, 1});
    parameters.push_back({Parameter::uniform, "r2", 1, heads_, 0, 2});
  }
  void project() {
    for (int n = 0; n < 2; n++)
      for (int h = 0; h < heads_; h++) parameters[n].value[h] = at(n, h);
  }

  void bias(std::span<const double> distances, Heads out) const {
    for (int h = 0; h < heads_; h++) {
      const double r1 = at(0, h), r2 = at(1, h);
      for (size_t m = 0; m < distances.size(); m++) out[h][m] = 0 - float(r1 * std::pow(std::fabs(distances[m]), r2));
    }
  }
  void bias_backward(std::span<const double> distances, const float* gradient) {
    for (int h = 0; h < heads_; h++) {
      const double r1 = at(0, h), r2 = at(1, h);
      double d1 = 0, d2 = 0;
      for (double distance : distances) {
        const double n = std::fabs(distance), g = *gradient++;
        if (n == 0) continue;  // the bias is 0 whatever the parameters are; ln 0 must not meet it
        const double power = std::pow(n, r2);
        d1 -= g * power, d2 -= g * r1 * power * std::log(n);
      }
      if (parameters[0].value[h] == at(0, h)) parameters[0].gradient[h] += float(d1);
      if (parameters[1].value[h] == at(1, h)) parameters[1].gradient[h] += float(d2);
    }
  }

  std::vector<Parameter> parameters;

 private:
  float at(int parameter, int head) const { return std::clamp(parameters[parameter].value[head], least, most[parameter]); }
  int heads_;
};

}  // namespace

const Entry kerple_power_entry = entry<KerplePower>();

}  // namespace lw

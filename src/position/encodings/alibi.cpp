// Attention with linear biases (door: bias). Press et al. 2022, arXiv:2108.12409.
//   bias_h(Δ) = −m_h·|Δ|,  H a power of two: m_h = 2^(−8h/H), h = 1 … H
//   otherwise, p the largest power of two below H: the p slopes, then the 1st, 3rd, 5th … of the 2p slopes
// form (without a causal mask): symmetric as above; asymmetric: the first ⌈H/2⌉ heads look only left, the others only
// right, each side with the slopes of ⌈H/2⌉ heads (as the authors propose for encoders).
#include <cmath>
#include <limits>

#include "position/catalogue.h"
#include "position/slopes.h"

namespace lw {
namespace {

struct Alibi {
  static constexpr Option options[] = {
      {Option::choice, "form", 0, 0, 1, "symmetric|asymmetric",
       "Without a causal mask: all heads look both ways, or half of them each way.",
       "无因果掩码时：所有头都看两侧，或一半头只看左侧、一半头只看右侧。"}};
  static constexpr Descriptor descriptor{
      .name = "alibi", .title = "Linear biases (ALiBi)", .title_zh = "线性偏置（ALiBi）",
      .paper = "Press et al. 2022, Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation, arXiv:2108.12409",
      .doors = unsigned(Door::bias), .options = options, .past = Past::same,
      .past_note = "Far keys fade out, so that longer inputs look like trained ones.",
      .past_note_zh = "远处的键逐渐淡出，更长的输入看起来与训练时相似。",
      .differs =
          "For head counts that are no power of two some codes stretch one geometric series, and one started its exponents "
          "at 0; trained models use the rule in the equation. Slopes cast to half precision err more the further the key is.",
      .differs_zh = "头数不是 2 的幂时，有些代码只用一个等比数列，还有的让指数从 0 开始；训练好的模型都用公式中的规则。斜率若转成半精度，键越远误差越大。"};

  Alibi(const Options& o, const Shape& s)
      : asymmetric_(o.flag("form")), heads_(s.heads), slopes_(alibi_slopes(asymmetric_ ? (heads_ + 1) / 2 : heads_)) {}
  static Error check(const Options& o, const Shape& s) {
    if (!o.flag("form") || !s.causal) return {};
    return {"alibi:form is \"asymmetric\" with causal = true; allowed: symmetric"};
  }

  void bias(std::span<const double> distances, Heads out) const {
    for (int h = 0; h < heads_; h++) {
      const bool right = h >= int(slopes_.size());  // only in the asymmetric form
      const double slope = slopes_[right ? h - slopes_.size() : h];
      for (size_t m = 0; m < distances.size(); m++) out[h][m] = float(0 - slope * std::fabs(distances[m]));
      for (size_t m = 0; asymmetric_ && m < distances.size(); m++)
        if (right ? distances[m] > 0 : distances[m] < 0) out[h][m] = -std::numeric_limits<float>::infinity();
    }
  }

 private:
  bool asymmetric_;
  int heads_;
  std::vector<double> slopes_;
};

}  // namespace

const Entry alibi_entry = entry<Alibi>();

}  // namespace lw

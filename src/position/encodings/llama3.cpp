// The rotary scaling of Llama 3.1 (door: rotation). Grattafiori et al. 2024, arXiv:2407.21783, and its published code.
//   f = base^(−2k/R), turns t = L·f/2π of pair k within L, keep = clip((t − low)/(high − low), 0, 1)
//   pair k turns by p·f·(keep + (1 − keep)/factor)
// So pairs that turn more than `high` times stay, those that turn less than `low` times are slowed by the factor.
// factor 1 … 65536; low ≤ high (Llama 4: equal, and nothing between), 10⁻⁶ … 10⁶; original: L (8192 in Llama), 0 for the length trained on; rest as in rope.
#include <algorithm>
#include <numbers>

#include "position/catalogue.h"
#include "position/rotary.h"

namespace lw {
namespace {

struct Llama3 : rotary::Turning {
  static constexpr Option options[] = {
      {Option::number, "factor", 8, 1, 65536, nullptr, "How many times slower the slow pairs turn.", "慢速维度对放慢的倍数。"},
      rotary::original_option, rotary::base_option, rotary::pairing_option, rotary::fraction_option,
      {Option::number, "low", 1, 1e-6, 1e6, nullptr, "Pairs that turn less often within the original length are slowed down in full.",
       "在原始长度内转圈数少于此值的维度对完全放慢。"},
      {Option::number, "high", 4, 1e-6, 1e6, nullptr, "Pairs that turn more often keep their frequency.", "转圈数多于此值的维度对保持原频率。"}};
  static constexpr Descriptor descriptor{
      .name = "llama3", .title = "Rotary, scaled as in Llama 3 (Llama 3)", .title_zh = "Llama 3 缩放旋转编码（Llama 3）",
      .paper = "Grattafiori et al. 2024, The Llama 3 Herd of Models, arXiv:2407.21783",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "For a model trained with plain rotary: with some tuning it reads inputs up to factor times as long.",
      .past_note_zh = "供用普通旋转编码训练的模型使用：经微调可读至多 factor 倍长的输入。",
      .after_training = true};

  Llama3(const Options& o, const Shape& s) : Turning(o, rotary::pairs(o, s)) {
    for (double& f : frequency_) {
      const double turns = rotary::original(o, s) * f / (2 * std::numbers::pi);
      const double span = o["high"] - o["low"], keep = span > 0 ? std::clamp((turns - o["low"]) / span, 0.0, 1.0) : turns > o["low"];
      f *= keep + (1 - keep) / o["factor"];
    }
  }
  static Error check(const Options& o, const Shape& s) {
    if (o["low"] > o["high"]) return {"llama3:low is " + number_text(o["low"]) + "; allowed: at most high (" + number_text(o["high"]) + ")"};
    return rotary::check("llama3", o, s);
  }
};

}  // namespace

const Entry llama3_entry = entry<Llama3>();

}  // namespace lw

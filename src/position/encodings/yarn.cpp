// YaRN (door: rotation, with gain). Peng et al. 2023, arXiv:2309.00071.
//   pair k turns by p·f·(1 − ramp + ramp/s),  f = base^(−2k/R),  ramp = clip((k − low)/(high − low), 0, 1)
//   low = ⌊dim(beta_fast)⌋, high = ⌈dim(beta_slow)⌉, both kept in 0 … R − 1,  dim(r) = R·ln(L/(2πr))/(2·ln base)
//   turned q and k × m(mscale)/m(mscale_all_dim),  m(a) = 0.1·a·ln s + 1;  attention_factor: this number instead
// So pairs that turn often within L stay, slow ones are interpolated. truncate=false leaves low and high unrounded.
// score_correction: q·k × m(mscale_all_dim)² as well, as DeepSeek's models need; others that set mscale_all_dim do not.
// factor s 1 … 65536; original: L, 0 for the length trained on; base more than 1; beta_fast ≥ beta_slow > 0.
#include <algorithm>
#include <numbers>

#include "position/catalogue.h"
#include "position/rotary.h"

namespace lw {
namespace {

struct Yarn : rotary::Turning {
  static constexpr Option options[] = {
      {Option::number, "factor", 4, 1, 65536, nullptr, "How many times slower the slow pairs turn.", "慢速维度对放慢的倍数。"},
      rotary::original_option, rotary::base_option, rotary::pairing_option, rotary::fraction_option,
      {Option::number, "beta_fast", 32, 1e-6, 1e6, nullptr, "Pairs that turn so often within the original length keep their frequency.",
       "在原始长度内转够这么多圈的维度对保持原频率。"},
      {Option::number, "beta_slow", 1, 1e-6, 1e6, nullptr, "Pairs that turn less often are slowed down in full.",
       "转圈数少于此值的维度对完全放慢。"},
      {Option::flag, "truncate", 1, 0, 1, nullptr, "The borders between pairs are rounded outwards.", "维度对之间的边界向外取整。"},
      {Option::number, "mscale", 1, 0, 1024, nullptr, "Strength of the factor on turned queries and keys.", "旋转后查询与键所乘系数的强度。"},
      {Option::number, "mscale_all_dim", 0, 0, 1024, nullptr, "Strength of the factor that theirs is divided by.", "用于除该系数的另一系数的强度。"},
      rotary::attention_factor_option,
      {Option::flag, "score_correction", 0, 0, 1, nullptr, "Scores are multiplied by the square of the mscale_all_dim factor (DeepSeek).",
       "分数再乘以 mscale_all_dim 系数的平方（DeepSeek）。"}};
  static constexpr Descriptor descriptor{
      .name = "yarn", .title = "YaRN", .title_zh = "YaRN",
      .paper = "Peng et al. 2023, YaRN: Efficient Context Window Extension of Large Language Models, arXiv:2309.00071",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "For a model trained with plain rotary: with a little tuning it reads inputs factor times as long.",
      .past_note_zh = "供用普通旋转编码训练的模型使用：稍加微调即可读 factor 倍长的输入。",
      .differs =
          "The authors keep the borders within d − 1, some ports within d/2 − 1; gpt-oss leaves them unrounded "
          "(truncate=false). DeepSeek's models also multiply scores by m(mscale_all_dim)², others that set it do not; "
          "ignoring mscale changes the size of q and k.",
      .differs_zh =
          "作者把边界限制在 d − 1 以内，有些移植版限制在 d/2 − 1；gpt-oss 的边界不取整（truncate=false）。"
          "DeepSeek 的模型还把分数乘以 m(mscale_all_dim)²，其他设置该值的模型则不乘；"
          "忽略 mscale 会改变 q 和 k 的大小。",
      .after_training = true};

  Yarn(const Options& o, const Shape& s) : Turning(o, rotary::pairs(o, s)), shape_(s) {
    const double R = 2.0 * double(frequency_.size()), L = rotary::original(o, s), factor = o["factor"];
    auto border = [&](double turns) { return R * std::log(L / (2 * std::numbers::pi * turns)) / (2 * std::log(o["base"])); };
    double low = border(o["beta_fast"]), high = border(o["beta_slow"]);
    if (o.flag("truncate")) low = std::floor(low), high = std::ceil(high);
    low = std::clamp(low, 0.0, R - 1), high = std::clamp(high, 0.0, R - 1);
    if (low == high) high += 0.001;
    for (size_t k = 0; k < frequency_.size(); k++) {
      const double ramp = std::clamp((double(k) - low) / (high - low), 0.0, 1.0);
      frequency_[k] *= 1 - ramp + ramp / factor;
    }
    auto m = [&](const char* strength) { return 0.1 * o[strength] * std::log(factor) + 1; };
    gain_ = o["attention_factor"] ? o["attention_factor"] : m("mscale") / m("mscale_all_dim");
    if (o.flag("score_correction")) correction_ = m("mscale_all_dim") * m("mscale_all_dim");
  }
  static Error check(const Options& o, const Shape& s) {
    if (o["base"] == 1) return {"yarn:base is 1; allowed: more than 1"};
    if (o["beta_fast"] < o["beta_slow"])
      return {"yarn:beta_fast is " + number_text(o["beta_fast"]) + "; allowed: at least beta_slow (" + number_text(o["beta_slow"]) + ")"};
    return rotary::check("yarn", o, s);
  }

  void gain(std::span<const double> positions, double* query, double* key) const {
    const size_t n = positions.size() * frequency_.size();
    std::fill_n(query, n, gain_), std::fill_n(key, n, gain_);
  }
  float score_scale() const { return correction_ ? float(correction_ / std::sqrt(double(shape_.head_dim))) : -1; }

 private:
  Shape shape_;
  double gain_, correction_ = 0;  // 0: none
};

}  // namespace

const Entry yarn_entry = entry<Yarn>();

}  // namespace lw

// LongRoPE (door: rotation, with gain). Ding et al. 2024, arXiv:2402.13753; the attention factor as in Phi-3, arXiv:2404.14219.
//   pair k turns by p·base^(−2k/R)/λ_k,  λ = short_factor while n ≤ L, long_factor when n > L, n: tokens present now
//   turned q and k × √(1 + ln s/ln L), 1 for s = 1;  attention_factor: this number instead
// All frequencies jump when n passes L: a model then makes its whole cache anew, once. Each list has one factor for each turning
// pair, 10⁻³ … 10⁶ (they come from a search); without one, short is 1 and long is s. factor s = longest length / L,
// 1 … 65536; original: L, 0 for the length trained on, at least 2; base, pairing, fraction as in rope.
#include <algorithm>

#include "position/catalogue.h"
#include "position/rotary.h"

namespace lw {
namespace {

struct LongRope : rotary::Turning {
  static constexpr bool length_dependent = true;
  static constexpr Option options[] = {
      {Option::number, "factor", 4, 1, 65536, nullptr, "The longest length divided by the original one.", "最长长度与原始长度之比。"},
      rotary::original_option, rotary::base_option, rotary::pairing_option, rotary::fraction_option,
      {Option::numbers, "short_factor", 0, 1e-3, 1e6, nullptr, "How many times slower each pair turns up to the original length; without: 1.",
       "不超过原始长度时各维度对放慢的倍数；缺省为 1。"},
      {Option::numbers, "long_factor", 0, 1e-3, 1e6, nullptr, "How many times slower each pair turns past the original length; without: factor.",
       "超过原始长度时各维度对放慢的倍数；缺省为 factor。"},
      rotary::attention_factor_option};
  static constexpr Descriptor descriptor{
      .name = "longrope", .title = "LongRoPE", .title_zh = "LongRoPE",
      .paper = "Ding et al. 2024, LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens, arXiv:2402.13753",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "Past the original length every pair turns slower by a factor of its own, found by a search for each model; without these lists all turn slower by factor.",
      .past_note_zh = "超过原始长度后，每个维度对按各自的倍数放慢，这些倍数须为每个模型搜索得到；不给出时一律按 factor 放慢。",
      .differs =
          "The short list holds up to and including the original length; one code changed a token too early. Where turned "
          "keys are cached, a text that grows past that length mixes both lists; here the cache is made anew.",
      .differs_zh = "短列表用到原始长度为止（含该长度）；曾有实现提前一个词元切换。若缓存旋转后的键，文本越过该长度时两套系数会混用；这里会重建缓存。"};

  LongRope(const Options& o, const Shape& s) : Turning(o, rotary::pairs(o, s)), original_(rotary::original(o, s)) {
    const double factor = o["factor"], formula = std::sqrt(1 + (factor > 1 ? std::log(factor) / std::log(original_) : 0));
    gain_ = o["attention_factor"] ? o["attention_factor"] : formula;
    auto divided = [&](std::span<const double> by, double otherwise) {
      std::vector<double> out = frequency_;
      for (size_t k = 0; k < out.size(); k++) out[k] /= by.empty() ? otherwise : by[k];
      return out;
    };
    short_ = divided(o.numbers("short_factor"), 1), long_ = divided(o.numbers("long_factor"), factor);
  }
  static Error check(const Options& o, const Shape& s) {
    if (Error e = rotary::check("longrope", o, s)) return e;
    const size_t pairs = size_t(rotary::pairs(o, s));
    for (const char* list : {"short_factor", "long_factor"})
      if (size_t n = o.numbers(list).size(); n && n != pairs)
        return {std::string("longrope:") + list + " has " + std::to_string(n) + " numbers; allowed: " + std::to_string(pairs) + ", one for each pair"};
    if (rotary::original(o, s) > 1) return {};
    return {"the original length of longrope is 1; allowed: at least 2"};
  }

  bool jumps(int before, int now) const { return (before > original_) != (now > original_); }
  void rotation(std::span<const double> positions, int length, double* angles) {
    frequency_ = length > original_ ? long_ : short_;
    Turning::rotation(positions, length, angles);
  }
  void gain(std::span<const double> positions, double* query, double* key) const {
    const size_t n = positions.size() * frequency_.size();
    std::fill_n(query, n, gain_), std::fill_n(key, n, gain_);
  }

 private:
  int original_;
  double gain_;
  std::vector<double> short_, long_;
};

}  // namespace

const Entry longrope_entry = entry<LongRope>();

}  // namespace lw

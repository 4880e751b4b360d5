// Extrapolatable position embedding, xPos (door: rotation, with gain). Sun et al. 2022, arXiv:2212.10554.
//   rope, and pair k of q × ζ_k^((p − c)/b), of k × ζ_k^(−(p − c)/b),  ζ_k = (2k + 0.4·R)/(1.4·R) < 1
// so that a score carries ζ_k^((i − j)/b): far keys fade, in fast pairs first. Causal only: ahead of a query it would grow.
// c cancels in the scores, but not in the size of the gains: center is fixed, so that cached keys stay right, and positions
// are refused where a gain of the fastest pair would pass e^±60. At b = 512 that is 24 521 on either side.
// scale_base b 1 … 10⁹; center c −10¹² … 10¹²; base, pairing, fraction as in rope.
#include <algorithm>

#include "position/catalogue.h"
#include "position/rotary.h"

namespace lw {
namespace {

struct Xpos : rotary::Turning {
  static constexpr double largest = 60;  // natural logarithm of a gain: far enough from what a float holds
  static constexpr Option options[] = {
      {Option::number, "scale_base", 512, 1, 1e9, nullptr, "Larger: far keys fade more slowly.", "越大，远处的键淡出得越慢。"},
      {Option::number, "center", 0, -1e12, 1e12, nullptr, "The position with gain 1; best the middle of those that will come.",
       "增益为 1 的位置；最好取将要出现的位置的中点。"},
      rotary::base_option, rotary::pairing_option, rotary::fraction_option};
  static constexpr Descriptor descriptor{
      .name = "xpos", .title = "xPos", .title_zh = "xPos",
      .paper = "Sun et al. 2022, A Length-Extrapolatable Transformer, arXiv:2212.10554",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "Fast pairs fade with the distance, so that far keys disturb less than with plain rotary.",
      .past_note_zh = "快速维度对随距离淡出，远处的键比普通旋转编码干扰更小。",
      .differs =
          "The authors' code centres the gains at the middle of the present length, which moves while keys are cached; "
          "here the centre is fixed. Codes without a centre overflow: with scale_base 64 at about 9000 tokens in f32, 1150 "
          "in fp16.",
      .differs_zh =
          "作者的代码以当前长度的中点为中心，缓存键时中心会移动；这里的中心固定。"
          "不设中心的实现会溢出：scale_base 为 64 时，f32 约在 9000 个词元处，fp16 约在 1150 个词元处。",
      .example = "scale_base=64", .causal_only = true};

  Xpos(const Options& o, const Shape& s) : Turning(o, rotary::pairs(o, s)), scale_base_(o["scale_base"]), center_(o["center"]) {
    const double R = 2.0 * double(frequency_.size());
    for (size_t k = 0; k < frequency_.size(); k++) log_zeta_.push_back(std::log((2.0 * double(k) + 0.4 * R) / (1.4 * R)));
  }
  static Error check(const Options& o, const Shape& s) { return rotary::check("xpos", o, s); }
  Error refuse(std::span<const double> positions, int) const {
    const double reach = std::floor(largest * scale_base_ / -log_zeta_[0]);
    for (double p : positions)
      if (!(std::fabs(p - center_) <= reach))
        return {"a position is " + number_text(p) + "; allowed with xpos:scale_base=" + number_text(scale_base_) + ":center=" +
                number_text(center_) + ": " + number_text(center_ - reach) + " to " + number_text(center_ + reach)};
    return {};
  }

  void gain(std::span<const double> positions, double* query, double* key) const {
    for (double p : positions)
      for (double log_zeta : log_zeta_) {
        const double exponent = log_zeta * (p - center_) / scale_base_;
        *query++ = std::exp(exponent), *key++ = std::exp(-exponent);
      }
  }

 private:
  double scale_base_, center_;
  std::vector<double> log_zeta_;
};

}  // namespace

const Entry xpos_entry = entry<Xpos>();

}  // namespace lw

// Rotary with a base that grows with the input, "dynamic NTK" (door: rotation). emozilla 2023; Peng et al. 2023, arXiv:2309.00071.
//   n ≤ L: rope.  n > L: base·(s·n/L − (s − 1))^(R/(R−2)), n: tokens present now
// All frequencies depend on n, so cached keys are kept unrotated and turn with those of now. In a model past L the first
// layer then decodes as in one pass; the later ones keep what they made of earlier tokens when n was less. factor s 1 … 1024; original: L, 0 for the length trained
// on; base, pairing, fraction as in rope.
#include "position/catalogue.h"
#include "position/rotary.h"

namespace lw {
namespace {

struct DynamicNtk : rotary::Turning {
  static constexpr bool length_dependent = true;
  static constexpr Option options[] = {
      {Option::number, "factor", 2, 1, 1024, nullptr,
       "How strongly the base grows once the input is longer than the original length.",
       "输入超过原始长度后底数增长的强度。"},
      rotary::original_option, rotary::base_option, rotary::pairing_option, rotary::fraction_option};
  static constexpr Descriptor descriptor{
      .name = "dynamic_ntk", .title = "Rotary, NTK-aware by length (dynamic NTK)", .title_zh = "动态 NTK 旋转编码（动态 NTK）",
      .paper = "Peng et al. 2023, YaRN: Efficient Context Window Extension of Large Language Models, arXiv:2309.00071",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "The base grows with the input, so that quality falls later than with plain rotary.",
      .past_note_zh = "底数随输入增长，质量下降得比普通旋转编码更晚。",
      .differs =
          "Codes that cache turned keys leave old ones at the old base, so that scores no longer depend on the distance "
          "alone; here keys are cached unrotated. One kept the enlarged base for shorter prompts that came later.",
      .differs_zh = "缓存旋转后的键时，旧键仍用旧底数，分数便不再只取决于距离；这里缓存未旋转的键。还有实现在之后的短输入上仍沿用放大的底数。"};

  DynamicNtk(const Options& o, const Shape& s)
      : Turning(o, rotary::pairs(o, s)), factor_(o["factor"]), base_(o["base"]), original_(rotary::original(o, s)) {}
  static Error check(const Options& o, const Shape& s) { return rotary::check("dynamic_ntk", o, s); }

  void rotation(std::span<const double> positions, int length, double* angles) {
    const double by = length > original_ ? factor_ * length / original_ - (factor_ - 1) : 1;
    series(rotary::enlarged(base_, by, int(frequency_.size())));
    Turning::rotation(positions, length, angles);
  }

 private:
  double factor_, base_;
  int original_;
};

}  // namespace

const Entry dynamic_ntk_entry = entry<DynamicNtk>();

}  // namespace lw

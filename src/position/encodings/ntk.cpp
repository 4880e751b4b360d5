// Rotary with a larger base, "NTK-aware" (door: rotation). bloc97 2023; Peng et al. 2023, arXiv:2309.00071.
//   rope with base·s^(R/(R−2)): the slowest pair turns s times slower, the fastest as before
// factor s 1 … 65536; base, pairing, fraction as in rope.
#include "position/catalogue.h"
#include "position/rotary.h"

namespace lw {
namespace {

struct Ntk : rotary::Turning {
  static constexpr Option options[] = {
      {Option::number, "factor", 4, 1, 65536, nullptr, "How many times slower the slowest pair turns.", "最慢的维度对放慢的倍数。"},
      rotary::base_option, rotary::pairing_option, rotary::fraction_option};
  static constexpr Descriptor descriptor{
      .name = "ntk", .title = "Rotary, NTK-aware (NTK)", .title_zh = "NTK 感知旋转编码（NTK）",
      .paper = "Peng et al. 2023, YaRN: Efficient Context Window Extension of Large Language Models, arXiv:2309.00071",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "For a model trained with plain rotary: it reads somewhat longer inputs, less than factor times as long.",
      .past_note_zh = "供用普通旋转编码训练的模型使用：可读更长的输入，但达不到 factor 倍。",
      .differs =
          "Loaders that call the factor alpha compute the same base, some with the exponent 64/63 of D = 128 written in.",
      .differs_zh = "有些加载器把倍数称为 alpha，得到的底数相同，但其中一些把 D = 128 时的指数 64/63 写死了。",
      .after_training = true};

  Ntk(const Options& o, const Shape& s) : Turning(o, rotary::pairs(o, s)) {
    series(rotary::enlarged(o["base"], o["factor"], int(frequency_.size())));
  }
  static Error check(const Options& o, const Shape& s) { return rotary::check("ntk", o, s); }
};

}  // namespace

const Entry ntk_entry = entry<Ntk>();

}  // namespace lw

// Rotary position embedding (door: rotation). Su et al. 2021, arXiv:2104.09864.
//   pair k of q and k turns by p·base^(−2k/R)/factor: (x₁, x₂) → (x₁cos − x₂sin, x₂cos + x₁sin), so a score depends on i − j only
// R = D·fraction, rounded down to an even number: only these dimensions turn. proportional: the same number of pairs turns,
// but with frequencies (and pairs) of the whole head, R = D; the others stand still. That is p-RoPE (Barbero et al. 2024,
// arXiv:2410.06205): the lowest frequencies are dropped, so that these pairs carry content alone.
// factor is linear scaling, or position interpolation (Chen et al. 2023, arXiv:2306.15595).
// base 1 … 10¹²; fraction 0 … 1, at least one pair; factor 1 … 65536; learned: the frequencies are parameters started at
// the series above.
#include "position/catalogue.h"
#include "position/rotary.h"

namespace lw {
namespace {

struct Rope : rotary::Turning {
  static constexpr Option options[] = {
      rotary::base_option, rotary::pairing_option, rotary::fraction_option,
      {Option::flag, "proportional", 0, 0, 1, nullptr, "With a fraction: keep the frequencies of the whole head and drop the lowest.",
       "与 fraction 合用：保留整个头的频率序列，去掉最低的那些频率。"},
      {Option::number, "factor", 1, 1, 65536, nullptr, "Positions are divided by it (linear scaling).", "位置除以该数（线性缩放）。"},
      {Option::flag, "learned", 0, 0, 1, nullptr, "The frequencies are trained.", "频率参与训练。"}};
  static constexpr Descriptor descriptor{
      .name = "rope", .title = "Rotary (RoPE)", .title_zh = "旋转位置编码（RoPE）",
      .paper = "Su et al. 2021, RoFormer: Enhanced Transformer with Rotary Position Embedding, arXiv:2104.09864",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "Slow pairs reach angles never seen in training, and quality falls quickly.",
      .past_note_zh = "慢速维度对会转到训练中从未见过的角度，质量很快下降。",
      .differs =
          "The paper, GPT-J and Meta's Llama code pair neighbours; GPT-NeoX and Hugging Face's Llama pair halves, and "
          "weights made for one need the rows of q and k permuted for the other. rotary_pct, rotary_dim and "
          "partial_rotary_factor are names of the fraction.",
      .differs_zh =
          "论文、GPT-J 和 Meta 的 Llama 代码把相邻两维配成一对；"
          "GPT-NeoX 和 Hugging Face 的 Llama 则前后两半配对，权重换用时必须重排 q 和 k 的行。"
          "rotary_pct、rotary_dim、partial_rotary_factor 指的都是 fraction。"};

  Rope(const Options& o, const Shape& s) : Turning(o, o.flag("proportional") ? s.head_dim / 2 : rotary::pairs(o, s)), turning_(rotary::pairs(o, s)) {
    for (size_t k = 0; k < frequency_.size(); k++) frequency_[k] = int(k) < turning_ ? frequency_[k] / o["factor"] : 0;
    if (o.flag("learned")) parameters.push_back({Parameter::custom, "frequencies", 1, turning_});
  }
  static Error check(const Options& o, const Shape& s) { return rotary::check("rope", o, s); }
  void initialise(Random&) {
    for (auto& p : parameters) for (int k = 0; k < turning_; k++) p.value[k] = float(frequency_[k]);
  }

  void rotation(std::span<const double> positions, int length, double* angles) const {
    Turning::rotation(positions, length, angles);
    for (auto& p : parameters)
      for (size_t i = 0; i < positions.size(); i++)
        for (int k = 0; k < turning_; k++) angles[i * frequency_.size() + k] = positions[i] * p.value[k];
  }
  void rotation_backward(std::span<const double> positions, int, const float* gradient) {
    for (int k = 0; k < turning_; k++) {
      double sum = 0;
      for (size_t i = 0; i < positions.size(); i++) sum += positions[i] * gradient[i * frequency_.size() + k];
      parameters[0].gradient[k] += float(sum);
    }
  }

  std::vector<Parameter> parameters;

 private:
  int turning_;  // pairs; the others have frequency 0
};

}  // namespace

const Entry rope_entry = entry<Rope>();

}  // namespace lw

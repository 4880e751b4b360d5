// Rotary position embedding (door: rotation). Su et al. 2021, arXiv:2104.09864.
//   pair k of q and k turns by p·base^(−2k/R): (x₁, x₂) → (x₁cos − x₂sin, x₂cos + x₁sin), so a score depends on i − j only
// R = D·fraction, rounded down to an even number: only these dimensions turn. proportional: the same number of pairs turns,
// but with frequencies (and pairs) of the whole head, R = D; the others stand still.
// base 1 … 10¹²; fraction 0 … 1, at least one pair; learned: the frequencies are parameters started at the series above.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Rope {
  static constexpr Option options[] = {
      {Option::number, "base", 10000, 1, 1e12, nullptr, "Larger: the slow pairs turn slower.", "越大，慢速维度对转得越慢。"},
      {Option::choice, "pairing", 0, 0, 1, "interleaved|half", "Which dimensions form a pair: (2k, 2k+1) or (k, k + half).",
       "哪些维度配成一对：(2k, 2k+1)，或 (k, k + 一半)。"},
      {Option::number, "fraction", 1, 0, 1, nullptr, "Share of the head's dimensions that turn.", "每个头中参与旋转的维度比例。"},
      {Option::flag, "proportional", 0, 0, 1, nullptr, "With a fraction: keep the frequencies of the whole head and drop the lowest.",
       "与 fraction 合用：保留整个头的频率序列，去掉最低的那些频率。"},
      {Option::flag, "learned", 0, 0, 1, nullptr, "The frequencies are trained.", "频率参与训练。"}};
  static constexpr Descriptor descriptor{
      .name = "rope", .title = "Rotary (RoPE)", .title_zh = "旋转位置编码（RoPE）",
      .paper = "Su et al. 2021, RoFormer: Enhanced Transformer with Rotary Position Embedding, arXiv:2104.09864",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "Slow pairs reach angles never seen in training, and quality falls quickly.",
      .past_note_zh = "慢速维度对会转到训练中从未见过的角度，质量很快下降。"};

  Rope(const Options& o, const Shape& s) {
    const Turn t = layout(o, s);
    turning_ = t.turning, pairs_ = t.pairs, frequency_.resize(pairs_, 0.0);
    pairing_ = o.integer("pairing") ? Pairing::half : Pairing::interleaved;
    for (int k = 0; k < turning_; k++) frequency_[k] = std::pow(o["base"], -double(k) / pairs_);
    if (o.flag("learned")) parameters.push_back({Parameter::custom, "frequencies", 1, turning_});
  }
  static Error check(const Options& o, const Shape& s) {
    if (layout(o, s).turning) return {};
    return {"rope:fraction turns less than two of headDim = " + std::to_string(s.head_dim) + " dimensions; allowed: fraction·headDim ≥ 2"};
  }
  void initialise(Random&) {
    for (auto& p : parameters) for (int k = 0; k < turning_; k++) p.value[k] = float(frequency_[k]);
  }

  Rotary rotary() const { return {pairs_, pairing_}; }
  void rotation(std::span<const double> positions, int, double* angles) const {
    for (double p : positions)
      for (int k = 0; k < pairs_; k++) *angles++ = p * (k < turning_ && !parameters.empty() ? parameters[0].value[k] : frequency_[k]);
  }
  void rotation_backward(std::span<const double> positions, int, const float* gradient) {
    for (int k = 0; k < turning_; k++) {
      double sum = 0;
      for (size_t i = 0; i < positions.size(); i++) sum += positions[i] * gradient[i * pairs_ + k];
      parameters[0].gradient[k] += float(sum);
    }
  }

  std::vector<Parameter> parameters;

 private:
  struct Turn { int turning, pairs; };
  static Turn layout(const Options& o, const Shape& s) {
    int turning = int(o["fraction"] * s.head_dim + 1e-9) / 2;  // 0.58·100 is 58, not 57.99…
    return {turning, o.flag("proportional") ? s.head_dim / 2 : turning};
  }
  int turning_, pairs_;
  Pairing pairing_;
  std::vector<double> frequency_;  // [pairs]; 0 past the turning ones
};

}  // namespace

const Entry rope_entry = entry<Rope>();

}  // namespace lw

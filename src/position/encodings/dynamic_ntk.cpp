// Rotary with a base that grows with the input, "dynamic NTK" (door: rotation). emozilla 2023; Peng et al. 2023, arXiv:2309.00071.
//   n ≤ L: rope.  n > L: base·(s·n/L − (s − 1))^(D/(D−2)), n: tokens present now
// All frequencies depend on n, so cached keys are kept unrotated. factor s 1 … 1024; original: L, 0 for the length trained
// on; base 1 … 10¹². A head of two dimensions has one pair, which turns by p at any base.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct DynamicNtk {
  static constexpr bool length_dependent = true;
  static constexpr Option options[] = {
      {Option::number, "factor", 2, 1, 1024, nullptr,
       "How strongly the base grows once the input is longer than the original length.",
       "输入超过原始长度后底数增长的强度。"},
      {Option::integer, "original", 0, 0, 1 << 24, nullptr, "The original length; 0: the length trained on.", "原始长度；0 表示训练长度。"},
      {Option::number, "base", 10000, 1, 1e12, nullptr, "The base while the input is short.", "输入较短时的底数。"},
      {Option::choice, "pairing", 0, 0, 1, "interleaved|half", "Which dimensions form a pair: (2k, 2k+1) or (k, k + half).",
       "哪些维度配成一对：(2k, 2k+1)，或 (k, k + 一半)。"}};
  static constexpr Descriptor descriptor{
      .name = "dynamic_ntk", .title = "Rotary, dynamic NTK", .title_zh = "动态 NTK 旋转编码",
      .paper = "Peng et al. 2023, YaRN: Efficient Context Window Extension of Large Language Models, arXiv:2309.00071",
      .doors = unsigned(Door::rotation), .options = options, .past = Past::degrades,
      .past_note = "The base grows with the input, so that quality falls later than with plain rotary.",
      .past_note_zh = "底数随输入增长，质量下降得比普通旋转编码更晚。"};

  DynamicNtk(const Options& o, const Shape& s)
      : factor_(o["factor"]), base_(o["base"]), original_(o.integer("original")), pairs_(s.head_dim / 2),
        pairing_(o.integer("pairing") ? Pairing::half : Pairing::interleaved) {
    if (!original_) original_ = s.trained_length;
  }

  Rotary rotary() const { return {pairs_, pairing_}; }
  void rotation(std::span<const double> positions, int length, double* angles) const {
    double base = base_;
    if (length > original_ && pairs_ > 1)
      base *= std::pow(factor_ * length / original_ - (factor_ - 1), double(pairs_) / (pairs_ - 1));
    for (int k = 0; k < pairs_; k++) {
      double frequency = std::pow(base, -double(k) / pairs_);
      for (size_t i = 0; i < positions.size(); i++) angles[i * pairs_ + k] = positions[i] * frequency;
    }
  }

 private:
  double factor_, base_;
  int original_, pairs_;
  Pairing pairing_;
};

}  // namespace

const Entry dynamic_ntk_entry = entry<DynamicNtk>();

}  // namespace lw

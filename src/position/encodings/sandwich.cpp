// The cross term of sinusoids as a bias (door: bias). Chi et al. 2023, arXiv:2212.10356.
//   bias_h(Δ) = (Σ_{k=first..first+W/2−1} cos(Δ·10000^(−2k/W)) − W/2) / (8h/H),  h = 1 … H
// width W 2 … 4096, even; first 0 or 1. W/2 makes the bias of distance 0 zero; softmax does not see it. The paper's equation
// counts k from 1; the authors' code was not found, so whether it does is not known. Sinusoids count from 0: first=0.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Sandwich {
  static constexpr Option options[] = {
      {Option::integer, "width", 128, 2, 4096, nullptr, "Width of the sinusoids, twice the number of frequencies.",
       "正弦编码的宽度，即频率个数的两倍。"},
      {Option::integer, "first", 1, 0, 1, nullptr, "Where k begins: 1 in the paper, 0 in sinusoids.",
       "k 的起点：论文从 1 开始，正弦编码从 0 开始。"}};
  static constexpr Descriptor descriptor{
      .name = "sandwich", .title = "Sandwich", .title_zh = "Sandwich 偏置",
      .paper = "Chi et al. 2023, Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis, arXiv:2212.10356",
      .doors = unsigned(Door::bias), .options = options, .past = Past::same,
      .past_note = "Far keys fade out, roughly with the logarithm of their distance.",
      .past_note_zh = "远处的键大致按距离的对数逐渐淡出。",
      .differs = "The paper counts frequencies from 1 (10000^(−2/W)); sinusoids, whose cross term this is, from 0: first=0.",
      .differs_zh = "论文的频率从 1 数起（10000^(−2/W)）；而它所来自的正弦编码从 0 数起：first=0。"};

  Sandwich(const Options& o, const Shape& s) : heads_(s.heads) {
    const int width = o.integer("width"), first = o.integer("first");
    for (int k = first; k < first + width / 2; k++) frequencies_.push_back(std::pow(10000.0, -2.0 * k / width));
  }
  static Error check(const Options& o, const Shape&) {
    const int width = o.integer("width");
    if (width % 2 == 0) return {};
    return {"sandwich:width is " + std::to_string(width) + "; allowed: even numbers"};
  }

  void bias(std::span<const double> distances, Heads out) const {
    for (size_t m = 0; m < distances.size(); m++) {
      double sum = 0;
      for (double frequency : frequencies_) sum += std::cos(distances[m] * frequency) - 1;
      for (int h = 0; h < heads_; h++) out[h][m] = float(sum * heads_ / (8.0 * (h + 1)));
    }
  }

 private:
  int heads_;
  std::vector<double> frequencies_;
};

}  // namespace

const Entry sandwich_entry = entry<Sandwich>();

}  // namespace lw

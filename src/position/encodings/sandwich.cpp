// The cross term of sinusoids as a bias (door: bias). Chi et al. 2023, arXiv:2212.10356.
//   bias_h(Δ) = (Σ_{k=1..W/2} cos(Δ·10000^(−2k/W)) − W/2) / (8h/H),  h = 1 … H
// width W 2 … 4096, even. W/2 makes the bias of distance 0 zero; softmax does not see it.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Sandwich {
  static constexpr Option options[] = {
      {Option::integer, "width", 128, 2, 4096, nullptr, "Width of the sinusoids, twice the number of frequencies.",
       "正弦编码的宽度，即频率个数的两倍。"}};
  static constexpr Descriptor descriptor{
      .name = "sandwich", .title = "Sandwich", .title_zh = "Sandwich 偏置",
      .paper = "Chi et al. 2023, Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis, arXiv:2212.10356",
      .doors = unsigned(Door::bias), .options = options, .past = Past::same,
      .past_note = "Far keys fade out, roughly with the logarithm of their distance.",
      .past_note_zh = "远处的键大致按距离的对数逐渐淡出。"};

  Sandwich(const Options& o, const Shape& s) : heads_(s.heads) {
    const int width = o.integer("width");
    for (int k = 1; k <= width / 2; k++) frequencies_.push_back(std::pow(10000.0, -2.0 * k / width));
  }
  static Error check(const Options& o, const Shape&) {
    const int width = o.integer("width");
    if (width % 2 == 0) return {};
    return {"sandwich:width is " + std::to_string(width) + "; allowed: even numbers"};
  }

  void bias(std::span<const double> distances, float* out) const {
    for (size_t m = 0; m < distances.size(); m++) {
      double sum = 0;
      for (double frequency : frequencies_) sum += std::cos(distances[m] * frequency) - 1;
      for (int h = 0; h < heads_; h++) out[h * distances.size() + m] += float(sum * heads_ / (8.0 * (h + 1)));
    }
  }

 private:
  int heads_;
  std::vector<double> frequencies_;
};

}  // namespace

const Entry sandwich_entry = entry<Sandwich>();

}  // namespace lw

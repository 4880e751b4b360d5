// Attention temperature by position (door: scale). Llama 4 (Meta 2025), where it goes with layers that do not rotate.
//   scores of the query at position p × (1 + slope·ln(⌊(p + 1)/floor⌋ + 1)); before position 0: × 1
// slope 0 … 100, floor 1 … 2²⁴. A staircase: nothing changes before position floor − 1.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Temperature {
  static constexpr Option options[] = {
      {Option::number, "floor", 8192, 1, 1 << 24, nullptr, "The factor grows once in so many positions.", "每隔这么多位置因子增长一次。"},
      {Option::number, "slope", 0.1, 0, 100, nullptr, "How much it grows with the logarithm.", "因子随对数增长的幅度。"}};
  static constexpr Descriptor descriptor{
      .name = "temperature", .title = "Attention temperature", .title_zh = "注意力温度",
      .paper = "Meta 2025, Llama 4 (attention temperature tuning); after Nakanishi 2025, arXiv:2501.19399",
      .doors = unsigned(Door::scale), .options = options, .past = Past::same,
      .past_note = "Scores grow with the logarithm of the position, so that attention stays sharp among more keys.",
      .past_note_zh = "分数随位置的对数增大，使注意力在更多键之间仍保持集中。",
      .differs = "Llama 4 multiplies the queries by it, in layers without rotation only, with slope 0.1 and floor 8192.",
      .differs_zh = "Llama 4 把它乘在查询上，只用于不做旋转的层，slope 为 0.1，floor 为 8192。",
      .example = "floor=16:slope=0.5"};

  Temperature(const Options& o, const Shape& s) : floor_(o["floor"]), slope_(o["slope"]), heads_(s.heads) {}

  void scale(std::span<const int>, std::span<const double> positions, float* out) const {
    for (int h = 0; h < heads_; h++)
      for (double p : positions) *out++ *= float(1 + slope_ * std::log1p(std::floor(std::max(p + 1, 0.0) / floor_)));
  }

 private:
  double floor_, slope_;
  int heads_;
};

}  // namespace

const Entry temperature_entry = entry<Temperature>();

}  // namespace lw

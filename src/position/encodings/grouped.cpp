// Grouped positions, Self-Extend (door: ids); wraps any encoding by distance. Jin et al. 2024, arXiv:2401.01325.
//   Δ < W: as is.  Otherwise the distance is ⌊i/G⌋ + (W − ⌊W/G⌋) − ⌊j/G⌋
// group G 1 … 4096; window W 1 … 2²⁴, not larger than the length trained on. Causal, positions increasing. Cached keys are
// kept unrotated, because they turn in two ways.
#include <cmath>

#include "position/catalogue.h"
#include "position/zones.h"

namespace lw {
namespace {

struct Grouped {
  static constexpr Option options[] = {
      {Option::integer, "group", 8, 1, 4096, nullptr, "How many far positions share a number.", "远处多少个位置共用一个编号。"},
      {Option::integer, "window", 1024, 1, 1 << 24, nullptr, "Distances below this stay as they are; choose less than the length trained on.",
       "小于此值的距离保持不变；应小于训练长度。"}};
  static constexpr Descriptor descriptor{
      .name = "grouped", .title = "Grouped positions (Self-Extend)", .title_zh = "分组位置（Self-Extend）",
      .paper = "Jin et al. 2024, LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning, arXiv:2401.01325",
      .doors = unsigned(Door::ids), .options = options, .past = Past::same,
      .past_note = "Far distances shrink by the group size, so that up to (L − W)·G + W tokens no new distance appears.",
      .past_note_zh = "远处的距离按组缩小，直到 (L − W)·G + W 个词元都不会出现新的距离。",
      .example = "group=4:window=16",
      .causal_only = true,
      .after_training = true};

  Grouped(const Options& o, const Shape&) : group_(o["group"]), window_(o["window"]) {}

  int zones() const { return 2; }
  void zone(int zone, std::span<const double> positions, Zone& out) const {
    if (zone == 0) {
      number(positions, out, [](double p) { return p; });
      return keys_closer_than(window_, positions, out.first);
    }
    number(positions, out, [&](double p) { return std::floor(p / group_); });
    for (double& query : out.query) query += window_ - std::floor(window_ / group_);
    out.first.fill(0);
  }

 private:
  double group_, window_;
};

}  // namespace

const Entry grouped_entry = entry<Grouped>();

}  // namespace lw

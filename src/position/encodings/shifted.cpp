// Shifted positions, STRING (door: ids); wraps any encoding by distance. An et al. 2024, arXiv:2410.18745.
//   Δ < S: as is.  Otherwise the distance is Δ − S + W
// The rarely trained large distances are replaced by small, well trained ones; a window of W keeps the nearest tokens apart
// from them. shift S 1 … 2²⁴ (0: ⌊L/3⌋, at least 1), window W 0 … S (−1: ⌊S/4⌋). Causal, positions increasing. Cached keys
// are kept unrotated, because queries turn in two ways.
#include "position/catalogue.h"
#include "position/zones.h"

namespace lw {
namespace {

struct Shifted {
  static constexpr Option options[] = {
      {Option::integer, "shift", 0, 0, 1 << 24, nullptr, "Distances from here on are made smaller; 0: a third of the length trained on.",
       "从此距离起开始缩小；0 表示训练长度的三分之一。"},
      {Option::integer, "window", -1, -1, 1 << 24, nullptr, "The distance they start again from; −1: a quarter of the shift.",
       "缩小后重新开始的距离；−1 表示 shift 的四分之一。"}};
  static constexpr Descriptor descriptor{
      .name = "shifted", .title = "Shifted positions (STRING)", .title_zh = "移位位置（STRING）",
      .paper = "An et al. 2024, Why Does the Effective Context Length of LLMs Fall Short?, arXiv:2410.18745",
      .doors = unsigned(Door::ids), .options = options, .past = Past::degrades,
      .past_note = "Large distances are S − W smaller, so that trained ones reach that much further.",
      .past_note_zh = "远距离减小 S − W，因此训练过的距离能覆盖更远。",
      .causal_only = true,
      .after_training = true};

  Shifted(const Options& o, const Shape& s) : shift_(shift(o, s)), window_(window(o, s)) {}
  static Error check(const Options& o, const Shape& s) {
    if (window(o, s) <= shift(o, s)) return {};
    return {"shifted:window is " + std::to_string(window(o, s)) + "; allowed: at most the shift (" + std::to_string(shift(o, s)) + ")"};
  }

  int zones() const { return 2; }
  void zone(int zone, std::span<const double> positions, Zone& out) const {
    number(positions, out, [](double p) { return p; });
    if (zone == 0) return keys_closer_than(shift_, positions, out.first);
    for (double& query : out.query) query += window_ - shift_;
    out.first.fill(0);
  }

 private:
  static int shift(const Options& o, const Shape& s) { return o.integer("shift") ? o.integer("shift") : std::max(1, s.trained_length / 3); }
  static int window(const Options& o, const Shape& s) { return o.integer("window") >= 0 ? o.integer("window") : shift(o, s) / 4; }
  double shift_, window_;
};

}  // namespace

const Entry shifted_entry = entry<Shifted>();

}  // namespace lw

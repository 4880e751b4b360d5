// Rectified positions, ReRoPE (door: ids); wraps any encoding by distance. Su 2023, kexue.fm/archives/9708.
//   distance min(Δ, W);  leaky: Δ > W → W + (Δ − W)/k
// window W 1 … 2²⁴, factor k 1 … 10⁶ (leaky only). Causal, positions increasing. Cached keys are kept unrotated, because
// they turn in two ways.
#include "position/catalogue.h"
#include "position/zones.h"

namespace lw {
namespace {

struct Rectified {
  static constexpr Option options[] = {
      {Option::integer, "window", 512, 1, 1 << 24, nullptr, "The largest distance left as it is; choose less than the length trained on.",
       "保持不变的最大距离；应小于训练长度。"},
      {Option::flag, "leaky", 0, 0, 1, nullptr, "Farther distances still grow, slowly.", "更远的距离仍缓慢增长。"},
      {Option::number, "factor", 16, 1, 1e6, nullptr, "How many times slower, if leaky.", "leaky 时增长放慢的倍数。"}};
  static constexpr Descriptor descriptor{
      .name = "rectified", .title = "Rectified positions (ReRoPE)", .title_zh = "截断位置（ReRoPE）",
      .paper = "Su 2023, Rectified Rotary Position Embeddings, kexue.fm/archives/9708",
      .doors = unsigned(Door::ids), .options = options, .past = Past::same,
      .past_note = "No distance beyond the window is ever met; if leaky, distances grow many times slower.",
      .past_note_zh = "不会出现超过窗口的距离；leaky 时距离增长慢许多倍。",
      .example = "window=32",
      .causal_only = true,
      .after_training = true};

  Rectified(const Options& o, const Shape&) : window_(o["window"]), slower_(o.flag("leaky") ? 1 / o["factor"] : 0) {}

  int zones() const { return 2; }
  void zone(int zone, std::span<const double> positions, Zone& out) const {
    const double pace = zone == 0 ? 1 : slower_, start = window_ - pace * window_;
    number(positions, out, [&](double p) { return pace * p; });
    if (zone == 0) return keys_closer_than(window_, positions, out.first);
    for (double& query : out.query) query += start;
    out.first.fill(0);
  }

 private:
  double window_, slower_;
};

}  // namespace

const Entry rectified_entry = entry<Rectified>();

}  // namespace lw

// The sliding window written as a bias (door: bias). Beltagy et al. 2020, arXiv:2004.05150.
//   bias(Δ) = 0 where |Δ| < w, −∞ elsewhere: the same attention as `window`, which leaves out what this computes in vain
// width 1 … 2²⁴. It goes by the numbers that tokens carry, where `window` counts keys; log_n counts all keys here.
#include <cmath>
#include <limits>

#include "position/catalogue.h"

namespace lw {
namespace {

struct WindowPenalty {
  static constexpr Option options[] = {
      {Option::integer, "width", 32, 1, 1 << 24, nullptr, "How many tokens a query sees, itself included.",
       "每个查询能看到的词元数，包括它自己。"}};
  static constexpr Descriptor descriptor{
      .name = "window_penalty", .title = "Sliding window as a bias", .title_zh = "以偏置实现的滑动窗口",
      .paper = "Beltagy et al. 2020, Longformer: The Long-Document Transformer, arXiv:2004.05150",
      .doors = unsigned(Door::bias), .options = options, .past = Past::same,
      .past_note = "A query never sees further than the window, however long the input is.",
      .past_note_zh = "无论输入多长，查询都只看窗口之内。"};

  WindowPenalty(const Options& o, const Shape& s) : width_(o.integer("width")), heads_(s.heads) {}

  void bias(std::span<const double> distances, Heads out) const {
    for (int h = 0; h < heads_; h++)
      for (size_t m = 0; m < distances.size(); m++)
        out[h][m] = std::fabs(distances[m]) >= width_ ? -std::numeric_limits<float>::infinity() : 0;
  }

 private:
  int width_, heads_;
};

}  // namespace

const Entry window_penalty_entry = entry<WindowPenalty>();

}  // namespace lw

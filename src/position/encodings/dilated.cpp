// Dilated window (door: pattern). Beltagy et al. 2020, arXiv:2004.05150.
//   query i sees keys i, i − s, i − 2s … i − (w − 1)s; without a causal mask also i + s … i + (w − 1)s
// width w and stride s 1 … 2²⁴; stride 1 is the window. Keys are counted by their index, whatever numbers they carry.
#include <algorithm>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Dilated {
  static constexpr Option options[] = {
      {Option::integer, "width", 16, 1, 1 << 24, nullptr, "How many tokens a query sees, itself included.",
       "每个查询能看到的词元数，包括它自己。"},
      {Option::integer, "stride", 2, 1, 1 << 24, nullptr, "The step from one key to the next.", "相邻两个可见键之间的间隔。"}};
  static constexpr Descriptor descriptor{
      .name = "dilated", .title = "Dilated window", .title_zh = "空洞窗口",
      .paper = "Beltagy et al. 2020, Longformer: The Long-Document Transformer, arXiv:2004.05150",
      .doors = unsigned(Door::pattern), .options = options, .past = Past::same,
      .past_note = "A query never sees further than (width − 1)·stride tokens.",
      .past_note_zh = "查询看到的距离不超过 (width − 1)·stride 个词元。"};

  Dilated(const Options& o, const Shape&) : width_(o.integer("width")), stride_(o.integer("stride")) {}

  void pattern(int query, int length, std::vector<Interval>& out) const {
    const int before = std::min(width_ - 1, query / stride_), after = std::min(width_ - 1, (length - 1 - query) / stride_);
    for (int m = -before; m <= after; m++) out.push_back({query + m * stride_, query + m * stride_ + 1});
  }

 private:
  int width_, stride_;
};

}  // namespace

const Entry dilated_entry = entry<Dilated>();

}  // namespace lw

// Sliding window (door: pattern). Beltagy et al. 2020, arXiv:2004.05150.
//   query i sees keys i − w + 1 … i (w counts the query itself); without a causal mask also i + 1 … i + w − 1
// width 1 … 2²⁴. Keys are counted by their index, whatever numbers they carry.
#include "position/catalogue.h"

namespace lw {
namespace {

struct Window {
  static constexpr Option options[] = {
      {Option::integer, "width", 32, 1, 1 << 24, nullptr, "How many tokens a query sees, itself included.",
       "每个查询能看到的词元数，包括它自己。"}};
  static constexpr Descriptor descriptor{
      .name = "window", .title = "Sliding window", .title_zh = "滑动窗口",
      .paper = "Beltagy et al. 2020, Longformer: The Long-Document Transformer, arXiv:2004.05150",
      .doors = unsigned(Door::pattern), .options = options, .past = Past::same,
      .past_note = "A query never sees further than the window, however long the input is.",
      .past_note_zh = "无论输入多长，查询都只看窗口之内。"};

  Window(const Options& o, const Shape&) : width_(o.integer("width")) {}

  void pattern(int query, int, std::vector<Interval>& out) const { out.push_back({query - width_ + 1, query + width_}); }

 private:
  int width_;
};

}  // namespace

const Entry window_entry = entry<Window>();

}  // namespace lw

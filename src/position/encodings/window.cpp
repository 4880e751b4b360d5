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
      .past_note_zh = "无论输入多长，查询都只看窗口之内。",
      .differs =
          "Hugging Face's sliding_window counts the query, as here; flash-attention's window_size counts the keys beside "
          "it, one key more for the same number. Longformer's width counts both sides together.",
      .differs_zh =
          "Hugging Face 的 sliding_window 与这里一样，把查询自身计入；"
          "flash-attention 的 window_size 只数旁边的键，同一个数多看一个键。Longformer 的宽度是两侧合计。"};

  Window(const Options& o, const Shape&) : width_(o.integer("width")) {}

  void pattern(int query, int, std::vector<Interval>& out) const { out.push_back({query - width_ + 1, query + width_}); }

 private:
  int width_;
};

}  // namespace

const Entry window_entry = entry<Window>();

}  // namespace lw

// Attention sinks (door: pattern). Xiao et al. 2023, arXiv:2309.17453.
//   every query sees the first `count` keys; meant to be put together with a window: sinks:count=4+window:width=32
// count 1 … 2²⁴. Tokens keep their numbers: none is renumbered by its place in a cache.
#include "position/catalogue.h"

namespace lw {
namespace {

struct Sinks {
  static constexpr Option options[] = {
      {Option::integer, "count", 4, 1, 1 << 24, nullptr, "How many tokens at the start stay visible to all.",
       "开头有多少个词元始终对所有查询可见。"}};
  static constexpr Descriptor descriptor{
      .name = "sinks", .title = "Attention sinks", .title_zh = "注意力汇聚点",
      .paper = "Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks, arXiv:2309.17453",
      .doors = unsigned(Door::pattern), .options = options, .past = Past::same,
      .past_note = "With a window: the tokens that attention leans on stay in sight however long the input is.",
      .past_note_zh = "与窗口合用：无论输入多长，注意力所依赖的开头词元始终可见。",
      .differs = "The authors' code renumbers tokens by their place in the cache; here they keep their numbers.",
      .differs_zh = "作者的代码按缓存中的次序给词元重新编号；这里保留原来的编号。"};

  Sinks(const Options& o, const Shape&) : count_(o.integer("count")) {}

  void pattern(int, int, std::vector<Interval>& out) const { out.push_back({0, count_}); }

 private:
  int count_;
};

}  // namespace

const Entry sinks_entry = entry<Sinks>();

}  // namespace lw

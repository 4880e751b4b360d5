// Blocks (door: pattern). Sun et al. 2022, arXiv:2212.10554 (block-causal attention); the reach of Transformer-XL's memory.
//   query i in block b = ⌊i/size⌋ sees the keys of blocks b − back … b, without a causal mask those of b − back … b + back
// size 1 … 2²⁴, back 0 … 2²⁴. With back = 1 it sees what it would see if each block were run by itself with the states of
// the block before kept as keys and values.
#include <algorithm>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Blocks {
  static constexpr Option options[] = {
      {Option::integer, "size", 32, 1, 1 << 24, nullptr, "Tokens in a block.", "每块的词元数。"},
      {Option::integer, "back", 1, 0, 1 << 24, nullptr,
       "How many blocks before its own a query sees; without a causal mask as many after it too.",
       "除本块外还能看到之前的几块；无因果掩码时之后的块也看同样多。"}};
  static constexpr Descriptor descriptor{
      .name = "blocks", .title = "Blocks", .title_zh = "分块注意力",
      .paper = "Sun et al. 2022, A Length-Extrapolatable Transformer, arXiv:2212.10554",
      .doors = unsigned(Door::pattern), .options = options, .past = Past::same,
      .past_note = "No distance is larger than that of the blocks seen, however long the input is.",
      .past_note_zh = "无论输入多长，距离都不会超出可见块的范围。"};

  Blocks(const Options& o, const Shape&) : size_(o.integer("size")), back_(o.integer("back")) {}

  void pattern(int query, int length, std::vector<Interval>& out) const {
    const int64_t own = query / size_;
    out.push_back({int(std::max<int64_t>(own - back_, 0) * size_), int(std::min<int64_t>((own + back_ + 1) * size_, length))});
  }

 private:
  int64_t size_, back_;
};

}  // namespace

const Entry blocks_entry = entry<Blocks>();

}  // namespace lw

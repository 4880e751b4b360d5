// Global tokens (door: pattern). Beltagy et al. 2020, arXiv:2004.05150; Zaheer et al. 2020, arXiv:2007.14062.
//   the first `count` tokens see all keys, and every query sees them; with `at`, those with these token ids instead
// count 1 … 2²⁴. Under a causal mask nothing is left of the first half: what they could see beyond each other is later
// than they are, and the pattern is that of sinks.
#include <algorithm>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Global {
  static constexpr Option options[] = {
      {Option::integer, "count", 1, 1, 1 << 24, nullptr, "How many tokens at the start see all and are seen by all.",
       "开头有多少个词元能看到全部词元，并被全部词元看到。"},
      {Option::numbers, "at", 0, 0, 2147483647, nullptr, "Token ids that are global, wherever they stand; without: the first tokens.",
       "作为全局词元的编号，不论其位置；缺省为开头的词元。"}};
  static constexpr Descriptor descriptor{
      .name = "global", .title = "Global tokens", .title_zh = "全局词元",
      .paper = "Beltagy et al. 2020, Longformer: The Long-Document Transformer, arXiv:2004.05150",
      .doors = unsigned(Door::pattern), .options = options, .past = Past::same,
      .past_note = "Any two tokens stay two steps apart, by way of the global ones (without a causal mask).",
      .past_note_zh = "无因果掩码时，任意两个词元经由全局词元总是只隔两步。",
      .differs = "In Longformer global tokens have projections of their own; here they share those of all tokens.",
      .differs_zh = "Longformer 中全局词元有自己的投影；这里与其他词元共用。"};

  Global(const Options& o, const Shape&) : count_(o.integer("count")), at_(o.numbers("at").begin(), o.numbers("at").end()) {}

  bool reads_tokens() const { return !at_.empty(); }
  void pattern(int query, int length, const int* tokens, std::vector<Interval>& out) const {
    auto chosen = [&](int token) { return std::find(at_.begin(), at_.end(), token) != at_.end(); };
    if (at_.empty()) return out.push_back({0, query < count_ ? length : count_});
    if (chosen(tokens[query])) return out.push_back({0, length});
    for (int j = 0; j < length; j++) if (chosen(tokens[j])) out.push_back({j, j + 1});
  }

 private:
  int count_;
  std::vector<double> at_;
};

}  // namespace

const Entry global_entry = entry<Global>();

}  // namespace lw

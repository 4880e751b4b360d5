// Random keys (door: pattern). Zaheer et al. 2020, arXiv:2007.14062.
//   query i sees `count` different keys, drawn from those that it may see: 0 … i, without a causal mask all of them
// Row i is drawn from the PCG32 stream i of `seed` (Floyd's sampling): the same on every machine, and under a causal mask
// the same however long the sequence gets. A query does not always see itself: put a window beside it. count 1 … 1024.
#include <algorithm>

#include "position/catalogue.h"

namespace lw {
namespace {

struct RandomKeys {
  static constexpr Option options[] = {
      {Option::integer, "count", 8, 1, 1024, nullptr, "How many keys a query sees.", "每个查询能看到多少个键。"},
      {Option::integer, "seed", 0, 0, 2147483647, nullptr, "Seed of the draw.", "抽取所用的随机种子。"}};
  static constexpr Descriptor descriptor{
      .name = "random", .title = "Random keys", .title_zh = "随机键",
      .paper = "Zaheer et al. 2020, Big Bird: Transformers for Longer Sequences, arXiv:2007.14062",
      .doors = unsigned(Door::pattern), .options = options, .past = Past::same,
      .past_note = "A query sees the same number of keys at any length, from ever further away.",
      .past_note_zh = "任何长度下查询看到的键数不变，只是来自越来越远的地方。",
      .differs = "BigBird draws whole blocks of 64 keys; here single keys are drawn.",
      .differs_zh = "BigBird 抽取的是 64 个键的整块；这里抽取单个键。"};

  RandomKeys(const Options& o, const Shape& s) : count_(o.integer("count")), seed_(uint64_t(o["seed"])), causal_(s.causal) {}

  void pattern(int query, int length, std::vector<Interval>& out) const {
    const int keys = causal_ ? query + 1 : length;
    if (keys <= count_) return out.push_back({0, keys});
    Random random(seed_, uint64_t(query));
    const auto first = out.size();
    for (int last = keys - count_; last < keys; last++) {
      const int drawn = int(random.below(uint32_t(last) + 1));
      const bool taken = std::any_of(out.begin() + first, out.end(), [&](Interval key) { return key.first == drawn; });
      const int key = taken ? last : drawn;
      out.push_back({key, key + 1});
    }
  }

 private:
  int count_;
  uint64_t seed_;
  bool causal_;
};

}  // namespace

const Entry random_entry = entry<RandomKeys>();

}  // namespace lw

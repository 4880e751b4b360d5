// Randomised positions (door: ids); wraps any encoding. Ruoss et al. 2023, arXiv:2305.16843.
//   training: N numbers drawn from 0 … max − 1 without replacement, sorted, drawn anew each time
//   evaluation: fresh: drawn in the same way from `seed`, so the same N gives the same numbers; evenly: ⌊i·max/N⌋
//   Where N grows, as in decoding, the numbers of all tokens change, and all that was cached is computed anew.
// The numbers replace whatever the tokens carried. max 1 … 2²⁰; more than max tokens are refused.
#include "position/catalogue.h"

namespace lw {
namespace {

struct RandomSorted {
  static constexpr Option options[] = {
      {Option::integer, "max", 2048, 1, 1 << 20, nullptr,
       "Numbers are drawn from 0 to max − 1; choose the longest length to be tested.",
       "编号取自 0 到 max − 1；应取将要测试的最大长度。"},
      {Option::choice, "evaluation", 0, 0, 1, "fresh|evenly", "Numbers in evaluation: drawn as in training, or evenly spaced.",
       "评估时的编号：像训练时一样抽取，或均匀分布。"},
      {Option::integer, "seed", 0, 0, 2147483647, nullptr, "Seed of the numbers drawn in evaluation.", "评估时抽取编号所用的随机种子。"}};
  static constexpr Descriptor descriptor{
      .name = "random_sorted", .title = "Randomised positions", .title_zh = "随机位置编号",
      .paper = "Ruoss et al. 2023, Randomized Positional Encodings Boost Length Generalization of Transformers, arXiv:2305.16843",
      .doors = unsigned(Door::ids), .options = options, .past = Past::same,
      .past_note = "Numbers up to max were all seen in training; more than max tokens are an error.",
      .past_note_zh = "max 以内的编号在训练中都出现过；词元数超过 max 则报错。",
      .differs = "The authors' code draws at random in evaluation too (evaluation=fresh).",
      .differs_zh = "作者的代码在评估时同样随机抽取（evaluation=fresh）。"};

  RandomSorted(const Options& o, const Shape&)
      : max_(o.integer("max")), evenly_(o.integer("evaluation") == 1), seed_(uint64_t(o["seed"])) {}

  Error refuse(std::span<const double> positions, int) const {
    if (positions.size() <= size_t(max_)) return {};
    return {"length is " + std::to_string(positions.size()) + "; allowed with random_sorted:max=" + std::to_string(max_) + ": at most " +
            std::to_string(max_)};
  }

  bool counts_tokens() const { return true; }
  void ids(std::span<double> positions, Random* random) const {
    const uint32_t count = uint32_t(positions.size());
    Random evaluation(seed_);
    if (!random && evenly_) {
      for (uint32_t i = 0; i < count; i++) positions[i] = double(uint64_t(i) * max_ / count);
      return;
    }
    // Selection sampling (Knuth, algorithm S): each number is taken with probability missing/left, in order.
    for (uint32_t number = 0, taken = 0; taken < count; number++)
      if ((random ? *random : evaluation).below(max_ - number) < count - taken) positions[taken++] = number;
  }

 private:
  int max_;
  bool evenly_;
  uint64_t seed_;
};

}  // namespace

const Entry random_sorted_entry = entry<RandomSorted>();

}  // namespace lw

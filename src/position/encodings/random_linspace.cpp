// Randomly stretched positions (door: ids); wraps any encoding. Su 2023, kexue.fm/archives/9444.
//   training: n is drawn anew each time, then come N evenly spaced numbers from 0 to n: token i gets i·n/(N − 1)
//   draw: exponential: with mean N, so that on average the numbers are those of evaluation; uniform: from 0 to max
//   evaluation: plain: token i gets i; fresh: drawn in the same way from `seed`, so the same N gives the same numbers
// The numbers replace whatever the tokens carried. max 1 … 2²⁰.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct RandomLinspace {
  static constexpr Option options[] = {
      {Option::choice, "draw", 0, 0, 1, "exponential|uniform",
       "How the last number is drawn: exponentially, on average the length; evenly from 0 to max.",
       "末位编号的抽取方式：指数分布，均值为序列长度；或在 0 到 max 之间均匀分布。"},
      {Option::integer, "max", 2048, 1, 1 << 20, nullptr, "With draw=uniform: the largest number; choose the longest length to be tested.",
       "用于 draw=uniform：编号的上限；应取将要测试的最大长度。"},
      {Option::choice, "evaluation", 0, 0, 1, "plain|fresh", "Numbers in evaluation: 0, 1, 2 …, or drawn as in training.",
       "评估时的编号：0、1、2……，或像训练时一样抽取。"},
      {Option::integer, "seed", 0, 0, 2147483647, nullptr, "Seed of what is drawn in evaluation.", "评估时抽取所用的随机种子。"}};
  static constexpr Descriptor descriptor{
      .name = "random_linspace", .title = "Randomly stretched positions", .title_zh = "随机伸缩位置编号",
      .paper = "Su 2023, Transformer升级之路：8、长度外推性与位置鲁棒性, kexue.fm/archives/9444",
      .doors = unsigned(Door::ids), .options = options, .past = Past::same,
      .past_note = "Larger numbers than the trained length were seen in training, the larger the rarer.",
      .past_note_zh = "训练中出现过大于训练长度的编号，编号越大出现得越少。",
      .example = "evaluation=fresh"};

  RandomLinspace(const Options& o, const Shape&)
      : max_(o.integer("draw") ? o["max"] : 0), fresh_(o.integer("evaluation") == 1), seed_(uint64_t(o["seed"])) {}

  bool counts_tokens() const { return fresh_; }
  void ids(std::span<double> positions, Random* random) const {
    const double N = double(positions.size());
    Random evaluation(seed_);
    const double n = random || fresh_ ? draw(N, random ? *random : evaluation) : N - 1;
    for (size_t i = 0; i < positions.size(); i++) positions[i] = i ? double(i) * n / (N - 1) : 0;
  }

 private:
  double draw(double mean, Random& random) const {
    const double u = random.uniform();
    return max_ ? max_ * u : -mean * std::log1p(-u);
  }
  double max_;  // 0: exponential
  bool fresh_;
  uint64_t seed_;
};

}  // namespace

const Entry random_linspace_entry = entry<RandomLinspace>();

}  // namespace lw

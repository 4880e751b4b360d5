// Position interpolation (door: ids); wraps any encoding. Chen et al. 2023, arXiv:2306.15595.
//   a token that carries p carries p/factor
// factor 1 … 2²⁰. Several wrappers work one after the other, in the order in which they are written.
#include "position/catalogue.h"

namespace lw {
namespace {

struct Interpolated {
  static constexpr Option options[] = {
      {Option::number, "factor", 2, 1, 1 << 20, nullptr, "All numbers are divided by this: choose test length / trained length.",
       "所有编号都除以该值；可取测试长度与训练长度之比。"}};
  static constexpr Descriptor descriptor{
      .name = "interpolated", .title = "Position interpolation (PI)", .title_zh = "位置插值（PI）",
      .paper = "Chen et al. 2023, Extending Context Window of Large Language Models via Positional Interpolation, arXiv:2306.15595",
      .doors = unsigned(Door::ids), .options = options, .past = Past::degrades,
      .past_note = "Up to factor times the length nothing leaves the range of plain numbers, but neighbours come closer together.",
      .past_note_zh = "长度在 factor 倍以内时编号不超出原有范围，但相邻词元的间隔变小。",
      .differs =
          "Where it is applied belongs to the model: Gemma 3 (4B and larger) divides by 8 in its global layers only. Ports "
          "that did so in every layer, or in none, were wrong.",
      .differs_zh = "在哪些层使用取决于模型：Gemma 3（4B 及以上）只在全局层除以 8；有的移植版在所有层都除，有的干脆不除，都不对。",
      .after_training = true};

  Interpolated(const Options& o, const Shape&) : factor_(o["factor"]) {}

  void ids(std::span<double> positions, Random*) const {
    for (double& p : positions) p /= factor_;
  }

 private:
  double factor_;
};

}  // namespace

const Entry interpolated_entry = entry<Interpolated>();

}  // namespace lw

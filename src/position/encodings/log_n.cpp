// Logarithmic scale (door: scale). Su 2021, kexue.fm/archives/8823; Chiang & Cholak 2022, arXiv:2202.12172.
//   scores of row i × max(1, ln n_i / ln L), n_i: how many keys it may see, L: the length trained on (≥ 2)
// unclipped: ln n_i / ln L also below L, where it is less than 1.
// Not ln(L/n_i), as some texts have it: that is zero at L and negative past it, where the least likely key would then win.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct LogN {
  static constexpr Option options[] = {
      {Option::flag, "unclipped", 0, 0, 1, nullptr, "Scale rows shorter than the trained length too.",
       "短于训练长度的行也缩放。"}};
  static constexpr Descriptor descriptor{
      .name = "log_n", .title = "Logarithmic scale", .title_zh = "对数缩放（log n）",
      .paper = "Chiang and Cholak 2022, Overcoming a Theoretical Limitation of Self-Attention, arXiv:2202.12172",
      .doors = unsigned(Door::scale), .options = options, .past = Past::same,
      .past_note = "Keeps attention as sharp as it was at the trained length; a factor ln(L/n), as some texts have it, would change sign there.",
      .past_note_zh = "使注意力保持训练长度时的集中程度；若像某些文章那样写成 ln(L/n)，因子在超过训练长度后会变号。",
      .differs =
          "Some codes multiply all rows by one constant made from the number of keys; Qwen's, as here, scales each row by "
          "how many keys it may see, and never below 1.",
      .differs_zh = "有些代码用键的总数得到一个常数，乘到所有行上；Qwen 与这里一样，按每行可见的键数缩放，且不小于 1。"};

  LogN(const Options& o, const Shape& s)
      : unclipped_(o.flag("unclipped")), heads_(s.heads), log_trained_(std::log(double(s.trained_length))) {}
  static Error check(const Options&, const Shape& s) {
    if (s.trained_length >= 2) return {};
    return {"trainedLength is " + std::to_string(s.trained_length) + "; allowed with log_n: at least 2"};
  }

  void scale(std::span<const int> seen, std::span<const double>, float* out) const {
    for (int h = 0; h < heads_; h++)
      for (int n : seen) {
        double factor = std::log(double(n)) / log_trained_;
        *out++ *= float(unclipped_ && n ? factor : std::fmax(1, factor));
      }
  }

 private:
  bool unclipped_;
  int heads_;
  double log_trained_;
};

}  // namespace

const Entry log_n_entry = entry<LogN>();

}  // namespace lw

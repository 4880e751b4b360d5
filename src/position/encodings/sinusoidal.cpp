// Sinusoids added to the embedding (door: input). Vaswani et al. 2017, arXiv:1706.03762.
//   interleaved:   PE[p, 2k] = sin(p·base^(−2k/d)), PE[p, 2k+1] = cos(same); d odd: the last column is the sine
//   concatenated:  all sines, then all cosines, same frequencies
//   half_minus_1:  ⌊d/2⌋ sines, then cosines, of p·base^(−k/(⌊d/2⌋ − 1)), as in tensor2tensor; one frequency: 1; d odd:
//                  the last column is zero
//   sin_only:      PE[p, c] = sin(p·base^(−c/d)), whatever the layout: without the cosine no linear map shifts a position
// base 1 … 10¹². embedding_scale: token embeddings × √d before the sum, as in the paper.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Sinusoidal {
  static constexpr Option options[] = {
      {Option::number, "base", 10000, 1, 1e12, nullptr, "The longest wavelength is about 2π·base.", "最长的波长约为 2π·base。"},
      {Option::choice, "layout", 0, 0, 2, "interleaved|concatenated|half_minus_1",
       "Where sines and cosines stand: in turn; sines first; sines first with the frequencies of tensor2tensor.",
       "正弦与余弦的排列：交错排列；先正弦后余弦；先正弦后余弦并采用 tensor2tensor 的频率。"},
      {Option::flag, "sin_only", 0, 0, 1, nullptr, "Every column is a sine of its own frequency, to show what the cosine buys.",
       "每一列都是各自频率的正弦，用来说明余弦的作用。"},
      {Option::flag, "embedding_scale", 1, 0, 1, nullptr, "Token embeddings are multiplied by √d first, as in the paper.",
       "先把词元嵌入乘以 √d，与原论文一致。"}};
  static constexpr Descriptor descriptor{
      .name = "sinusoidal", .title = "Sinusoidal", .title_zh = "正弦位置编码",
      .paper = "Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762",
      .doors = unsigned(Door::input), .options = options, .past = Past::degrades,
      .past_note = "Defined for every position, but vectors past the trained length were never seen.",
      .past_note_zh = "对任意位置都有定义，但超出训练长度的向量从未见过。",
      .differs =
          "The paper interleaves sines and cosines; tensor2tensor and fairseq put all sines first and divide the exponents "
          "by d/2 − 1. Once added to trained embeddings they are not interchangeable.",
      .differs_zh = "论文中正弦与余弦交错排列；tensor2tensor 和 fairseq 先放全部正弦，且指数除以 d/2 − 1。与训练好的词嵌入相加之后，二者不可互换。"};

  Sinusoidal(const Options& o, const Shape& s)
      : base_(o["base"]), layout_(o.integer("layout")), sin_only_(o.flag("sin_only")), scaled_(o.flag("embedding_scale")), d_(s.width) {}

  float embedding_scale() const { return scaled_ ? float(std::sqrt(double(d_))) : 1; }

  // Column c is sin(p·frequency + 0) or its cosine; frequency < 0: the column is zero.
  struct Column { double frequency; bool cosine; };
  Column column(int c) const {
    const int half = d_ / 2, sines = layout_ == half_minus_1 ? half : (d_ + 1) / 2;
    if (sin_only_) return {std::pow(base_, -double(c) / d_), false};
    bool cosine = layout_ == interleaved ? c % 2 : c >= sines;
    int k = layout_ == interleaved ? c / 2 : cosine ? c - sines : c;
    if (layout_ != half_minus_1) return {std::pow(base_, -2.0 * k / d_), cosine};
    return {k >= half ? -1 : std::pow(base_, -double(k) / std::max(half - 1, 1)), cosine};
  }

  void input(std::span<const double> positions, float* out) const {
    for (int c = 0; c < d_; c++) {
      const Column column = this->column(c);
      if (column.frequency < 0) continue;
      for (size_t i = 0; i < positions.size(); i++) {
        double angle = positions[i] * column.frequency;
        out[i * d_ + c] += float(column.cosine ? std::cos(angle) : std::sin(angle));
      }
    }
  }

 private:
  enum { interleaved, concatenated, half_minus_1 };
  double base_;
  int layout_;
  bool sin_only_, scaled_;
  int d_;
};

}  // namespace

const Entry sinusoidal_entry = entry<Sinusoidal>();

}  // namespace lw

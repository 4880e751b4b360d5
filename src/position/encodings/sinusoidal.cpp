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
#include "position/waves.h"

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
      : waves_(waves(o["base"], o.integer("layout"), o.flag("sin_only"), s.width)), scaled_(o.flag("embedding_scale")), d_(s.width) {}

  float embedding_scale() const { return scaled_ ? float(std::sqrt(double(d_))) : 1; }

  void input(std::span<const double> positions, float* out) {
    for (double p : positions) waves_.add(p, out), out += d_;
  }

 private:
  enum { interleaved, concatenated, half_minus_1 };

  static Waves waves(double base, int layout, bool sin_only, int d) {
    if (layout != half_minus_1 && !sin_only) return Waves(base, d, layout == interleaved ? Waves::in_turn : Waves::sines_first);
    std::vector<double> frequencies(size_t(sin_only ? d : d / 2));
    for (size_t k = 0; k < frequencies.size(); k++)
      frequencies[k] = std::pow(base, -double(k) / (sin_only ? double(d) : std::max(double(frequencies.size()) - 1, 1.)));
    return Waves(std::move(frequencies), d, Waves::sines_first);
  }

  Waves waves_;
  bool scaled_;
  int d_;
};

}  // namespace

const Entry sinusoidal_entry = entry<Sinusoidal>();

}  // namespace lw

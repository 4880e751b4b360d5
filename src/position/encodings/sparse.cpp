// Sinusoids on some tokens only, added to the embedding (door: input). The sinusoid: Vaswani et al. 2017, arXiv:1706.03762.
//   p a multiple of stride: PE[p, 2k] = sin(p·base^(−2k/d)), PE[p, 2k+1] = cos(same); every other position: zeros
//   with `at`: tokens with these ids carry it, wherever they stand, and no others
// d odd: the last column is the sine. stride 1 … 2²⁴ (1: sinusoidal), base 1 … 10¹². embedding_scale: token embeddings × √d
// before the sum, all of them.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"
#include "position/waves.h"

namespace lw {
namespace {

struct Sparse {
  static constexpr Option options[] = {
      {Option::integer, "stride", 4, 1, 1 << 24, nullptr, "Only positions that are multiples of this carry a sinusoid.",
       "只有位置为该值倍数的词元带有正弦编码。"},
      {Option::numbers, "at", 0, 0, 2147483647, nullptr, "Token ids that carry their sinusoid, wherever they stand; without: every stride-th position.",
       "带有正弦编码的词元编号，不论其位置；缺省按 stride。"},
      {Option::number, "base", 10000, 1, 1e12, nullptr, "The longest wavelength is about 2π·base.", "最长的波长约为 2π·base。"},
      {Option::flag, "embedding_scale", 1, 0, 1, nullptr, "Token embeddings are multiplied by √d first.", "先把词元嵌入乘以 √d。"}};
  static constexpr Descriptor descriptor{
      .name = "sparse", .title = "Sparse sinusoids", .title_zh = "稀疏正弦编码",
      .paper = "After Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762: only some tokens say where they are",
      .doors = unsigned(Door::input), .options = options, .past = Past::degrades,
      .past_note = "Defined for every position, but vectors past the trained length were never seen.",
      .past_note_zh = "对任意位置都有定义，但超出训练长度的向量从未见过。"};

  Sparse(const Options& o, const Shape& s)
      : at_(o.numbers("at").begin(), o.numbers("at").end()), stride_(o["stride"]), waves_(o["base"], s.width, Waves::in_turn),
        scaled_(o.flag("embedding_scale")), d_(s.width) {}

  float embedding_scale() const { return scaled_ ? float(std::sqrt(double(d_))) : 1; }

  bool reads_tokens() const { return !at_.empty(); }
  void input(std::span<const double> positions, const int* tokens, float* out) {
    for (size_t i = 0; i < positions.size(); i++)
      if (at_.empty() ? std::fmod(positions[i], stride_) == 0 : std::find(at_.begin(), at_.end(), tokens[i]) != at_.end())
        waves_.add(positions[i], out + i * d_);
  }

 private:
  std::vector<double> at_;
  double stride_;
  Waves waves_;
  bool scaled_;
  int d_;
};

}  // namespace

const Entry sparse_entry = entry<Sparse>();

}  // namespace lw

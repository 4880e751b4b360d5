// Linear attention (no door); goes with a rotation, and with ids and input. Su et al. 2021, arXiv:2104.09864, section 3.3;
// without position Katharopoulos et al. 2020, arXiv:2006.16236.
//   z_i = Σ_j (R_i φ(q_i))·(R_j φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j),  φ = elu + 1, R: the rotation beside it
// The denominator does not turn: it stays positive, whatever the rotation makes of the products above it. No softmax and
// no division by √D, which would cancel. Time grows with the length and not with its square; what is known of all earlier
// tokens is one matrix for each head. It opens no door because it tells no positions: it leaves the doors of the scores
// (bias, content, pattern, scale, value) nothing to enter by, and an encoding of these is refused beside it.
#include "position/catalogue.h"

namespace lw {
namespace {

struct LinearAttention {
  static constexpr bool opens_no_door = true;
  static constexpr Descriptor descriptor{
      .name = "linear_attention", .title = "Linear attention", .title_zh = "线性注意力",
      .paper = "Su et al. 2021, RoFormer: Enhanced Transformer with Rotary Position Embedding, arXiv:2104.09864",
      .doors = 0, .options = {}, .past = Past::degrades,
      .past_note = "Cost and memory per token stay the same, but one matrix must hold ever more tokens.",
      .past_note_zh = "每个词元的开销和内存不变，但同一个矩阵要容纳越来越多的词元。",
      .differs = "fast-transformers, which has no rotation, adds 1e-6 to the denominator; here nothing is added, and a row without keys is zero.",
      .differs_zh = "fast-transformers 没有旋转，并在分母上加 1e-6；这里什么也不加，没有可见键的行为零。",
      .linear = true};
  LinearAttention(const Options&, const Shape&) {}
};

}  // namespace

const Entry linear_attention_entry = entry<LinearAttention>();

}  // namespace lw

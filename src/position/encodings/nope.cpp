// No encoding: opens no door. Haviv et al. 2022, arXiv:2203.16634; Kazemnejad et al. 2023, arXiv:2305.19466.
//   s_ij = q_i·k_j/√D, and nothing else
// With a causal mask the network can still tell positions apart, because the first token sees one key and the n-th sees n;
// without a mask it cannot (it is then permutation-equivariant).
#include "position/catalogue.h"

namespace lw {
namespace {

struct Nope {
  static constexpr bool opens_no_door = true;
  static constexpr Descriptor descriptor{
      .name = "nope", .title = "No encoding", .title_zh = "无位置编码",
      .paper = "Kazemnejad et al. 2023, The Impact of Positional Encoding on Length Generalization in Transformers, arXiv:2305.19466",
      .doors = 0, .options = {}, .past = Past::degrades,
      .past_note = "Nothing forbids longer inputs, but attention spreads over more keys than it was trained on.",
      .past_note_zh = "没有什么限制更长的输入，但注意力会分散到比训练时更多的键上。"};
  Nope(const Options&, const Shape&) {}
};

}  // namespace

const Entry nope_entry = entry<Nope>();

}  // namespace lw

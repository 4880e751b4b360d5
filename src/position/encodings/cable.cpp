// Context-aware biases, CABLE (door: content). Veisi et al. 2025, arXiv:2503.08067.
//   score_ij += S_i − S_j,  S_t = −Σ_{l≤t} softplus(w_h·x_l + b_h)
// x is the layer's normalised input. w [H][d] starts N(0, 0.02) and b [H] at zero; one set for each layer. Causal only.
// Since −softplus(z) = ln σ(−z), this is forget_gate with the signs of w and b turned. As in the authors' first code; what
// they do without a causal mask, and a later variant that also weights the scores, is not known well enough to be here.
#include "position/catalogue.h"
#include "position/gate_sums.h"

namespace lw {
namespace {

struct Cable {
  static constexpr Descriptor descriptor{
      .name = "cable", .title = "Context-aware biases (CABLE)", .title_zh = "上下文感知偏置（CABLE）",
      .paper = "Veisi et al. 2025, Context-aware Biases for Length Extrapolation, arXiv:2503.08067",
      .doors = unsigned(Door::content), .options = {}, .past = Past::same,
      .past_note = "Each token adds to the distance as much as its content says; far keys fade out at any length.",
      .past_note_zh = "每个词元按其内容增加距离；无论多长，远处的键都会逐渐淡出。",
      .differs = "This is the authors' first code; a later variant that also weights the scores is not here.",
      .differs_zh = "这里对应作者最初的代码；后来还对分数加权的变体未收录。",
      .causal_only = true, .per_layer = true, .reads_input = true};

  Cable(const Options&, const Shape& s) {
    parameters.push_back({Parameter::normal, "weight", s.heads, s.width, 0.02});
    parameters.push_back({Parameter::zero, "bias", 1, s.heads});
  }
  std::unique_ptr<ContentTerm> content() { return std::make_unique<GateSums>(parameters, -1); }

  std::vector<Parameter> parameters;
};

}  // namespace

const Entry cable_entry = entry<Cable>();

}  // namespace lw

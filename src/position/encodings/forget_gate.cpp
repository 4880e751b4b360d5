// Forget gates, as in the Forgetting Transformer (door: content). Lin et al. 2025, arXiv:2503.02130.
//   f_t = σ(w_h·x_t + b_h);  score_ij += Σ_{l=j+1..i} ln f_l = c_i − c_j,  c_t = Σ_{l≤t} ln f_l
// x is the layer's normalised input. w [H][d] starts N(0, 0.02) and b [H] at zero, as in the authors' code; one set for each
// layer. Causal only. Memory O(T): the prefix sums c, in double.
#include "position/catalogue.h"
#include "position/gate_sums.h"

namespace lw {
namespace {

struct ForgetGate {
  static constexpr Descriptor descriptor{
      .name = "forget_gate", .title = "Forget gates (FoX)", .title_zh = "遗忘门（FoX）",
      .paper = "Lin et al. 2025, Forgetting Transformer: Softmax Attention with a Forget Gate, arXiv:2503.02130",
      .doors = unsigned(Door::content), .options = {}, .past = Past::same,
      .past_note = "What the gates have forgotten no longer counts, however long the input is.",
      .past_note_zh = "被门遗忘的内容不再起作用，与输入长度无关。",
      .causal_only = true, .per_layer = true, .reads_input = true};

  ForgetGate(const Options&, const Shape& s) {
    parameters.push_back({Parameter::normal, "weight", s.heads, s.width, 0.02});
    parameters.push_back({Parameter::zero, "bias", 1, s.heads});
  }
  std::unique_ptr<ContentTerm> content() { return std::make_unique<GateSums>(parameters, 1); }

  std::vector<Parameter> parameters;
};

}  // namespace

const Entry forget_gate_entry = entry<ForgetGate>();

}  // namespace lw

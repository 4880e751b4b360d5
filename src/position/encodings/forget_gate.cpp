// Forget gates, as in the Forgetting Transformer (door: content). Lin et al. 2025, arXiv:2503.02130.
//   f_t = σ(w_h·x_t + b_h);  score_ij += Σ_{l=j+1..i} ln f_l = c_i − c_j,  c_t = Σ_{l≤t} ln f_l
// x is the layer's normalised input. w [H][d] starts N(0, 0.02) and b [H] at zero, as in the authors' code; one set for each
// layer. Causal only. Memory O(T): the prefix sums c, in double.
#include <cmath>

#include "position/catalogue.h"
#include "position/vectors.h"

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

  ForgetGate(const Options&, const Shape& s) : heads(s.heads), width(s.width) {
    parameters.push_back({Parameter::normal, "weight", heads, width, 0.02});
    parameters.push_back({Parameter::zero, "bias", 1, heads});
  }
  std::unique_ptr<ContentTerm> content();

  int heads, width;
  std::vector<Parameter> parameters;
};

class ForgetGateTerm final : public ContentTerm {
 public:
  explicit ForgetGateTerm(ForgetGate& own) : weight_(own.parameters[0]), bias_(own.parameters[1]), H_(own.heads), d_(own.width) {}
  // Keeps the sums of tokens that have come already: a longer cache begins again without replaying them.
  bool begin(int length) override {
    const size_t size = size_t(length) * H_;
    return size <= sums_.size() || (sums_.resize(size) && dsums_.resize(size));
  }
  bool sequence(const Sequence& tokens) override {
    for (int t = tokens.offset; t < tokens.offset + tokens.count; t++) {
      for (int h = 0; h < H_; h++) {
        double z = gate(tokens, t, h), log_forget = z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z));
        sums_[at(t, h)] = (t ? sums_[at(t - 1, h)] : 0) + log_forget;
        dsums_[at(t, h)] = 0;
      }
    }
    return true;
  }

  void row(const Row& row, const float*, float* scores) override {
    const double here = sums_[at(row.query, row.head)];
    for (int j = row.first; j < row.last; j++) scores[j] += float(here - sums_[at(j, row.head)]);
  }
  void row_backward(const Row& row, const float*, const float* dscores, float*, float*) override {
    double total = 0;
    for (int j = row.first; j < row.last; j++) total += dscores[j], dsums_[at(j, row.head)] -= dscores[j];
    dsums_[at(row.query, row.head)] += total;
  }

  // c_t holds the gates of all l ≤ t, so gate l gets the sum of the gradients of c_t over t ≥ l.
  void sequence_backward(const Sequence& tokens, float* dx, float*, float*) override {
    for (int h = 0; h < H_; h++) {
      double later = 0;
      for (int n = tokens.count - 1; n >= 0; n--) {
        const int t = tokens.offset + n;
        later += dsums_[at(t, h)];
        float dz = float(later / (1 + std::exp(gate(tokens, t, h))));  // d ln σ(z) = 1 − σ(z)
        add_scaled(dz, tokens.x + size_t(n) * d_, weight_.gradient + size_t(h) * d_, d_);
        add_scaled(dz, weight_.value + size_t(h) * d_, dx + size_t(n) * d_, d_);
        bias_.gradient[h] += dz;
      }
    }
  }
  void end_backward() override {}

 private:
  size_t at(int token, int head) const { return size_t(token) * H_ + head; }
  double gate(const Sequence& tokens, int token, int head) const {
    return dot(tokens.x + size_t(token - tokens.offset) * d_, weight_.value + size_t(head) * d_, d_) + bias_.value[head];
  }
  Parameter &weight_, &bias_;
  int H_, d_;
  Buffer<double> sums_, dsums_;  // c and its gradient, [length][H]
};

std::unique_ptr<ContentTerm> ForgetGate::content() { return std::make_unique<ForgetGateTerm>(*this); }

}  // namespace

const Entry forget_gate_entry = entry<ForgetGate>();

}  // namespace lw

// Products of transformations along the path from a key to a query, PaTH (door: content). Yang et al. 2025, arXiv:2505.16381.
//   s_ij = q_iᵀ H_i H_{i−1} ⋯ H_{j+1} k_j/√D,  H_t = I − β_t w_t w_tᵀ,  w_t = W x_t/‖W x_t‖,  β_t = 2·σ(u·x_t + b)
// β up to 2: H_t may forget (β = 1) or reflect (β = 2) what lies along w_t. This replaces q·k. W [kv heads · D][d] and
// u [kv heads][d] start N(0, 0.02), b [kv heads] at zero; one set for each layer. Causal only. W is a plain linear map: the
// low rank of W and the short convolution over t, which the authors switch on to save parameters and to gain some loss,
// are left out. A row carries one vector, H_{j+1} ⋯ H_i q_i, from the query to its first key: O(T·D).
#include <cmath>

#include "position/catalogue.h"
#include "position/content.h"

namespace lw {
namespace {

struct Path {
  static constexpr Descriptor descriptor{
      .name = "path", .title = "Householder paths (PaTH)", .title_zh = "Householder 路径（PaTH）",
      .paper = "Yang et al. 2025, PaTH Attention: Position Encoding via Accumulating Householder Transformations, arXiv:2505.16381",
      .doors = unsigned(Door::content), .options = {}, .past = Past::degrades,
      .past_note = "Longer paths multiply more transformations than were ever trained together.",
      .past_note_zh = "路径越长，相乘的变换越多，超出训练时的范围。",
      .differs = "The authors' code gives W a low rank and adds a short convolution over tokens; both are left out here.",
      .differs_zh = "作者的代码让 W 低秩，并加一个沿词元的短卷积；这里两者都没有。",
      .causal_only = true, .per_layer = true, .reads_input = true};

  Path(const Options&, const Shape& s) : shape(s) {
    parameters.push_back({Parameter::normal, "direction", s.kv_heads * s.head_dim, s.width, 0.02});
    parameters.push_back({Parameter::normal, "strength", s.kv_heads, s.width, 0.02});
    parameters.push_back({Parameter::zero, "strength_bias", 1, s.kv_heads});
  }
  float score_scale() const { return 0; }
  std::unique_ptr<ContentTerm> content();

  Shape shape;
  std::vector<Parameter> parameters;
};

class PathTerm final : public ContentTerm {
 public:
  explicit PathTerm(Path& own)
      : direction_{&own.parameters[0], nullptr}, strength_{&own.parameters[1], &own.parameters[2]}, kv_heads_(own.shape.kv_heads),
        group_(own.shape.heads / kv_heads_), D_(own.shape.head_dim), d_(own.shape.width), scale_(1 / std::sqrt(float(D_))),
        k_(kv_heads_, group_, D_), w_(kv_heads_, group_, D_) {}
  bool begin(int length) override {
    return k_.begin(length) && w_.begin(length) && beta_.begin(length, kv_heads_) && sized(carried_, length, D_) && adjoint_.resize(D_);
  }
  bool sequence(const Sequence& tokens) override {
    k_.take(tokens, tokens.k, tokens.k_stride);
    for (int n = 0; n < tokens.count; n++) {
      const float* x = tokens.x + size_t(n) * d_;
      float *w = w_.fresh(tokens.offset + n), *beta = beta_.fresh(tokens.offset + n);
      for (int g = 0; g < kv_heads_; g++, w += D_) {
        const float factor = direction(x, g, w);
        for (int a = 0; a < D_; a++) w[a] *= factor;
        beta[g] = float(2 * sigmoid(strength_(x, g)));
      }
    }
    return true;
  }

  void row(const Row& row, const float*, float* scores) override {
    carry(row);
    for (int j = row.first; j < row.last; j++) scores[j] += scale_ * dot(carried(j), k_.value(j, row.head), D_);
  }
  // From the first key to the query: `adjoint` is the gradient of carried(j), which H_{j+1} takes on to carried(j + 1).
  void row_backward(const Row& row, const float*, const float* dscores, float*, float* dq) override {
    carry(row);
    adjoint_.fill(0);
    float* adjoint = adjoint_.data();
    for (int j = row.first; j <= row.query; j++) {
      if (j > row.first) {
        const float *w = w_.value(j, row.head), *from = carried(j);
        const float beta = beta_.value(j)[row.head / group_], along = dot(w, adjoint, D_), before = dot(w, from, D_);
        beta_.gradient(j)[row.head / group_] -= along * before;
        add_scaled(-beta * before, adjoint, w_.gradient(j, row.head), D_);
        add_scaled(-beta * along, from, w_.gradient(j, row.head), D_);
        add_scaled(-beta * along, w, adjoint, D_);
      }
      if (j >= row.last) continue;
      add_scaled(scale_ * dscores[j], k_.value(j, row.head), adjoint, D_);
      add_scaled(scale_ * dscores[j], carried(j), k_.gradient(j, row.head), D_);
    }
    add_scaled(1, adjoint, dq, D_);
  }

  void sequence_backward(const Sequence& tokens, float* dx, float*, float* dk) override {
    k_.give(tokens, dk, tokens.k_stride);
    for (int n = 0; n < tokens.count; n++) {
      const int t = tokens.offset + n;
      const float* x = tokens.x + size_t(n) * d_;
      for (int g = 0; g < kv_heads_; g++) {
        const float beta = beta_.value(t)[g], *w = w_.value(t, g * group_), *dw = w_.gradient(t, g * group_);
        strength_.backward(x, g, beta_.gradient(t)[g] * beta * (1 - beta / 2), dx + size_t(n) * d_);
        const float factor = direction(x, g, adjoint_.data()), along = dot(w, dw, D_);
        for (int a = 0; a < D_; a++) direction_.backward(x, g * D_ + a, factor * (dw[a] - along * w[a]), dx + size_t(n) * d_);
      }
    }
  }
  void end_backward() override {}

 private:
  // W x of one head; the factor that gives it length 1.
  float direction(const float* x, int g, float* out) const {
    for (int a = 0; a < D_; a++) out[a] = direction_(x, g * D_ + a);
    return 1 / std::sqrt(dot(out, out, D_) + 1e-6f);
  }
  float* carried(int token) { return &carried_[size_t(token) * D_]; }
  // carried(j) = H_{j+1} ⋯ H_i q_i for first ≤ j ≤ i.
  void carry(const Row& row) {
    std::copy_n(row.q, D_, carried(row.query));
    for (int j = row.query; j > row.first; j--) {
      const float* w = w_.value(j, row.head);
      std::copy_n(carried(j), D_, carried(j - 1));
      add_scaled(-beta_.value(j)[row.head / group_] * dot(w, carried(j), D_), w, carried(j - 1), D_);
    }
  }
  LinearMap direction_, strength_;
  int kv_heads_, group_, D_, d_;
  float scale_;
  HeadRows k_, w_;
  TokenRows<float> beta_;                // [length][kv heads]
  Buffer<float> carried_, adjoint_;      // one row's vectors [length][D], and [D]
};

std::unique_ptr<ContentTerm> Path::content() { return std::make_unique<PathTerm>(*this); }

}  // namespace

const Entry path_entry = entry<Path>();

}  // namespace lw

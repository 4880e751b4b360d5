// Relative vectors on keys and values (doors: content, value). Shaw et al. 2018, arXiv:1803.02155.
//   e_ij = q_i·(k_j + aK[r])/√D,  z_i = Σ_j α_ij (v_j + aV[r]),  r = clip(j − i, −K, K) + K
// Tables [2K+1][D] shared by the heads of a layer, one pair for each layer, initialised N(0, 0.02). clip K 1 … 4096.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"
#include "position/vectors.h"

namespace lw {
namespace {

struct Shaw {
  static constexpr Option options[] = {
      {Option::integer, "clip", 16, 1, 4096, nullptr, "Distances beyond this share a vector.",
       "超过此距离的位置共用同一个向量。"}};
  static constexpr Descriptor descriptor{
      .name = "shaw", .title = "Relative vectors (Shaw)", .title_zh = "相对位置向量（Shaw）",
      .paper = "Shaw et al. 2018, Self-Attention with Relative Position Representations, arXiv:1803.02155",
      .doors = Door::content | Door::value, .options = options, .past = Past::degrades,
      .past_note = "Distances past the clip share a vector, so that far keys are no longer told apart.",
      .past_note_zh = "超过截断距离后共用同一个向量，远处的键不再有区别。",
      .differs =
          "BERT's relative_key in Hugging Face has the term on keys alone, without the one on values, and clips only at "
          "the longest length.",
      .differs_zh = "Hugging Face 中 BERT 的 relative_key 只有键上的项，没有值上的项，并且只在最大长度处截断。",
      .per_layer = true, .counts_tokens = true};

  Shaw(const Options& o, const Shape& s) : clip(o.integer("clip")), head_dim(s.head_dim) {
    parameters.push_back({Parameter::normal, "keys", 2 * clip + 1, head_dim, 0.02});
    parameters.push_back({Parameter::normal, "values", 2 * clip + 1, head_dim, 0.02});
  }
  std::unique_ptr<ContentTerm> content();

  int clip, head_dim;
  std::vector<Parameter> parameters;
};

class ShawTerm final : public ContentTerm {
 public:
  explicit ShawTerm(Shaw& own)
      : own_(own), keys_(own.parameters[0]), values_(own.parameters[1]), D_(own.head_dim), scale_(1 / std::sqrt(float(D_))) {}
  bool begin(int) override { return true; }
  bool sequence(const Sequence&) override { return true; }

  void row(const Row& row, const float*, float* scores) override {
    each_vector(row, [&](int r, int first, int last) {
      float term = dot(row.q, keys_.value + size_t(r) * D_, D_) * scale_;
      for (int j = first; j < last; j++) scores[j] += term;
    });
  }
  void row_backward(const Row& row, const float*, const float* dscores, float*, float* dq) override {
    each_vector(row, [&](int r, int first, int last) {
      float dterm = sum(dscores, first, last) * scale_;
      add_scaled(dterm, keys_.value + size_t(r) * D_, dq, D_);
      add_scaled(dterm, row.q, keys_.gradient + size_t(r) * D_, D_);
    });
  }

  void read(const Row& row, const float* weights, float* out) override {
    each_vector(row, [&](int r, int first, int last) { add_scaled(sum(weights, first, last), values_.value + size_t(r) * D_, out, D_); });
  }
  void read_backward(const Row& row, const float* weights, const float* dout, float* dweights) override {
    each_vector(row, [&](int r, int first, int last) {
      float dweight = dot(dout, values_.value + size_t(r) * D_, D_);
      for (int j = first; j < last; j++) dweights[j] += dweight;
      add_scaled(sum(weights, first, last), dout, values_.gradient + size_t(r) * D_, D_);
    });
  }

  void sequence_backward(const Sequence&, float*, float*, float*) override {}
  void end_backward() override {}

 private:
  // f(r, first, last): vector r belongs to the keys first ≤ j < last. Only the two ends serve more than one key.
  template <class F>
  void each_vector(const Row& row, F f) const {
    const int K = own_.clip, i = row.query;
    for (int j = row.first; j < row.last;) {
      int r = std::clamp(j - i, -K, K), next = r == -K ? i - K + 1 : r == K ? row.last : j + 1;
      f(r + K, j, std::min(next, row.last));
      j = next;
    }
  }
  static float sum(const float* x, int first, int last) {
    float total = 0;
    for (int j = first; j < last; j++) total += x[j];
    return total;
  }
  Shaw& own_;
  Parameter &keys_, &values_;
  int D_;
  float scale_;
};

std::unique_ptr<ContentTerm> Shaw::content() { return std::make_unique<ShawTerm>(*this); }

}  // namespace

const Entry shaw_entry = entry<Shaw>();

}  // namespace lw

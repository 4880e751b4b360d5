// Disentangled attention (door: content). He et al. 2021, DeBERTa, arXiv:2006.03654.
//   s_ij = (q_i·k_j + q_i·Kr[δ(i, j)] + k_j·Qr[δ(j, i)])/√(3D),  δ(i, j) = clip(i − j + K, 0, 2K − 1)
// Kr, Qr [2K][H·D] start N(0, 0.02), one pair for each layer. They are the paper's products P·W_k,r and P·W_q,r of position
// vectors and projections, multiplied out: with projections of their own, as in the paper's base form, both learn the
// same. (Sharing the projections of content, as later versions do, would need the model's weights.) Both directions;
// K 1 … 4096. The authors' code takes Qr[δ(i, j)]: the same table read backwards.
#include <cmath>

#include "position/catalogue.h"
#include "position/content.h"

namespace lw {
namespace {

struct Deberta {
  static constexpr Option options[] = {
      {Option::integer, "clip", 32, 1, 4096, nullptr, "K: distances from here on share a vector.", "K：从此距离起共用同一个向量。"}};
  static constexpr Descriptor descriptor{
      .name = "deberta", .title = "Disentangled attention (DeBERTa)", .title_zh = "解耦注意力（DeBERTa）",
      .paper = "He et al. 2021, DeBERTa: Decoding-enhanced BERT with Disentangled Attention, arXiv:2006.03654",
      .doors = unsigned(Door::content), .options = options, .past = Past::degrades,
      .past_note = "Distances past the clip share a vector, so that far keys are no longer told apart.",
      .past_note_zh = "超过截断距离后共用同一个向量，远处的键不再有区别。",
      .differs =
          "Versions 2 and 3 can share the projections of content and put distances into logarithmic buckets. The authors' "
          "code takes Qr[δ(i, j)]: the same table read backwards.",
      .differs_zh = "第 2、3 版可以共用内容的投影，并把距离分进对数桶。作者的代码取 Qr[δ(i, j)]：同一张表，反向读取。",
      .per_layer = true, .counts_tokens = true};

  Deberta(const Options& o, const Shape& s) : clip(o.integer("clip")), shape(s) {
    parameters.push_back({Parameter::normal, "keys", 2 * clip, s.heads * s.head_dim, 0.02});
    parameters.push_back({Parameter::normal, "queries", 2 * clip, s.heads * s.head_dim, 0.02});
  }
  float score_scale() const { return 1 / std::sqrt(3 * float(shape.head_dim)); }
  std::unique_ptr<ContentTerm> content();

  int clip;
  Shape shape;
  std::vector<Parameter> parameters;
};

class DebertaTerm final : public ContentTerm {
 public:
  explicit DebertaTerm(Deberta& own)
      : keys_(own.parameters[0]), queries_(own.parameters[1]), clip_(own.clip), D_(own.shape.head_dim), scale_(own.score_scale()),
        k_(own.shape.kv_heads, own.shape.heads / own.shape.kv_heads, D_) {}
  bool begin(int length) override { return k_.begin(length); }
  bool sequence(const Sequence& tokens) override { return k_.take(tokens, tokens.k, tokens.k_stride), true; }

  void row(const Row& row, const float*, float* scores) override {
    for (int j = row.first; j < row.last; j++) {
      const size_t key = place(row.query - j, row.head), query = place(j - row.query, row.head);
      scores[j] += scale_ * (dot(row.q, keys_.value + key, D_) + dot(k_.value(j, row.head), queries_.value + query, D_));
    }
  }
  void row_backward(const Row& row, const float*, const float* dscores, float*, float* dq) override {
    for (int j = row.first; j < row.last; j++) {
      const size_t key = place(row.query - j, row.head), query = place(j - row.query, row.head);
      const float g = scale_ * dscores[j];
      add_scaled(g, keys_.value + key, dq, D_);
      add_scaled(g, row.q, keys_.gradient + key, D_);
      add_scaled(g, queries_.value + query, k_.gradient(j, row.head), D_);
      add_scaled(g, k_.value(j, row.head), queries_.gradient + query, D_);
    }
  }

  void sequence_backward(const Sequence& tokens, float*, float*, float* dk) override { k_.give(tokens, dk, tokens.k_stride); }
  void end_backward() override {}

 private:
  // Where the head's vector of a distance begins in a table.
  size_t place(int distance, int head) const {
    return size_t(std::clamp(distance + clip_, 0, 2 * clip_ - 1)) * keys_.columns + size_t(head) * D_;
  }
  Parameter &keys_, &queries_;
  int clip_, D_;
  float scale_;
  HeadRows k_;
};

std::unique_ptr<ContentTerm> Deberta::content() { return std::make_unique<DebertaTerm>(*this); }

}  // namespace

const Entry deberta_entry = entry<Deberta>();

}  // namespace lw

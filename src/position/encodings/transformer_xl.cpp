// Relative positions of Transformer-XL (door: content). Dai et al. 2019, arXiv:1901.02860.
//   s_ij = ((q_i + u)·k_j + (q_i + v)·W_R R[Δ])/√D,  R[Δ] = [sin ‖ cos](Δ·10000^(−2k/d)), Δ = i − j
// u, v [H][D] start N(0, 0.02), W_R [H·D][d] N(0, 1/d); one set for each layer. clamp_len 0 … 2²⁴: larger |Δ| count as that,
// 0: none do. Without a causal mask Δ is also negative.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"
#include "position/content.h"
#include "position/waves.h"

namespace lw {
namespace {

struct TransformerXl {
  static constexpr Option options[] = {
      {Option::integer, "clamp_len", 0, 0, 1 << 24, nullptr, "Larger distances count as this one; 0: no limit.",
       "更大的距离按此值处理；0 表示不限制。"}};
  static constexpr Descriptor descriptor{
      .name = "transformer_xl", .title = "Transformer-XL", .title_zh = "Transformer-XL 相对编码",
      .paper = "Dai et al. 2019, Transformer-XL: Attentive Language Models beyond a Fixed-Length Context, arXiv:1901.02860",
      .doors = unsigned(Door::content), .options = options, .past = Past::degrades,
      .past_note = "Defined for every distance, but far ones were never trained; clamp_len lets them share one.",
      .past_note_zh = "对任意距离都有定义，但远距离未经训练；可用 clamp_len 让它们共用一个距离。",
      .differs =
          "The authors' code finds distances by padding and reshaping; without a causal mask that puts scores of other "
          "queries above the diagonal, and ports disagreed about the row to drop. Here distances are looked up directly.",
      .differs_zh = "作者的代码用填充加变形的办法得到距离；没有因果掩码时，对角线以上会混入其他查询的分数，移植版对应去掉哪一行也说法不一。这里直接按距离查找。",
      .per_layer = true, .counts_tokens = true};

  TransformerXl(const Options& o, const Shape& s) : clamp(o.integer("clamp_len")), shape(s) {
    parameters.push_back({Parameter::normal, "u", s.heads, s.head_dim, 0.02});
    parameters.push_back({Parameter::normal, "v", s.heads, s.head_dim, 0.02});
    parameters.push_back({Parameter::normal, "relative", s.heads * s.head_dim, s.width, 1 / std::sqrt(double(s.width))});
  }
  std::unique_ptr<ContentTerm> content();

  int clamp;
  Shape shape;
  std::vector<Parameter> parameters;
};

class TransformerXlTerm final : public ContentTerm {
 public:
  explicit TransformerXlTerm(TransformerXl& own)
      : u_(own.parameters[0]), v_(own.parameters[1]), relative_(own.parameters[2]), shape_(own.shape), clamp_(own.clamp),
        H_(own.shape.heads), D_(own.shape.head_dim), d_(own.shape.width), scale_(1 / std::sqrt(float(D_))), waves_(10000, d_, Waves::sines_first) {}

  // The tables by distance: R and, for each head, W_R R. Products u·k of tokens that have come already are kept.
  bool begin(int length) override {
    const int reach = clamp_ ? std::min(clamp_, length - 1) : length - 1, planned = distances_;
    lowest_ = shape_.causal ? 0 : -reach, distances_ = reach - lowest_ + 1;
    if (!sized(sinusoids_, distances_, d_) || !sized(table_, distances_, H_ * D_) || !sized(dtable_, distances_, H_ * D_) ||
        !query_.resize(D_) || !products_.begin(length, H_))
      return distances_ = 0, false;
    dtable_.fill(0);
    if (distances_ != planned) {
      std::fill(sinusoids_.begin(), sinusoids_.end(), 0.f);
      for (int m = 0; m < distances_; m++) waves_.add(lowest_ + m, &sinusoids_[size_t(m) * d_]);
    }
    for (int h = 0; h < H_; h++)
      for (int m = 0; m < distances_; m++)
        for (int a = 0; a < D_; a++) entry(table_, h, m)[a] = dot(relative_.value + size_t(h * D_ + a) * d_, &sinusoids_[size_t(m) * d_], d_);
    return true;
  }
  bool sequence(const Sequence& tokens) override {
    for (int n = 0; n < tokens.count; n++) {
      float* products = products_.fresh(tokens.offset + n);
      for (int h = 0; h < H_; h++) products[h] = dot(u_.value + h * D_, tokens.k + key(tokens, n, h), D_);
    }
    return true;
  }

  void row(const Row& row, const float*, float* scores) override {
    moved_query(row);
    for (int j = row.first; j < row.last; j++)
      scores[j] += scale_ * (products_.value(j)[row.head] + dot(query_.data(), entry(table_, row.head, place(row.query - j)), D_));
  }
  void row_backward(const Row& row, const float*, const float* dscores, float*, float* dq) override {
    moved_query(row);
    for (int j = row.first; j < row.last; j++) {
      const float g = scale_ * dscores[j];
      const int m = place(row.query - j);
      products_.gradient(j)[row.head] += g;
      add_scaled(g, entry(table_, row.head, m), dq, D_);
      add_scaled(g, entry(table_, row.head, m), v_.gradient + row.head * D_, D_);
      add_scaled(g, query_.data(), entry(dtable_, row.head, m), D_);
    }
  }

  void sequence_backward(const Sequence& tokens, float*, float*, float* dk) override {
    for (int n = 0; n < tokens.count; n++)
      for (int h = 0; h < H_; h++) {
        const float g = products_.gradient(tokens.offset + n)[h];
        add_scaled(g, u_.value + h * D_, dk + key(tokens, n, h), D_);
        add_scaled(g, tokens.k + key(tokens, n, h), u_.gradient + h * D_, D_);
      }
  }
  void end_backward() override {
    for (int h = 0; h < H_; h++)
      for (int m = 0; m < distances_; m++)
        for (int a = 0; a < D_; a++)
          add_scaled(entry(dtable_, h, m)[a], &sinusoids_[size_t(m) * d_], relative_.gradient + size_t(h * D_ + a) * d_, d_);
  }

 private:
  int place(int distance) const { return std::clamp(distance, lowest_, lowest_ + distances_ - 1) - lowest_; }
  float* entry(Buffer<float>& table, int head, int m) { return &table[(size_t(head) * distances_ + m) * D_]; }
  ptrdiff_t key(const Sequence& tokens, int n, int head) const { return n * tokens.k_stride + head / (H_ / shape_.kv_heads) * D_; }
  void moved_query(const Row& row) {
    for (int a = 0; a < D_; a++) query_[a] = row.q[a] + v_.value[row.head * D_ + a];
  }
  Parameter &u_, &v_, &relative_;
  const Shape& shape_;
  int clamp_, H_, D_, d_;
  float scale_;
  int lowest_ = 0, distances_ = 0;
  Waves waves_;
  Buffer<float> sinusoids_;              // R [distance][d]
  Buffer<float> table_, dtable_;         // W_R R and its gradient, [H][distance][D]
  TokenRows<float> products_;            // u·k [token][H]
  Buffer<float> query_;                  // q + v
};

std::unique_ptr<ContentTerm> TransformerXl::content() { return std::make_unique<TransformerXlTerm>(*this); }

}  // namespace

const Entry transformer_xl_entry = entry<TransformerXl>();

}  // namespace lw

// Data-adaptive biases, DAPE (door: content). Zheng et al. 2024, arXiv:2405.14722.
//   score = X + B + MLP([X; B]),  X = q·k/√D and B = −m_h·|i − j| of all heads,  MLP 2H → hidden → H with leaky ReLU
// The same small network reads the scores of all heads at each pair of tokens. B has the slopes of alibi (the paper also
// takes KERPLE and FIRE); the stack's own bias, which comes after content, does not reach the network, nor does a rotation.
// Weights and biases start U(−1/√in, 1/√in), as the authors' code; one set for each layer. hidden 1 … 1024, 32 in the
// paper. A row needs the scores of all heads: O(H·T·D) for each of H heads. Memory O(T).
#include <cmath>

#include "position/catalogue.h"
#include "position/content.h"
#include "position/perceptron.h"
#include "position/slopes.h"

namespace lw {
namespace {

struct DataDependent {
  static constexpr Option options[] = {
      {Option::integer, "hidden", 32, 1, 1024, nullptr, "Units of the network's hidden layer.", "网络隐藏层的单元数。"}};
  static constexpr Descriptor descriptor{
      .name = "data_dependent", .title = "Data-adaptive biases (DAPE)", .title_zh = "数据自适应偏置（DAPE）",
      .paper = "Zheng et al. 2024, DAPE: Data-Adaptive Positional Encoding for Length Extrapolation, arXiv:2405.14722",
      .doors = unsigned(Door::content), .options = options, .past = Past::degrades,
      .past_note = "Far keys fade out as with ALiBi, but the network meets biases larger than any in training.",
      .past_note_zh = "远处的键像 ALiBi 一样淡出，但网络会遇到训练中未见过的大偏置。",
      .differs = "The paper also takes the biases of KERPLE and FIRE in the place of ALiBi's.",
      .differs_zh = "论文也用 KERPLE 和 FIRE 的偏置代替 ALiBi 的偏置。",
      .per_layer = true, .counts_tokens = true, .makes_scores = true};

  DataDependent(const Options& o, const Shape& s)
      : shape(s), slopes(alibi_slopes(s.heads)), network({2 * s.heads, o.integer("hidden"), s.heads}, Perceptron::leaky_relu, parameters) {}
  std::unique_ptr<ContentTerm> content();

  Shape shape;
  std::vector<double> slopes;
  std::vector<Parameter> parameters;
  Perceptron network;
};

class DataDependentTerm final : public ContentTerm {
 public:
  explicit DataDependentTerm(DataDependent& own)
      : own_(own), H_(own.shape.heads), D_(own.shape.head_dim), scale_(1 / std::sqrt(float(D_))), q_(H_, 1, D_),
        k_(own.shape.kv_heads, H_ / own.shape.kv_heads, D_) {}
  bool begin(int length) override {
    length_ = length;
    return q_.begin(length) && k_.begin(length) && sized(features_, 2 * H_, length) && sized(dfeatures_, 2 * H_, length) && sized(out_, H_, length);
  }
  bool sequence(const Sequence& tokens) override {
    q_.take(tokens, tokens.q, tokens.q_stride), k_.take(tokens, tokens.k, tokens.k_stride);
    return true;
  }

  void row(const Row& row, const float*, float* scores) override {
    gather(row);
    own_.network.forward(&features_[row.first], length_, row.last - row.first, &out_[row.first], length_);
    const float *bias = feature(H_ + row.head), *change = &out_[size_t(row.head) * length_];
    for (int j = row.first; j < row.last; j++) scores[j] += bias[j] + change[j];
  }
  // Through the network a row of one head reaches the queries and keys of all heads.
  void row_backward(const Row& row, const float*, const float* dscores, float*, float*) override {
    gather(row);
    out_.fill(0);
    std::copy(dscores + row.first, dscores + row.last, &out_[size_t(row.head) * length_ + row.first]);
    own_.network.backward(&features_[row.first], length_, row.last - row.first, &out_[row.first], length_, &dfeatures_[row.first]);
    for (int h = 0; h < H_; h++)
      for (int j = row.first; j < row.last; j++) {
        const float g = scale_ * dfeatures_[size_t(h) * length_ + j];
        add_scaled(g, k_.value(j, h), q_.gradient(row.query, h), D_);
        add_scaled(g, q_.value(row.query, h), k_.gradient(j, h), D_);
      }
  }

  void sequence_backward(const Sequence& tokens, float*, float* dq, float* dk) override {
    q_.give(tokens, dq, tokens.q_stride), k_.give(tokens, dk, tokens.k_stride);
  }
  void end_backward() override {}

 private:
  float* feature(int n) { return &features_[size_t(n) * length_]; }
  // X and B of the row in all heads.
  void gather(const Row& row) {
    for (int h = 0; h < H_; h++)
      for (int j = row.first; j < row.last; j++) {
        feature(h)[j] = scale_ * dot(q_.value(row.query, h), k_.value(j, h), D_);
        feature(H_ + h)[j] = float(-own_.slopes[h] * std::abs(row.query - j));
      }
  }
  DataDependent& own_;
  int H_, D_, length_ = 0;
  float scale_;
  HeadRows q_, k_;
  Buffer<float> features_, dfeatures_, out_;  // of one row: [2H][length], likewise, and [H][length]
};

std::unique_ptr<ContentTerm> DataDependent::content() { return std::make_unique<DataDependentTerm>(*this); }

}  // namespace

const Entry data_dependent_entry = entry<DataDependent>();

}  // namespace lw

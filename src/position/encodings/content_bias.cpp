// A bias read from the layer's input (door: content): how much a token is worth being looked at, wherever it stands.
//   score_ij += c_i + c_j,  c_t = w_h·x_t
// c_i is the same for all keys of a row and cancels in softmax; so would a constant in c, and w has none. c_j is the global
// content bias u·k_j of Transformer-XL (Dai et al. 2019, arXiv:1901.02860) with a map of its own in the place of u·W_k.
// w [H][d] starts N(0, 0.02), one for each layer. It holds no position and works in both directions. Memory O(T).
#include "position/catalogue.h"
#include "position/content.h"

namespace lw {
namespace {

struct ContentBias {
  static constexpr Descriptor descriptor{
      .name = "content_bias", .title = "Content bias", .title_zh = "内容偏置",
      .paper = "Dai et al. 2019, Transformer-XL: Attentive Language Models beyond a Fixed-Length Context, arXiv:1901.02860 (its global content bias)",
      .doors = unsigned(Door::content), .options = {}, .past = Past::same,
      .past_note = "Depends on what a token is, not on where it stands; by itself it carries no position.",
      .past_note_zh = "只取决于词元内容，与位置无关；单独使用时不含任何位置信息。",
      .per_layer = true, .reads_input = true};

  ContentBias(const Options&, const Shape& s) : heads(s.heads) {
    parameters.push_back({Parameter::normal, "weight", heads, s.width, 0.02});
  }
  std::unique_ptr<ContentTerm> content();

  int heads;
  std::vector<Parameter> parameters;
};

class ContentBiasTerm final : public ContentTerm {
 public:
  explicit ContentBiasTerm(ContentBias& own) : map_{&own.parameters[0], nullptr}, H_(own.heads), d_(own.parameters[0].columns) {}
  bool begin(int length) override { return worth_.begin(length, H_); }
  bool sequence(const Sequence& tokens) override {
    for (int n = 0; n < tokens.count; n++) {
      float* worth = worth_.fresh(tokens.offset + n);
      for (int h = 0; h < H_; h++) worth[h] = map_(tokens.x + size_t(n) * d_, h);
    }
    return true;
  }

  void row(const Row& row, const float*, float* scores) override {
    const float here = worth_.value(row.query)[row.head];
    for (int j = row.first; j < row.last; j++) scores[j] += here + worth_.value(j)[row.head];
  }
  void row_backward(const Row& row, const float*, const float* dscores, float*, float*) override {
    float total = 0;
    for (int j = row.first; j < row.last; j++) total += dscores[j], worth_.gradient(j)[row.head] += dscores[j];
    worth_.gradient(row.query)[row.head] += total;
  }

  void sequence_backward(const Sequence& tokens, float* dx, float*, float*) override {
    for (int n = 0; n < tokens.count; n++)
      for (int h = 0; h < H_; h++)
        map_.backward(tokens.x + size_t(n) * d_, h, worth_.gradient(tokens.offset + n)[h], dx + size_t(n) * d_);
  }
  void end_backward() override {}

 private:
  LinearMap map_;
  int H_, d_;
  TokenRows<float> worth_;  // c [length][H]
};

std::unique_ptr<ContentTerm> ContentBias::content() { return std::make_unique<ContentBiasTerm>(*this); }

}  // namespace

const Entry content_bias_entry = entry<ContentBias>();

}  // namespace lw

// Contextual position encoding, CoPE (door: content). Golovneva et al. 2024, arXiv:2405.18719.
//   g_ij = σ(q_i·k_j/√D),  p_ij = min(Σ_{t=j..i} g_it, positions − 1)
//   score += (1 − w)·q_i·E[⌊p⌋] + w·q_i·E[⌊p⌋ + 1],  w = p − ⌊p⌋
// E [positions][D] shared by the heads of a layer, one for each layer, starts at zero. Causal only. positions 2 … 65536;
// unscaled: g_ij = σ(q_i·k_j). Gates of keys that a pattern hides between the first and the last seen one still count.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"
#include "position/vectors.h"

namespace lw {
namespace {

struct Cope {
  static constexpr Option options[] = {
      {Option::integer, "positions", 64, 2, 65536, nullptr,
       "Rows of the table: the farthest contextual position is one less.",
       "表的行数：最远的上下文位置为该值减一。"},
      {Option::flag, "unscaled", 0, 0, 1, nullptr, "Gates from q·k without the division by √D.", "门控使用未除以 √D 的 q·k。"}};
  static constexpr Descriptor descriptor{
      .name = "cope", .title = "Contextual positions (CoPE)", .title_zh = "上下文位置编码（CoPE）",
      .paper = "Golovneva et al. 2024, Contextual Position Encoding: Learning to Count What's Important, arXiv:2405.18719",
      .doors = unsigned(Door::content), .options = options, .past = Past::degrades,
      .past_note = "Counts stop at the end of the table; what lies farther shares the last position.",
      .past_note_zh = "计数到表尾为止，更远的内容共用最后一个位置。",
      .causal_only = true, .per_layer = true, .reads_scores = true};

  Cope(const Options& o, const Shape& s)
      : head_dim(s.head_dim), gate_scale(o.flag("unscaled") ? std::sqrt(float(s.head_dim)) : 1) {
    parameters.push_back({Parameter::zero, "table", o.integer("positions"), s.head_dim});
  }
  std::unique_ptr<ContentTerm> content();

  int head_dim;
  float gate_scale;
  std::vector<Parameter> parameters;
};

class CopeTerm final : public ContentTerm {
 public:
  explicit CopeTerm(Cope& own) : own_(own), table_(own.parameters[0]), D_(own.head_dim) {}
  bool begin(int length) override {
    return gate_.resize(length) && place_.resize(length) && q_table_.resize(table_.rows) && dq_table_.resize(table_.rows);
  }
  bool sequence(const Sequence&) override { return true; }

  void row(const Row& row, const float* raw, float* scores) override {
    count(row, raw);
    for (int j = row.first; j < row.last; j++) {
      int n = int(place_[j]);
      float w = float(place_[j] - n);
      scores[j] += (1 - w) * q_table_[n] + (w > 0 ? w * q_table_[n + 1] : 0);
    }
  }
  void row_backward(const Row& row, const float* raw, const float* dscores, float* draw, float* dq) override {
    const int rows = count(row, raw);
    std::fill_n(dq_table_.data(), rows, 0.f);
    double dgate = 0;  // gate t counts for all keys j ≤ t
    for (int j = row.first; j < row.last; j++) {
      int n = int(place_[j]);
      float w = float(place_[j] - n);
      dq_table_[n] += (1 - w) * dscores[j];
      if (place_[j] < table_.rows - 1) {
        dq_table_[n + 1] += w * dscores[j];
        dgate += double(dscores[j]) * (q_table_[n + 1] - q_table_[n]);
      }
      draw[j] += float(dgate * gate_[j] * (1 - gate_[j]) * own_.gate_scale);
    }
    for (int n = 0; n < rows; n++) {
      add_scaled(dq_table_[n], table_.value + size_t(n) * D_, dq, D_);
      add_scaled(dq_table_[n], row.q, table_.gradient + size_t(n) * D_, D_);
    }
  }

  void sequence_backward(const Sequence&, float*, float*, float*) override {}
  void end_backward() override {}

 private:
  // Gates, positions, and q·E for as many rows as can be needed; how many those are.
  int count(const Row& row, const float* raw) {
    const int rows = std::min(table_.rows, row.last - row.first + 2);
    for (int n = 0; n < rows; n++) q_table_[n] = dot(row.q, table_.value + size_t(n) * D_, D_);
    double position = 0, farthest = table_.rows - 1;
    for (int j = row.last - 1; j >= row.first; j--) {
      gate_[j] = 1 / (1 + std::exp(-raw[j] * own_.gate_scale));
      position += gate_[j];
      place_[j] = std::min(farthest, position);  // in this order: the farthest also where the position is NaN
    }
    return rows;
  }
  Cope& own_;
  Parameter& table_;
  int D_;
  Buffer<float> gate_;                  // [length]
  Buffer<double> place_;                // [length]
  Buffer<float> q_table_, dq_table_;    // [positions]
};

std::unique_ptr<ContentTerm> Cope::content() { return std::make_unique<CopeTerm>(*this); }

}  // namespace

const Entry cope_entry = entry<Cope>();

}  // namespace lw

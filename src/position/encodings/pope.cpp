// Polar coordinates, PoPE (door: content). Gopalakrishnan et al. 2025, arXiv:2509.10534.
//   s_ij = Σ_c softplus(q_c)·softplus(k_c)·cos((j − i)·θ_c + δ_c)/√D,  θ_c = base^(−c/D),  c = 0 … D − 1
// What a token is gives the length of each of D planar vectors, where it stands gives their angle: rope, whose angle
// content can move too, has D/2 of them. This replaces q·k. δ [H][D] is learned and kept in [−2π, 0], one for each layer;
// it starts at zero (for reaching past the trained length) or, start=uniform, anywhere in its range. base 1 … 10¹².
#include <cmath>
#include <numbers>

#include "position/catalogue.h"
#include "position/content.h"

namespace lw {
namespace {

constexpr double full_turn = 2 * std::numbers::pi;

struct Pope {
  static constexpr Option options[] = {
      {Option::number, "base", 10000, 1, 1e12, nullptr, "The slowest plane turns almost this many times slower than the first.",
       "最慢的平面比第一个平面慢近这么多倍。"},
      {Option::choice, "start", 0, 0, 1, "zero|uniform", "Where the learned offsets of the angles start.", "可学习的角度偏移从何处开始。"}};
  static constexpr Descriptor descriptor{
      .name = "pope", .title = "Polar coordinates (PoPE)", .title_zh = "极坐标位置编码（PoPE）",
      .paper = "Gopalakrishnan et al. 2025, Decoupling the \"What\" and \"Where\" With Polar Coordinate Positional Embeddings, arXiv:2509.10534",
      .doors = unsigned(Door::content), .options = options, .past = Past::degrades,
      .past_note = "Slow planes reach angles that were never trained; content does not move the angles, which helps.",
      .past_note_zh = "慢速平面会转到未训练过的角度；但内容不影响角度，因此退化较轻。",
      .per_layer = true, .counts_tokens = true};

  Pope(const Options& o, const Shape& s) : base(o["base"]), shape(s) {
    parameters.push_back({o.flag("start") ? Parameter::uniform : Parameter::zero, "offset", s.heads, s.head_dim, -full_turn, 0});
  }
  void project() {
    for (size_t i = 0; i < parameters[0].size(); i++)
      parameters[0].value[i] = std::clamp(parameters[0].value[i], float(-full_turn), 0.f);
  }
  float score_scale() const { return 0; }
  std::unique_ptr<ContentTerm> content();

  double base;
  Shape shape;
  std::vector<Parameter> parameters;
};

class PopeTerm final : public ContentTerm {
 public:
  explicit PopeTerm(Pope& own)
      : offset_(own.parameters[0]), kv_heads_(own.shape.kv_heads), D_(own.shape.head_dim), scale_(1 / std::sqrt(float(D_))),
        k_(kv_heads_, own.shape.heads / kv_heads_, 2 * D_) {
    for (int c = 0; c < D_; c++) speed_.push_back(std::pow(own.base, -double(c) / D_));
  }
  bool begin(int length) override { return k_.begin(length) && polar_.resize(2 * D_) && dpolar_.resize(2 * D_); }
  // Keys in their planes: (softplus(k)·cos jθ, softplus(k)·sin jθ).
  bool sequence(const Sequence& tokens) override {
    for (int n = 0; n < tokens.count; n++) {
      float* to = k_.fresh(tokens.offset + n);
      for (int c = 0; c < kv_heads_ * D_; c++, to += 2) {
        const double length = softplus(tokens.k[n * tokens.k_stride + c]), angle = (tokens.offset + n) * speed_[c % D_];
        to[0] = float(length * std::cos(angle)), to[1] = float(length * std::sin(angle));
      }
    }
    return true;
  }

  void row(const Row& row, const float*, float* scores) override {
    turn(row);
    for (int j = row.first; j < row.last; j++) scores[j] += dot(polar_.data(), k_.value(j, row.head), 2 * D_);
  }
  void row_backward(const Row& row, const float*, const float* dscores, float*, float* dq) override {
    turn(row);
    dpolar_.fill(0);
    for (int j = row.first; j < row.last; j++) {
      add_scaled(dscores[j], k_.value(j, row.head), dpolar_.data(), 2 * D_);
      add_scaled(dscores[j], polar_.data(), k_.gradient(j, row.head), 2 * D_);
    }
    for (int c = 0; c < D_; c++) {
      const double a = angle(row, c), dx = dpolar_[2 * c], dy = dpolar_[2 * c + 1];
      dq[c] += float(scale_ * sigmoid(row.q[c]) * (std::cos(a) * dx + std::sin(a) * dy));
      offset_.gradient[row.head * D_ + c] += float(polar_[2 * c + 1] * dx - polar_[2 * c] * dy);
    }
  }

  void sequence_backward(const Sequence& tokens, float*, float*, float* dk) override {
    for (int n = 0; n < tokens.count; n++) {
      const float* from = k_.gradient(tokens.offset + n, 0);
      for (int c = 0; c < kv_heads_ * D_; c++, from += 2) {
        const double angle = (tokens.offset + n) * speed_[c % D_];
        dk[n * tokens.k_stride + c] += float(sigmoid(tokens.k[n * tokens.k_stride + c]) * (std::cos(angle) * from[0] + std::sin(angle) * from[1]));
      }
    }
  }
  void end_backward() override {}

 private:
  double angle(const Row& row, int c) const { return row.query * speed_[c] - offset_.value[row.head * D_ + c]; }
  // The query in its planes, offset and 1/√D included.
  void turn(const Row& row) {
    for (int c = 0; c < D_; c++) {
      const double length = scale_ * softplus(row.q[c]), a = angle(row, c);
      polar_[2 * c] = float(length * std::cos(a)), polar_[2 * c + 1] = float(length * std::sin(a));
    }
  }
  Parameter& offset_;
  int kv_heads_, D_;
  float scale_;
  std::vector<double> speed_;      // θ
  HeadRows k_;                     // keys in their planes, [length][kv heads][2D]
  Buffer<float> polar_, dpolar_;   // the query's, [2D]
};

std::unique_ptr<ContentTerm> Pope::content() { return std::make_unique<PopeTerm>(*this); }

}  // namespace

const Entry pope_entry = entry<Pope>();

}  // namespace lw

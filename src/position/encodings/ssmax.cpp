// Scalable softmax (door: scale). Nakanishi 2025, arXiv:2501.19399.
//   scores of row i × (s_h·ln n_i + b_h), n_i: how many keys it may see; so e^score becomes n_i^(s_h·score)
// s_h and b_h are learned, for each layer and head. s starts at 1/mean(ln n, n = 1 … L) (0.168 for the paper's L = 1024), so
// that the mean factor is 1; b starts at 0 and is only there with bias=true. L ≥ 2. A row of one key has ln n = 0.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Ssmax {
  static constexpr Option options[] = {
      {Option::flag, "bias", 0, 0, 1, nullptr, "Learn a constant part of the factor too.", "同时学习因子中的常数项。"}};
  static constexpr Descriptor descriptor{
      .name = "ssmax", .title = "Scalable softmax (SSMax)", .title_zh = "可伸缩 softmax（SSMax）",
      .paper = "Nakanishi 2025, Scalable-Softmax Is Superior for Attention, arXiv:2501.19399",
      .doors = unsigned(Door::scale), .options = options, .past = Past::same,
      .past_note = "Each head learns how much sharper its attention gets as keys become more; without a bias it goes on by itself.",
      .past_note_zh = "每个头自行学习注意力随键数增多而变尖锐的程度；不带常数项时可自然延伸到更长输入。",
      .per_layer = true};

  Ssmax(const Options& o, const Shape& s) : heads_(s.heads) {
    parameters.push_back({Parameter::custom, "slope", 1, heads_});
    if (o.flag("bias")) parameters.push_back({Parameter::zero, "bias", 1, heads_});
    slope_ = s.trained_length / std::lgamma(s.trained_length + 1.0);
  }
  static Error check(const Options&, const Shape& s) {
    if (s.trained_length >= 2) return {};
    return {"trainedLength is " + std::to_string(s.trained_length) + "; allowed with ssmax: at least 2"};
  }
  void initialise(Random&) {
    for (int h = 0; h < heads_; h++) parameters[0].value[h] = float(slope_);
  }

  void scale(std::span<const int> seen, std::span<const double>, float* out) const {
    for (int h = 0; h < heads_; h++) {
      const double slope = parameters[0].value[h], bias = parameters.size() > 1 ? parameters[1].value[h] : 0;
      for (int n : seen) *out++ *= float(slope * log(n) + bias);
    }
  }
  void scale_backward(std::span<const int> seen, std::span<const double>, const float* gradient) {
    for (int h = 0; h < heads_; h++) {
      double slope = 0, bias = 0;
      for (int n : seen) slope += *gradient * log(n), bias += *gradient++;
      parameters[0].gradient[h] += float(slope);
      if (parameters.size() > 1) parameters[1].gradient[h] += float(bias);
    }
  }

  std::vector<Parameter> parameters;

 private:
  static double log(int n) { return n ? std::log(double(n)) : 0; }  // a row that sees nothing stays finite
  int heads_;
  double slope_;
};

}  // namespace

const Entry ssmax_entry = entry<Ssmax>();

}  // namespace lw

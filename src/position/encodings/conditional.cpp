// Conditional positions, CPE/PEG (door: input, behind the first block). Chu et al. 2021, arXiv:2102.10882.
//   x_i ← x_i + b + Σ_{t=−1..1} w_t ⊙ x_{i+t}, a depthwise convolution over tokens with zeros beyond the ends; causal: t = −2 … 0
// Learned w [3][d] and b [d], uniform within ±1/√3 and zero. Where a sequence begins (or ends) is what tells tokens apart.
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Conditional {
  static constexpr Descriptor descriptor{
      .name = "conditional", .title = "Conditional positions (CPE)", .title_zh = "条件位置编码（CPE）",
      .paper = "Chu et al. 2021, Conditional Positional Encodings for Vision Transformers, arXiv:2102.10882",
      .doors = unsigned(Door::input), .options = {}, .past = Past::same,
      .past_note = "Made from each token's neighbours, which look the same at every length.",
      .past_note_zh = "由相邻词元生成，与总长度无关。",
      .differs =
          "The paper convolves image patches in the plane, 3 × 3, and leaves the class token out; here tokens stand in one "
          "line.",
      .differs_zh = "论文在图像块的平面上做 3 × 3 卷积，并跳过分类词元；这里的词元排成一行。"};

  Conditional(const Options&, const Shape& s) : d_(s.width), last_(s.causal ? 0 : 1) {
    parameters.push_back({Parameter::uniform, "weights", width, d_, -1 / std::sqrt(3.0), 1 / std::sqrt(3.0)});
    parameters.push_back({Parameter::zero, "bias", 1, d_});
  }

  int reach() const { return width - 1; }
  void mix(const float* x, int before, int count, float* y) const {
    for (int i = 0; i < count; i++)
      for (int c = 0; c < d_; c++) y[size_t(i) * d_ + c] += parameters[1].value[c];
    each_pair(before, count, [&](int t, size_t from, size_t to) {
      const float* w = parameters[0].value + t * d_;
      for (int c = 0; c < d_; c++) y[to + c] += w[c] * x[from + c];
    });
  }
  void mix_backward(const float* x, int count, const float* dy, float* dx) {
    for (int i = 0; i < count; i++)
      for (int c = 0; c < d_; c++) parameters[1].gradient[c] += dy[size_t(i) * d_ + c];
    each_pair(0, count, [&](int t, size_t from, size_t to) {
      const float* w = parameters[0].value + t * d_;
      float* dw = parameters[0].gradient + t * d_;
      for (int c = 0; c < d_; c++) dx[from + c] += w[c] * dy[to + c], dw[c] += x[from + c] * dy[to + c];
    });
  }

  std::vector<Parameter> parameters;

 private:
  static constexpr int width = 3;
  // f(t, from, to): weight t goes from row `from` of x to row `to` of y, both in floats.
  template <class F>
  void each_pair(int before, int count, F f) const {
    for (int i = 0; i < count; i++)
      for (int t = 0; t < width; t++) {
        const int from = before + i + t - (width - 1) + last_;
        if (from >= 0 && from < before + count) f(t, size_t(from) * d_, size_t(i) * d_);
      }
  }
  int d_, last_;
};

}  // namespace

const Entry conditional_entry = entry<Conditional>();

}  // namespace lw

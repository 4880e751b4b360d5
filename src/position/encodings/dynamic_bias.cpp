// A bias that a small network makes from the distance (door: bias). Wang et al. 2022, arXiv:2108.00154; the logarithm from
// Liu et al. 2022, arXiv:2111.09883.
//   bias_h(Δ) = MLP(x)_h,  x = Δ, or sign(Δ)·ln(|Δ| + 1)
// MLP 1 → w → w → H with SiLU, w = ⌈d/4⌉, shared by all layers; weights and biases start U(−1/√in, 1/√in).
#include <cmath>

#include "position/catalogue.h"
#include "position/perceptron.h"

namespace lw {
namespace {

struct DynamicBias {
  static constexpr Option options[] = {
      {Option::flag, "logarithm", 1, 0, 1, nullptr, "The network reads sign(Δ)·ln(|Δ| + 1); without it, the distance Δ itself.",
       "网络读取 sign(Δ)·ln(|Δ| + 1)；关闭时读取距离 Δ 本身。"}};
  static constexpr Descriptor descriptor{
      .name = "dynamic_bias", .title = "Bias from a small network", .title_zh = "由小网络给出的偏置",
      .paper = "Wang et al. 2022, CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale Attention, arXiv:2108.00154",
      .doors = unsigned(Door::bias), .options = options, .past = Past::degrades,
      .past_note = "The network is asked about distances that it never saw in training.",
      .past_note_zh = "网络会被问到训练中从未见过的距离。",
      .differs =
          "CrossFormer's network has layer norm and ReLU and reads distances in the plane; Swin v2's has one hidden layer "
          "of 512 and bounds its result by 16·sigmoid. Here it reads one distance, with SiLU.",
      .differs_zh =
          "CrossFormer 的网络带层归一化和 ReLU，输入是平面上的距离；Swin v2 的网络只有一个 512 宽的隐藏层，"
          "结果以 16·sigmoid 限界。这里只输入一个距离，激活函数为 SiLU。"};

  DynamicBias(const Options& o, const Shape& s)
      : logarithm_(o.flag("logarithm")),
        network_({1, (s.width + 3) / 4, (s.width + 3) / 4, s.heads}, Perceptron::silu, parameters) {}

  void bias(std::span<const double> distances, Heads out) {
    each_part(distances, [&](size_t first, const float* x, size_t count) {
      network_.forward(x, 0, count, out[0] + first, out.stride);
    });
  }
  void bias_backward(std::span<const double> distances, const float* gradient) {
    each_part(distances, [&](size_t first, const float* x, size_t count) {
      network_.backward(x, 0, count, gradient + first, distances.size(), nullptr);
    });
  }

  std::vector<Parameter> parameters;

 private:
  // f(first, x, count): what the network reads for some of the distances.
  template <class F>
  void each_part(std::span<const double> distances, F f) const {
    float x[256];
    for (size_t first = 0, count; first < distances.size(); first += count) {
      count = std::min(std::size(x), distances.size() - first);
      for (size_t m = 0; m < count; m++) {
        const double distance = distances[first + m];
        x[m] = float(logarithm_ ? std::copysign(std::log1p(std::fabs(distance)), distance) : distance);
      }
      f(first, x, count);
    }
  }
  bool logarithm_;
  Perceptron network_;
};

}  // namespace

const Entry dynamic_bias_entry = entry<DynamicBias>();

}  // namespace lw

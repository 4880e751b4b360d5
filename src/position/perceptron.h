// A small network inside an encoding: layers W·x + b with an activation between them, for many inputs at once, feature by
// feature. The encoding owns the parameters.
#pragma once
#include <algorithm>
#include <cmath>

#include "position/encoding.h"
#include "simd/simd.h"

namespace lw {

class Perceptron {
 public:
  enum Activation { relu, leaky_relu, silu };

  // widths: of the input, of each hidden layer, of the output. Appends weight [out][in] and bias [out] of each layer (at most
  // three) to `parameters`, which must outlive this; both start U(−1/√in, 1/√in).
  Perceptron(std::vector<int> widths, Activation activation, std::vector<Parameter>& parameters)
      : widths_(std::move(widths)), activation_(activation), parameters_(parameters), first_(parameters.size()) {
    const char* names[][2] = {{"weight1", "bias1"}, {"weight2", "bias2"}, {"weight3", "bias3"}};
    size_t cells = 0;
    for (int width : widths_) at_.push_back(cells), cells += size_t(width) * tile;
    for (size_t l = 0; l + 1 < widths_.size(); l++) {
      const double bound = 1 / std::sqrt(double(widths_[l]));
      parameters.push_back({Parameter::uniform, names[l][0], widths_[l + 1], widths_[l], -bound, bound});
      parameters.push_back({Parameter::uniform, names[l][1], 1, widths_[l + 1], -bound, bound});
    }
    sums_.resize(cells), active_.resize(cells), gradient_.resize(cells);
  }

  // y [out][n] = network of x [in][n]; strides: floats from feature to feature.
  void forward(const float* x, size_t x_stride, size_t n, float* y, size_t y_stride) {
    each_tile(n, [&](size_t first, size_t count) {
      run(x + first, x_stride, count);
      for (int o = 0; o < widths_.back(); o++)
        std::copy_n(&sums_[at_.back() + o * tile], count, y + o * y_stride + first);
    });
  }
  // dy [out][n] → gradients of the parameters (accumulated) and dx [in][n] (written, strides as of x; may be nullptr).
  void backward(const float* x, size_t x_stride, size_t n, const float* dy, size_t dy_stride, float* dx) {
    each_tile(n, [&](size_t first, size_t count) {
      run(x + first, x_stride, count);
      copy_in(dy + first, dy_stride, count, widths_.back(), gradient_.data() + at_.back());
      for (size_t l = widths_.size() - 1; l > 0; l--) layer_backward(l, l > 1 || dx);
      if (dx)
        for (int i = 0; i < widths_[0]; i++) std::copy_n(gradient_.data() + i * tile, count, dx + i * x_stride + first);
    });
  }

 private:
  using f32x4 = simd::f32x4;
  static constexpr size_t tile = 32, vectors = tile / 4;  // inputs at once: their sums stay in registers

  Parameter& weight(size_t layer) { return parameters_[first_ + 2 * (layer - 1)]; }
  Parameter& bias(size_t layer) { return parameters_[first_ + 2 * (layer - 1) + 1]; }

  template <class F>
  static void each_tile(size_t n, F f) {
    for (size_t first = 0; first < n; first += tile) f(first, std::min(tile, n - first));
  }
  // The first columns of x [features][stride] as a tile, zeros after them.
  static void copy_in(const float* x, size_t stride, size_t count, int features, float* out) {
    for (int i = 0; i < features; i++, out += tile) std::fill(std::copy_n(x + i * stride, count, out), out + tile, 0.f);
  }

  // Layer l's sums and active values, [width][tile] from at_[l] on; those of layer 0 are the input.
  void run(const float* x, size_t stride, size_t count) {
    copy_in(x, stride, count, widths_[0], active_.data());
    for (size_t l = 1; l < widths_.size(); l++) {
      layer_forward(l);
      if (l + 1 < widths_.size())
        for (size_t c = at_[l]; c < at_[l + 1]; c += 4) simd::store(&active_[c], activate(simd::load(&sums_[c])));
    }
  }
  void layer_forward(size_t l) {
    const float *w = weight(l).value, *b = bias(l).value, *x = active_.data() + at_[l - 1];
    float* out = sums_.data() + at_[l];
    for (int o = 0; o < widths_[l]; o++, out += tile) {
      f32x4 sum[vectors];
      for (auto& s : sum) s = simd::splat(b[o]);
      for (int i = 0; i < widths_[l - 1]; i++, w++) {
        const f32x4 factor = simd::splat(*w);
        for (size_t v = 0; v < vectors; v++) sum[v] = simd::madd(factor, simd::load(x + i * tile + 4 * v), sum[v]);
      }
      for (size_t v = 0; v < vectors; v++) simd::store(out + 4 * v, sum[v]);
    }
  }
  void layer_backward(size_t l, bool further) {
    const int in = widths_[l - 1], out = widths_[l];
    const float *w = weight(l).value, *x = active_.data() + at_[l - 1], *dy = gradient_.data() + at_[l];
    float* dx = gradient_.data() + at_[l - 1];
    for (int o = 0; o < out; o++) {
      f32x4 total = simd::zero();
      for (size_t v = 0; v < vectors; v++) total += simd::load(dy + o * tile + 4 * v);
      bias(l).gradient[o] += simd::sum(total);
    }
    for (int i = 0; i < in; i++, x += tile, dx += tile) {
      f32x4 sum[vectors];
      for (auto& s : sum) s = simd::zero();
      for (int o = 0; o < out; o++) {
        const f32x4 factor = simd::splat(w[o * in + i]);
        f32x4 dot = simd::zero();
        for (size_t v = 0; v < vectors; v++) {
          const f32x4 d = simd::load(dy + o * tile + 4 * v);
          sum[v] = simd::madd(factor, d, sum[v]), dot = simd::madd(d, simd::load(x + 4 * v), dot);
        }
        weight(l).gradient[o * in + i] += simd::sum(dot);
      }
      if (!further) continue;
      for (size_t v = 0; v < vectors; v++) {
        const size_t cell = at_[l - 1] + i * tile + 4 * v;
        simd::store(dx + 4 * v, l == 1 ? sum[v] : sum[v] * slope(simd::load(&sums_[cell])));
      }
    }
  }

  static f32x4 sigmoid(f32x4 x) { return simd::splat(1) / (simd::splat(1) + simd::exp(-x)); }
  f32x4 activate(f32x4 x) const {
    if (activation_ == silu) return x * sigmoid(x);
    return simd::select(simd::zero() < x, x, activation_ == relu ? simd::zero() : simd::splat(0.01f) * x);
  }
  f32x4 slope(f32x4 x) const {
    if (activation_ == silu) {
      const f32x4 s = sigmoid(x);
      return s * simd::madd(x, simd::splat(1) - s, simd::splat(1));
    }
    return simd::select(simd::zero() < x, simd::splat(1), simd::splat(activation_ == relu ? 0 : 0.01f));
  }

  std::vector<int> widths_;
  Activation activation_;
  std::vector<Parameter>& parameters_;
  size_t first_;
  std::vector<size_t> at_;                        // where each layer's tile begins
  std::vector<float> sums_, active_, gradient_;   // before and after the activation, and of the sums: [Σ widths][tile]
};

}  // namespace lw

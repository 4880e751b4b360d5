// A ReLU network with one hidden layer that reads one number is a broken line in that number: between two neighbouring
// kinks each output is slope·x + offset. Long rows of numbers cost one multiplication for each output that way.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "position/encoding.h"
#include "simd/simd.h"

namespace lw {

class BrokenLine {
 public:
  // network: weight [hidden][1], bias [hidden], weight [out][hidden], bias [out], as Perceptron has them. Rebuilds only what
  // the parameters have changed.
  void follow(std::span<const Parameter> network) {
    std::vector<float> now;
    for (const Parameter& p : network) now.insert(now.end(), p.value, p.value + p.size());
    if (now == kept_) return;
    kept_ = std::move(now);
    const int hidden = network[0].rows, out = network[2].rows;
    const float *w = network[0].value, *b = network[1].value;
    kinks_.clear(), pieces_.clear();
    for (int u = 0; u < hidden; u++) if (w[u] != 0) kinks_.push_back(-double(b[u]) / w[u]);
    std::sort(kinks_.begin(), kinks_.end());
    for (size_t n = 0; n <= kinks_.size(); n++) {
      const double low = n ? kinks_[n - 1] : kinks_.empty() ? 0 : kinks_[0] - 2, high = n < kinks_.size() ? kinks_[n] : low + 2;
      const double middle = (low + high) / 2;
      for (int o = 0; o < out; o++) {
        double slope = 0, offset = network[3].value[o];
        for (int u = 0; u < hidden; u++) {
          if (w[u] * middle + b[u] <= 0) continue;
          const double factor = network[2].value[o * hidden + u];
          slope += factor * w[u], offset += factor * b[u];
        }
        pieces_.push_back({float(slope), float(offset)});
      }
    }
    outputs_ = out;
  }

  // y [out][n] += network of x [n]; stride: floats from one output to the next.
  void forward(const float* x, size_t n, float* y, size_t stride) const {
    for (size_t m = 0, end; m < n; m = end) {
      const auto above = std::upper_bound(kinks_.begin(), kinks_.end(), x[m]);
      const double low = above == kinks_.begin() ? -INFINITY : above[-1], high = above == kinks_.end() ? INFINITY : *above;
      for (end = m + 1; end < n && low <= x[end] && x[end] < high;) end++;
      const Piece* piece = &pieces_[size_t(above - kinks_.begin()) * outputs_];
      for (size_t o = 0; o < outputs_; o++) {
        const simd::f32x4 slope = simd::splat(piece[o].slope), offset = simd::splat(piece[o].offset);
        float* out = y + o * stride;
        simd::each(end - m, [&](size_t i, auto at) {
          at.store(out + m + i, at.load(out + m + i) + simd::madd(slope, at.load(x + m + i), offset));
        });
      }
    }
  }

 private:
  struct Piece { float slope, offset; };
  std::vector<float> kept_;     // the parameters that the rest was made from
  std::vector<double> kinks_;   // rising
  std::vector<Piece> pieces_;   // [kinks + 1][out]
  size_t outputs_ = 0;
};

}  // namespace lw

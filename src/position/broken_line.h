// A ReLU network with one hidden layer that reads one number is a broken line in that number: between two neighbouring
// kinks each output is slope·x + offset. Long rows of numbers cost one multiplication for each output that way, and their
// gradient two sums for each piece, which then go to the parameters.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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
    if (!changed(network)) return;
    const size_t hidden = network[0].rows;
    outputs_ = network[2].rows;
    const float *w = network[0].value, *b = network[1].value;
    kinks_.clear(), units_.clear();
    for (size_t u = 0; u < hidden; u++) if (const float kink = -b[u] / w[u]; std::isfinite(kink)) kinks_.push_back(kink);
    std::sort(kinks_.begin(), kinks_.end());
    const size_t count = kinks_.size() + 1;
    for (size_t u = 0; u < hidden; u++) units_.push_back(active(w[u], b[u]));
    pieces_.assign(count * outputs_, {});
    for (size_t p = 0; p < count; p++)
      for (size_t o = 0; o < outputs_; o++) pieces_[p * outputs_ + o] = piece(network, p, o);
  }

  // y [out][n] = network of factor·x [n], factor > 0; stride: floats from one output to the next. Runs are short: the vectors
  // of one may reach into the next, which is written later.
  void forward(const float* x, float factor, size_t n, float* y, size_t stride) {
    runs_.clear();
    each_run(x, factor, n, [&](size_t p, size_t first, size_t count) { runs_.push_back({p * outputs_, first, first + count}); });
    size_t o = 0;
    for (; o + 8 <= outputs_; o += 8) draw<8>(o, x, factor, n, y + o * stride, stride);
    for (; o < outputs_; o++) draw<1>(o, x, factor, n, y + o * stride, stride);
  }

  // dy [out][n] → gradients of the network's parameters (accumulated) and dx [n] (written).
  void backward(std::span<Parameter> network, const float* x, size_t n, const float* dy, size_t stride, float* dx) {
    sums_.assign(outputs_ + pieces_.size(), {});
    Sum* sums = sums_.data() + outputs_;
    std::fill_n(dx, n, 0.f);
    each_run(x, 1, n, [&](size_t p, size_t first, size_t count) {
      for (size_t o = 0; o < outputs_; o++) {
        const simd::f32x4 slope = simd::splat(pieces_[p * outputs_ + o].slope);
        simd::f32x4 by_slope = simd::zero(), by_offset = simd::zero();
        simd::each(count, [&](size_t i, auto at) {
          const simd::f32x4 d = at.load(dy + o * stride + first + i);
          by_slope = simd::madd(d, at.load(x + first + i), by_slope), by_offset += d;
          at.store(dx + first + i, simd::madd(slope, d, at.load(dx + first + i)));
        });
        sums[p * outputs_ + o].slope += simd::sum(by_slope), sums[p * outputs_ + o].offset += simd::sum(by_offset);
      }
    });
    to_network(network);
  }

 private:
  // Outputs o … o + R − 1 of all runs.
  template <size_t R>
  void draw(size_t o, const float* x, float factor, size_t n, float* y, size_t stride) const {
    const size_t whole = n < 4 ? 0 : n - 3;  // where a vector may begin
    for (const Run& run : runs_) {
      const Piece* piece = &pieces_[run.piece + o];
      simd::f32x4 slope[R], offset[R];
      for (size_t i = 0; i < R; i++) slope[i] = simd::splat(piece[i].slope * factor), offset[i] = simd::splat(piece[i].offset);
      size_t m = run.first;
      for (const size_t last = std::min(run.end, whole); m < last; m += 4) {
        const simd::f32x4 at = simd::load(x + m);
        for (size_t i = 0; i < R; i++) simd::store(y + i * stride + m, simd::madd(slope[i], at, offset[i]));
      }
      for (; m < run.end; m++)
        for (size_t i = 0; i < R; i++) y[i * stride + m] = piece[i].slope * factor * x[m] + piece[i].offset;
    }
  }

  struct Piece { float slope = 0, offset = 0; };
  struct Sum { double slope = 0, offset = 0; };
  struct Run { size_t piece, first, end; };
  struct Unit { size_t from, to; };  // the pieces on which it is active

  bool changed(std::span<const Parameter> network) {
    uint32_t different = kept_.empty();
    const float* kept = kept_.data();
    for (size_t l = 0; l < network.size() && !different; kept += network[l++].size()) {
      const size_t size = network[l].size();
      const float* value = network[l].value;  // asked for each row of a table: no early end, so that it goes four at a time
      for (size_t n = 0; n < size; n++) different |= std::bit_cast<uint32_t>(value[n]) ^ std::bit_cast<uint32_t>(kept[n]);
    }
    if (!different) return false;
    kept_.clear();
    for (const Parameter& p : network) kept_.insert(kept_.end(), p.value, p.value + p.size());
    return true;
  }
  // A weight that is not finite spoils all pieces, as it would the network.
  Unit active(float w, float b) const {
    const float kink = -b / w;
    if (w == 0 && !(b > 0)) return {0, 0};
    if (!std::isfinite(kink)) return {0, kinks_.size() + 1};
    const auto [from, to] = std::equal_range(kinks_.begin(), kinks_.end(), kink);
    return w > 0 ? Unit{size_t(to - kinks_.begin()), kinks_.size() + 1} : Unit{0, size_t(from - kinks_.begin()) + 1};
  }
  Piece piece(std::span<const Parameter> network, size_t p, size_t o) const {
    double slope = 0, offset = network[3].value[o];
    for (size_t u = 0; u < units_.size(); u++) {
      if (p < units_[u].from || p >= units_[u].to) continue;
      const double factor = network[2].value[o * units_.size() + u];
      slope += factor * network[0].value[u], offset += factor * network[1].value[u];
    }
    return {float(slope), float(offset)};
  }

  // f(piece, first, count): neighbours that lie on one piece. (Where two pieces meet they agree: rounding decides nothing.)
  template <class F>
  void each_run(const float* x, float factor, size_t n, F f) const {
    for (size_t m = 0, end; m < n; m = end) {
      const auto above = std::upper_bound(kinks_.begin(), kinks_.end(), x[m] * factor);
      const float low = above == kinks_.begin() ? -INFINITY : above[-1] / factor, high = above == kinks_.end() ? INFINITY : *above / factor;
      end = m + 1;
      auto inside = [&](size_t m) { return simd::both(simd::splat(low) <= simd::load(x + m), simd::load(x + m) < simd::splat(high)); };
      while (end + 8 <= n && simd::all(simd::both(inside(end), inside(end + 4)))) end += 8;
      while (end < n && low <= x[end] && x[end] < high) end++;
      f(size_t(above - kinks_.begin()), m, end - m);
    }
  }

  // sums_, the gradients of the pieces after a row of zeros, become running totals: what a unit gathers is a difference.
  void to_network(std::span<Parameter> network) {
    const size_t hidden = units_.size(), O = outputs_;
    Sum* total = sums_.data();  // [pieces + 1][out]
    for (size_t n = O; n < sums_.size(); n++) total[n].slope += total[n - O].slope, total[n].offset += total[n - O].offset;
    for (size_t o = 0; o < O; o++) network[3].gradient[o] += float(total[pieces_.size() + o].offset);
    for (size_t u = 0; u < hidden; u++) {
      const Unit unit = units_[u];
      double dw = 0, db = 0;
      for (size_t o = 0; o < O; o++) {
        const Sum *from = total + unit.from * O + o, *to = total + unit.to * O + o;
        const double slope = to->slope - from->slope, offset = to->offset - from->offset;
        const float factor = network[2].value[o * hidden + u];
        network[2].gradient[o * hidden + u] += float(network[0].value[u] * slope + network[1].value[u] * offset);
        dw += factor * slope, db += factor * offset;
      }
      network[0].gradient[u] += float(dw), network[1].gradient[u] += float(db);
    }
  }

  std::vector<float> kept_;     // the parameters that the rest was made from
  std::vector<float> kinks_;    // rising
  std::vector<Unit> units_;
  std::vector<Piece> pieces_;   // [kinks + 1][out]
  std::vector<Run> runs_;       // of the numbers at hand
  std::vector<Sum> sums_;       // [1 + pieces][out]
  size_t outputs_ = 0;
};

}  // namespace lw

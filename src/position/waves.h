// The sines and cosines that sinusoidal tables are made of: those of one position at a time.
#pragma once
#include <cmath>
#include <vector>

#include "simd/simd.h"
#include "simd/sincos.h"

namespace lw {

class Waves {
 public:
  // Columns: a sine and a cosine of each frequency in turn, or all sines, then all cosines, then 0.
  enum Order { in_turn, sines_first };

  // d columns, 2F of F frequencies at most, and one more with sines first. Fewer: the first d.
  Waves(std::vector<double> frequencies, int d, Order order)
      : frequency_(std::move(frequencies)), d_(size_t(d)), order_(order), values_(2 * frequency_.size() + 1) {}
  // Those of p·base^(−2k/d).
  Waves(double base, int d, Order order) : Waves(std::vector<double>(size_t(d + 1) / 2), d, order) {
    for (int k = 0; k < count(); k++) frequency_[k] = std::pow(base, -2.0 * k / d);
  }

  int count() const { return int(frequency_.size()); }
  double frequency(int k) const { return frequency_[k]; }
  void frequency(int k, double value) {
    if (frequency_[k] != value) frequency_[k] = value, steps_.clear();
  }

  // The values at position p. Whole numbers are a multiple of `stride` and a rest, whose waves are known already.
  void at(double p) {
    const size_t F = frequency_.size();
    if (steps_.empty()) prepare();
    if (!(std::fabs(p) < 1e9) || p != std::floor(p)) {
      turn(p, anchor_.data());
      anchored_ = NAN;
      for (size_t i = 0; i < 2 * F; i++) values_[i] = float(anchor_[i]);
      return;
    }
    const double anchor = std::floor(p / stride) * stride;
    if (anchor != anchored_) turn(anchor, anchor_.data()), anchored_ = anchor;
    simd::add_angles(anchor_.data(), steps_.data() + size_t(p - anchor) * 2 * F, F, values_.data());
  }
  float sine(int k) const { return values_[k]; }
  float cosine(int k) const { return values_[count() + k]; }
  // out[c] += column c at position p.
  void add(double p, float* out) {
    at(p);
    const float *sines = values_.data(), *cosines = sines + count();
    if (order_ == sines_first) return simd::each(d_, [&](size_t c, auto some) { some.store(out + c, some.load(out + c) + some.load(sines + c)); });
    size_t c = 0;
    for (; c + 8 <= d_; c += 8) {
      simd::f32x4 a = simd::load(sines + c / 2), b = simd::load(cosines + c / 2);
      simd::zip(a, b);
      simd::store(out + c, simd::load(out + c) + a), simd::store(out + c + 4, simd::load(out + c + 4) + b);
    }
    for (; c < d_; c++) {
      const float* from = c % 2 ? cosines : sines;  // on a line of its own, for the sanitizers of g++
      out[c] += from[c / 2];
    }
  }

 private:
  static constexpr int stride = 32;

  void prepare() {
    const size_t F = frequency_.size();
    angles_.resize(F), anchor_.resize(2 * F), steps_.resize(stride * 2 * F), anchored_ = NAN;
    for (int n = 0; n < stride; n++) turn(n, steps_.data() + n * 2 * F);
  }
  // Sines, then cosines, of position p.
  void turn(double p, double* out) {
    for (int k = 0; k < count(); k++) angles_[k] = p * frequency_[k];
    simd::sincos(angles_.data(), frequency_.size(), out, out + count());
  }

  std::vector<double> frequency_;
  size_t d_;
  Order order_;
  std::vector<float> values_;             // sines, cosines, 0
  std::vector<double> angles_, anchor_;   // anchor_: sines and cosines of position anchored_
  std::vector<double> steps_;             // [stride] of those
  double anchored_ = NAN;
};

}  // namespace lw

// The sines and cosines that sinusoidal tables are made of: those of one position at a time.
#pragma once
#include <cmath>
#include <vector>

#include "simd/simd.h"
#include "simd/sincos.h"

namespace lw {

class Waves {
 public:
  // Interleaved: column 2k is the sine of p·base^(−2k/d), column 2k + 1 its cosine.
  Waves(double base, int d) : Waves(std::vector<double>((d + 1) / 2), std::vector<int>(d)) {
    for (int k = 0; k < count(); k++) frequency_[k] = std::pow(base, -2.0 * k / d);
    for (int c = 0; c < d; c++) place_[c] = c % 2 ? cosine(c / 2) : sine(c / 2);
    interleaved_ = true;
  }
  // place[c]: sine(k) or cosine(k) of frequency k, or none().
  Waves(std::vector<double> frequencies, std::vector<int> place)
      : frequency_(std::move(frequencies)), place_(std::move(place)), values_(2 * frequency_.size() + 1) {}

  int count() const { return int(frequency_.size()); }
  int sine(int k) const { return k; }
  int cosine(int k) const { return count() + k; }
  int none() const { return 2 * count(); }
  void place(int c, int value) { place_[c] = value, interleaved_ = false; }
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
  float value(int i) const { return values_[i]; }
  // out[c] += column c at position p.
  void add(double p, float* out) {
    at(p);
    size_t c = 0;
    if (interleaved_)
      for (; c + 8 <= place_.size(); c += 8) {
        simd::f32x4 a = simd::load(values_.data() + c / 2), b = simd::load(values_.data() + count() + c / 2);
        simd::zip(a, b);
        simd::store(out + c, simd::load(out + c) + a), simd::store(out + c + 4, simd::load(out + c + 4) + b);
      }
    for (; c < place_.size(); c++) out[c] += values_[place_[c]];
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
  std::vector<int> place_;
  bool interleaved_ = false;
  std::vector<float> values_;             // sines, cosines, 0
  std::vector<double> angles_, anchor_;   // anchor_: sines and cosines of position anchored_
  std::vector<double> steps_;             // [stride] of those
  double anchored_ = NAN;
};

// All sines, then all cosines, of the same frequencies.
inline Waves concatenated_waves(double base, int d) {
  Waves waves(base, d);
  for (int c = 0; c < d; c++) waves.place(c, c < waves.count() ? waves.sine(c) : waves.cosine(c - waves.count()));
  return waves;
}

}  // namespace lw

// The sines and cosines that sinusoidal tables are made of: those of one position at a time.
#pragma once
#include <cmath>
#include <vector>

#include "simd/sincos.h"

namespace lw {

class Waves {
 public:
  // Interleaved: column 2k is the sine of p·base^(−2k/d), column 2k + 1 its cosine.
  Waves(double base, int d) : Waves(std::vector<double>((d + 1) / 2), std::vector<int>(d)) {
    for (int k = 0; k < count(); k++) frequency[k] = std::pow(base, -2.0 * k / d);
    for (int c = 0; c < d; c++) place_[c] = c % 2 ? cosine(c / 2) : sine(c / 2);
  }
  // place[c]: sine(k) or cosine(k) of frequency k, or none().
  Waves(std::vector<double> frequencies, std::vector<int> place)
      : frequency(std::move(frequencies)), place_(std::move(place)), angles_(frequency.size()), values_(2 * frequency.size() + 1) {}

  int count() const { return int(frequency.size()); }
  int sine(int k) const { return k; }
  int cosine(int k) const { return count() + k; }
  int none() const { return 2 * count(); }
  void place(int c, int value) { place_[c] = value; }

  // The values at position p.
  void at(double p) {
    for (int k = 0; k < count(); k++) angles_[k] = p * frequency[k];
    simd::sincos(angles_.data(), frequency.size(), values_.data(), values_.data() + count());
  }
  float value(int i) const { return values_[i]; }
  // out[c] += column c at position p.
  void add(double p, float* out) {
    at(p);
    for (size_t c = 0; c < place_.size(); c++) out[c] += values_[place_[c]];
  }

  std::vector<double> frequency;  // may be changed

 private:
  std::vector<int> place_;
  std::vector<double> angles_;
  std::vector<float> values_;  // sines, cosines, 0
};

// All sines, then all cosines, of the same frequencies.
inline Waves concatenated_waves(double base, int d) {
  Waves waves(base, d);
  for (int c = 0; c < d; c++) waves.place(c, c < waves.count() ? waves.sine(c) : waves.cosine(c - waves.count()));
  return waves;
}

}  // namespace lw

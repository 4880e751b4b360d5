// What the rotary encodings share: options, how much of a head turns, and angles from frequencies.
#pragma once
#include <cmath>

#include "position/encoding.h"
#include "position/text.h"

namespace lw::rotary {

inline constexpr Option base_option{Option::number, "base", 10000, 1, 1e12, nullptr, "Larger: the slow pairs turn slower.",
                                    "越大，慢速维度对转得越慢。"};
inline constexpr Option pairing_option{Option::choice, "pairing", 0, 0, 1, "interleaved|half",
                                       "Which dimensions form a pair: (2k, 2k+1) or (k, k + half).",
                                       "哪些维度配成一对：(2k, 2k+1)，或 (k, k + 一半)。"};
inline constexpr Option fraction_option{Option::number, "fraction", 1, 0, 1, nullptr, "Share of the head's dimensions that turn.",
                                        "每个头中参与旋转的维度比例。"};
inline constexpr Option original_option{Option::integer, "original", 0, 0, 1 << 24, nullptr,
                                        "The original length; 0: the length trained on.", "原始长度；0 表示训练长度。"};
// 0: what the encoding's formula gives.
inline constexpr Option attention_factor_option{Option::number, "attention_factor", 0, 0, 1024, nullptr,
                                                "Factor on turned queries and keys; 0: from the formula.",
                                                "旋转后的查询与键所乘的系数；0 表示由公式得出。"};

// How many pairs turn: fraction·D dimensions, rounded down to an even number. 0.58·100 is 58, not 57.99…
inline int pairs(const Options& o, const Shape& s) { return int(o["fraction"] * s.head_dim + 1e-9) / 2; }
inline int original(const Options& o, const Shape& s) { return o.integer("original") ? o.integer("original") : s.trained_length; }

inline Error check(const char* name, const Options& o, const Shape& s) {
  if (pairs(o, s)) return {};
  return {std::string(name) + ":fraction turns less than two of headDim = " + std::to_string(s.head_dim) +
          " dimensions; allowed: fraction·headDim ≥ 2"};
}

// base·by^(R/(R − 2)): the slowest of the pairs turns `by` times slower, the fastest as before. A single pair turns by p at any base.
inline double enlarged(double base, double by, int pairs) { return pairs > 1 ? base * std::pow(by, double(pairs) / (pairs - 1)) : base; }

// Pair k turns by p·frequency_[k], here base^(−2k/R).
class Turning {
 public:
  Turning(const Options& o, int pairs) : frequency_(pairs), pairing_(o.integer("pairing") ? Pairing::half : Pairing::interleaved) {
    series(o["base"]);
  }
  Rotary rotary() const { return {int(frequency_.size()), pairing_}; }
  void rotation(std::span<const double> positions, int, double* angles) const {
    for (double p : positions) for (double f : frequency_) *angles++ = p * f;
  }

 protected:
  void series(double base) {
    for (size_t k = 0; k < frequency_.size(); k++) frequency_[k] = std::pow(base, -double(k) / double(frequency_.size()));
  }
  std::vector<double> frequency_;  // [pairs]

 private:
  Pairing pairing_;
};

}  // namespace lw::rotary

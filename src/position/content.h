// What content terms are made of: what they keep for each token, and maps of the layer's input.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "position/encoding.h"
#include "position/vectors.h"

namespace lw {

// A row of numbers for each token and, for training, its gradient.
template <class T>
class TokenRows {
 public:
  // Rows of tokens that have come already stay: a longer cache begins again without replaying them. False: out of memory.
  bool begin(int length, int width) {
    width_ = width;
    return uint64_t(length) * width <= gradients_.size() || (sized(values_, length, width) && sized(gradients_, length, width));
  }
  // The row of a new token, to be written; its gradient is zero.
  T* fresh(int token) {
    std::fill_n(gradient(token), width_, T(0));
    return value(token);
  }
  T* value(int token) { return values_.data() + size_t(token) * width_; }
  T* gradient(int token) { return gradients_.data() + size_t(token) * width_; }

 private:
  int width_ = 0;
  Buffer<T> values_, gradients_;  // [length][width]
};

// A vector for each token and head; `group` query heads share one.
class HeadRows {
 public:
  HeadRows(int heads, int group, int size) : heads_(heads), group_(group), size_(size) {}
  bool begin(int length) { return rows_.begin(length, heads_ * size_); }
  // The vectors of new tokens as they are (q or k of a Sequence), and their gradients on the way back.
  void take(const Sequence& tokens, const float* from, ptrdiff_t stride) {
    for (int n = 0; n < tokens.count; n++) std::copy_n(from + n * stride, heads_ * size_, rows_.fresh(tokens.offset + n));
  }
  void give(const Sequence& tokens, float* to, ptrdiff_t stride) {
    for (int n = 0; n < tokens.count; n++) add_scaled(1, rows_.gradient(tokens.offset + n), to + n * stride, heads_ * size_);
  }
  float* fresh(int token) { return rows_.fresh(token); }
  float* value(int token, int head) { return rows_.value(token) + head / group_ * size_; }
  float* gradient(int token, int head) { return rows_.gradient(token) + head / group_ * size_; }

 private:
  int heads_, group_, size_;
  TokenRows<float> rows_;  // [length][heads · size]
};

// y_r = weight_r·x + bias_r, one number at a time, and its way back; bias: nullptr if there is none.
struct LinearMap {
  Parameter *weight, *bias;
  float operator()(const float* x, int r) const {
    return dot(weight->value + size_t(r) * weight->columns, x, weight->columns) + (bias ? bias->value[r] : 0);
  }
  void backward(const float* x, int r, float dy, float* dx) const {
    add_scaled(dy, x, weight->gradient + size_t(r) * weight->columns, weight->columns);
    add_scaled(dy, weight->value + size_t(r) * weight->columns, dx, weight->columns);
    if (bias) bias->gradient[r] += dy;
  }
};

// ln(1 + eˣ) and its derivative, without overflow.
inline double softplus(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace lw

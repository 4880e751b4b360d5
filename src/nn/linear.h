// y = x·wᵀ without a bias. w is [out][in], as in torch.
#pragma once
#include <algorithm>

#include "nn/product.h"

namespace lw {

// Floats of scratch, enough for forward and backward.
inline size_t linear_scratch(int rows, int in, int out) {
  return std::max({product_scratch(out, in), product_scratch(in, out), product_scratch(in, rows)});
}

// y[rows][out] = x[rows][in] · w[out][in]ᵀ
inline void linear(float* y, const float* x, const float* w, int rows, int in, int out, float* scratch) {
  product(rows, out, in, x, in, 1, w, 1, in, y, out, false, scratch);
}

// dx[rows][in] = (or += if accumulate_dx) dy[rows][out] · w[out][in];  dw[out][in] += dyᵀ · x. Either may be nullptr.
inline void linear_backward(float* dx, float* dw, const float* dy, const float* x, const float* w, int rows, int in, int out,
                            float* scratch, bool accumulate_dx) {
  if (dx) product(rows, in, out, dy, out, 1, w, in, 1, dx, in, accumulate_dx, scratch);
  if (dw) product(out, in, rows, dy, 1, out, x, in, 1, dw, in, true, scratch);
}

}  // namespace lw

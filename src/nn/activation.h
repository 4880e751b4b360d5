// Pointwise functions. Backwards write (=) dx and take x, the input of the forward; dx may be dy or x itself.
#pragma once
#include <cstddef>

namespace lw {

// y = x·σ(x), σ(x) = 1 / (1 + e⁻ˣ)
void silu(float* y, const float* x, size_t count);
void silu_backward(float* dx, const float* dy, const float* x, size_t count);

// The tanh form: y = x/2 · (1 + tanh(√(2/π)·(x + 0.044715 x³))). −∞ gives NaN.
void gelu(float* y, const float* x, size_t count);
void gelu_backward(float* dx, const float* dy, const float* x, size_t count);

// y[rows][hidden] = silu(gate) · up, where ab[rows][2·hidden] holds gate, then up, in each row.
void swiglu(float* y, const float* ab, int rows, int hidden);
// dab[rows][2·hidden] = …; dab may be ab.
void swiglu_backward(float* dab, const float* dy, const float* ab, int rows, int hidden);

}  // namespace lw

#include "nn/activation.h"

#include "parallel/threads.h"
#include "simd/simd.h"

namespace lw {
using namespace simd;

// each() by several threads.
template <class F>
static void each_shared(size_t count, F f) {
  constexpr double cost = 8;  // of one number, in multiply-adds
  parallel_ranges(ptrdiff_t(count), 16, cost, [&](ptrdiff_t first, ptrdiff_t last) {
    each(size_t(last - first), [&](size_t i, auto at) { f(size_t(first) + i, at); });
  });
}

// Never subnormal, never 0: below −87 it is e⁻⁸⁷.
static f32x4 sigmoid(f32x4 x) { return splat(1) / (splat(1) + softmax_exp(min(-x, splat(87)))); }

void silu(float* y, const float* x, size_t count) {
  each(count, [&](size_t i, auto at) { at.store(y + i, at.load(x + i) * sigmoid(at.load(x + i))); });
}

// σ(x)·(1 + x·(1 − σ(x)))
static f32x4 silu_slope(f32x4 x, f32x4 s) { return s * madd(x, splat(1) - s, splat(1)); }

void silu_backward(float* dx, const float* dy, const float* x, size_t count) {
  each(count, [&](size_t i, auto at) {
    f32x4 in = at.load(x + i);
    at.store(dx + i, at.load(dy + i) * silu_slope(in, sigmoid(in)));
  });
}

// (1 + tanh u) / 2 = σ(2u), so gelu(x) = x·σ(2u) with 2u = x·(a + b·x²).
static constexpr float gelu_a = 1.5957691216f, gelu_b = 0.0713548163f;  // 2·√(2/π), and 0.044715 times that

void gelu(float* y, const float* x, size_t count) {
  each_shared(count, [&](size_t i, auto at) {
    f32x4 in = at.load(x + i);
    at.store(y + i, in * sigmoid(in * madd(splat(gelu_b), in * in, splat(gelu_a))));
  });
}

void gelu_backward(float* dx, const float* dy, const float* x, size_t count) {
  each_shared(count, [&](size_t i, auto at) {
    f32x4 in = at.load(x + i);
    // Beyond |x| = 10 the slope is exactly 0 or 1; the bound keeps 0·∞ out of it.
    f32x4 bounded = max(min(in, splat(10)), splat(-10)), square = bounded * bounded;
    f32x4 s = sigmoid(bounded * madd(splat(gelu_b), square, splat(gelu_a)));
    f32x4 slope = madd(splat(3 * gelu_b), square, splat(gelu_a));
    at.store(dx + i, at.load(dy + i) * s * madd(bounded * slope, splat(1) - s, splat(1)));
  });
}

void swiglu(float* y, const float* ab, int rows, int hidden) {
  parallel_rows(rows, 8.0 * hidden, [=](ptrdiff_t r) {
    float* to = y + r * hidden;
    const float *a = ab + r * 2 * hidden, *b = a + hidden;
    each(hidden, [&](size_t i, auto at) {
      f32x4 gate = at.load(a + i), up = at.load(b + i);
      at.store(to + i, gate * sigmoid(gate) * up);
    });
  });
}

void swiglu_backward(float* dab, const float* dy, const float* ab, int rows, int hidden) {
  parallel_rows(rows, 8.0 * hidden, [=](ptrdiff_t r) {
    const float *a = ab + r * 2 * hidden, *b = a + hidden, *from = dy + r * hidden;
    float *da = dab + r * 2 * hidden, *db = da + hidden;
    each(hidden, [&](size_t i, auto at) {
      f32x4 gate = at.load(a + i), up = at.load(b + i), d = at.load(from + i), s = sigmoid(gate);
      at.store(da + i, d * up * silu_slope(gate, s));
      at.store(db + i, d * gate * s);
    });
  });
}

}  // namespace lw

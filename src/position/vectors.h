// The few operations on vectors that content terms need.
#pragma once
#include "simd/simd.h"

namespace lw {

inline float dot(const float* a, const float* b, int n) {
  simd::f32x4 sum = simd::zero();
  simd::each(size_t(n), [&](size_t i, auto at) { sum = simd::madd(at.load(a + i), at.load(b + i), sum); });
  return simd::sum(sum);
}

// y += s·x
inline void add_scaled(float s, const float* x, float* y, int n) {
  const simd::f32x4 factor = simd::splat(s);
  simd::each(size_t(n), [&](size_t i, auto at) { at.store(y + i, simd::madd(factor, at.load(x + i), at.load(y + i))); });
}

}  // namespace lw

#include "nn/norm.h"

#include <cmath>

#include "simd/simd.h"

namespace lw {
using namespace simd;

void rms_norm(float* y, float* inverse_rms, const float* x, const float* gain, int rows, int width, float epsilon) {
  for (ptrdiff_t r = 0; r < rows; r++, x += width, y += width) {
    f32x4 squares = zero();
    each(width, [&](size_t i, auto at) { squares = madd(at.load(x + i), at.load(x + i), squares); });
    float inverse = 1 / std::sqrt(sum(squares) / float(width) + epsilon);
    each(width, [&](size_t i, auto at) { at.store(y + i, at.load(x + i) * splat(inverse) * at.load(gain + i)); });
    if (inverse_rms) inverse_rms[r] = inverse;
  }
}

// With x̂ = x / rms and g = dy · gain:  dx = (g − x̂ · mean(g·x̂)) / rms,  dgain = Σ_rows dy · x̂
void rms_norm_backward(float* dx, float* dgain, const float* dy, const float* x, const float* gain,
                       const float* inverse_rms, int rows, int width) {
  for (ptrdiff_t r = 0; r < rows; r++, x += width, dx += width, dy += width) {
    f32x4 inverse = splat(inverse_rms[r]), products = zero();
    each(width, [&](size_t i, auto at) { products = madd(at.load(dy + i) * at.load(gain + i), at.load(x + i), products); });
    f32x4 mean = inverse * splat(sum(products) / float(width));
    each(width, [&](size_t i, auto at) {
      f32x4 scaled = at.load(x + i) * inverse, g = at.load(dy + i) * at.load(gain + i);
      at.store(dx + i, madd(inverse, g - scaled * mean, at.load(dx + i)));
      if (dgain) at.store(dgain + i, madd(at.load(dy + i), scaled, at.load(dgain + i)));
    });
  }
}

void layer_norm(float* y, float* mean, float* inverse_deviation, const float* x, const float* gain, const float* bias,
                int rows, int width, float epsilon) {
  for (ptrdiff_t r = 0; r < rows; r++, x += width, y += width) {
    f32x4 total = zero(), squares = zero();
    each(width, [&](size_t i, auto at) { total += at.load(x + i); });
    float middle = sum(total) / float(width);
    each(width, [&](size_t i, auto at) {
      f32x4 off = at.load(x + i, middle) - splat(middle);
      squares = madd(off, off, squares);
    });
    float inverse = 1 / std::sqrt(sum(squares) / float(width) + epsilon);
    each(width, [&](size_t i, auto at) {
      at.store(y + i, madd((at.load(x + i) - splat(middle)) * splat(inverse), at.load(gain + i), at.load(bias + i)));
    });
    if (mean) mean[r] = middle, inverse_deviation[r] = inverse;
  }
}

// With x̂ = (x − mean) / deviation and g = dy · gain:
//   dx = (g − mean(g) − x̂ · mean(g·x̂)) / deviation,  dgain = Σ_rows dy · x̂,  dbias = Σ_rows dy
void layer_norm_backward(float* dx, float* dgain, float* dbias, const float* dy, const float* x, const float* gain,
                         const float* mean, const float* inverse_deviation, int rows, int width) {
  for (ptrdiff_t r = 0; r < rows; r++, x += width, dx += width, dy += width) {
    f32x4 inverse = splat(inverse_deviation[r]), middle = splat(mean[r]), total = zero(), products = zero();
    each(width, [&](size_t i, auto at) {
      f32x4 g = at.load(dy + i) * at.load(gain + i);
      total += g;
      products = madd(g, (at.load(x + i) - middle) * inverse, products);
    });
    f32x4 mean_g = splat(sum(total) / float(width)), mean_product = splat(sum(products) / float(width));
    each(width, [&](size_t i, auto at) {
      f32x4 scaled = (at.load(x + i) - middle) * inverse, d = at.load(dy + i);
      f32x4 g = d * at.load(gain + i) - mean_g - scaled * mean_product;
      at.store(dx + i, madd(inverse, g, at.load(dx + i)));
      if (dgain) at.store(dgain + i, madd(d, scaled, at.load(dgain + i)));
      if (dbias) at.store(dbias + i, at.load(dbias + i) + d);
    });
  }
}

}  // namespace lw

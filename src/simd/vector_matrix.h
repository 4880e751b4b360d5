// A vector times a matrix: every number of the matrix is read once, so it is reading that takes the time.
#pragma once
#include "simd/simd.h"

namespace lw::simd {

// c[j] = or += the sum of the lanes of what sums(rows, s) leaves in s[i], for j = rows[i] < n. It is called for four rows at
// a time, a quarter of all apart (beyond the last: one of the others again): processors foresee four ways through memory,
// not one that goes to and fro between neighbours.
template <class Sums>
void in_quarters(float* c, int n, bool accumulate, const Sums& sums) {
  const ptrdiff_t quarter = (ptrdiff_t(n) + 3) / 4;
  for (ptrdiff_t j = 0; j < quarter; j++) {
    ptrdiff_t rows[4];
    for (int i = 0; i < 4; i++) rows[i] = j + i * quarter < n ? j + i * quarter : j;
    f32x4 s[4] = {zero(), zero(), zero(), zero()};
    sums(rows, s);
    transpose(s[0], s[1], s[2], s[3]);
    float totals[4];
    store(totals, (s[0] + s[1]) + (s[2] + s[3]));
    for (int i = 0; i < 4 && rows[i] == j + i * quarter; i++) c[rows[i]] = (accumulate ? c[rows[i]] : 0) + totals[i];
  }
}

// The same for products of a with rows of k numbers each. row(j) gives row j: its value(l) are numbers l … l + 3, its
// last(l, left) the `left` ones that remain.
template <class Row>
void dots(float* c, const float* a, int n, int k, bool accumulate, const Row& row) {
  in_quarters(c, n, accumulate, [&](const ptrdiff_t* rows, f32x4* s) {
    const auto b0 = row(rows[0]), b1 = row(rows[1]), b2 = row(rows[2]), b3 = row(rows[3]);
    ptrdiff_t l = 0;
    for (; l + 4 <= k; l += 4) {
      const f32x4 x = load(a + l);
      s[0] = madd(x, b0.value(l), s[0]), s[1] = madd(x, b1.value(l), s[1]);
      s[2] = madd(x, b2.value(l), s[2]), s[3] = madd(x, b3.value(l), s[3]);
    }
    if (const int left = int(k - l)) {
      const f32x4 x = Some{size_t(left)}.load(a + l);
      s[0] = madd(x, b0.last(l, left), s[0]), s[1] = madd(x, b1.last(l, left), s[1]);
      s[2] = madd(x, b2.last(l, left), s[2]), s[3] = madd(x, b3.last(l, left), s[3]);
    }
  });
}

// Rows of floats for dots(), `stride` apart.
struct Floats {
  const float* row;
  f32x4 value(ptrdiff_t l) const { return load(row + l); }
  f32x4 last(ptrdiff_t l, int left) const { return Some{size_t(left)}.load(row + l); }
};
inline void dots(float* c, const float* a, const float* b, ptrdiff_t stride, int n, int k, bool accumulate) {
  dots(c, a, n, k, accumulate, [=](ptrdiff_t j) { return Floats{b + j * stride}; });
}

// c[0 … n) = or += Σ_{i < R} a[i · a_stride] · row i of b.
template <int R>
void add_rows(float* c, const float* a, ptrdiff_t a_stride, const float* b, ptrdiff_t stride, int n, bool accumulate) {
  f32x4 x[R];
  for (int i = 0; i < R; i++) x[i] = splat(a[i * a_stride]);
  each(size_t(n), [&](size_t j, auto at) {
    f32x4 total = accumulate ? at.load(c + j) : zero();
    for (int i = 0; i < R; i++) total = madd(x[i], at.load(b + i * stride + j), total);
    at.store(c + j, total);
  });
}
// c[j] = or += Σ_{l < k} a[l · a_stride] · b[l][j] for j < n, k ≥ 1: sums of rows, four at a time, a quarter of all apart as above.
inline void sums(float* c, const float* a, ptrdiff_t a_stride, const float* b, ptrdiff_t stride, int n, int k, bool accumulate) {
  const ptrdiff_t quarter = k / 4;
  for (ptrdiff_t l = 0; l < quarter; l++, accumulate = true)
    add_rows<4>(c, a + l * a_stride, quarter * a_stride, b + l * stride, quarter * stride, n, accumulate);
  for (ptrdiff_t l = 4 * quarter; l < k; l++, accumulate = true) add_rows<1>(c, a + l * a_stride, 0, b + l * stride, 0, n, accumulate);
}

}  // namespace lw::simd

// The one matrix product: every layer's forward and backward is this with other strides.
#pragma once
#include <cstddef>

namespace lw {

// Floats of scratch that a product with this n and k needs; more threads need more.
size_t product_scratch(int n, int k);

// c[i][j] = Σ_l a[i][l]·b[l][j], or += if `accumulate`, for i < m, j < n, l < k; any of them may be 0.
// a[i][l] lies at a + i·a_row + l·a_column, b and c alike (c's columns are adjacent); strides count floats, and no
// pointer needs to be aligned. c must not overlap a or b. NaN and ±∞ propagate as in the plain sum.
// The order of additions depends on m, n, k and the strides alone, not on the number of threads; a row's bits may differ
// between m ≤ 4 and m > 4.
void product(int m, int n, int k, const float* a, ptrdiff_t a_row, ptrdiff_t a_column, const float* b, ptrdiff_t b_row,
             ptrdiff_t b_column, float* c, ptrdiff_t c_row, bool accumulate, float* scratch);

}  // namespace lw

#include "nn/product.h"

namespace lw {

size_t product_scratch(int, int k) { return size_t(k); }

void product(int m, int n, int k, const float* a, ptrdiff_t a_row, ptrdiff_t a_column, const float* b, ptrdiff_t b_row,
             ptrdiff_t b_column, float* c, ptrdiff_t c_row, bool accumulate, float*) {
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < n; j++) {
      float sum = accumulate ? c[i * c_row + j] : 0;
      for (ptrdiff_t l = 0; l < k; l++) sum += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
      c[i * c_row + j] = sum;
    }
}

}  // namespace lw

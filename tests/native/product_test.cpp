// product() against a plain triple loop in double, over sizes, strides, misalignments and special values.
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "nn/product.h"
#include "simd/random.h"

using namespace lw;

namespace {

enum class Layout { rows, columns, loose };

// x[rows][columns] somewhere inside a block, off by `shift` floats from any alignment, with canaries around.
struct Matrix {
  std::vector<float> block;
  ptrdiff_t shift, row, column;
  Matrix(int rows, int columns, Layout layout, int shift_, Random& random) : shift(shift_) {
    int gap = layout == Layout::loose ? 3 : 0;
    row = layout == Layout::columns ? 1 : columns * (gap ? 2 : 1) + gap;
    column = layout == Layout::columns ? rows : gap ? 2 : 1;
    block.resize(size_t(shift + rows * row + columns * column + 1));
    for (float& x : block) x = float(random.normal());
  }
  float* data() { return block.data() + shift; }
  float& at(ptrdiff_t i, ptrdiff_t j) { return data()[i * row + j * column]; }
};

void check_product(int m, int n, int k, Layout a_layout, Layout b_layout, int shift, bool accumulate) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(int(a_layout));
  CAPTURE(int(b_layout));
  CAPTURE(shift);
  CAPTURE(accumulate);
  Random random(uint64_t(m) * 1000003 + uint64_t(n) * 1009 + uint64_t(k));
  Matrix a(m, k, a_layout, shift, random), b(k, n, b_layout, shift + 1, random);
  ptrdiff_t c_row = n + 2;
  std::vector<float> block(size_t(m * c_row + shift + 8)), before;
  for (float& x : block) x = float(random.normal());
  before = block;
  std::vector<float> scratch(product_scratch(n, k) + 1, NAN);
  scratch.back() = 123;
  product(m, n, k, a.data(), a.row, a.column, b.data(), b.row, b.column, block.data() + shift, c_row, accumulate,
          scratch.data());
  CHECK(scratch.back() == 123);
  int wrong = 0;
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < n; j++) {
      size_t place = size_t(shift + i * c_row + j);
      double sum = accumulate ? before[place] : 0, size = std::fabs(sum) + 1e-30;
      for (ptrdiff_t l = 0; l < k; l++) {
        double term = double(a.at(i, l)) * b.at(l, j);
        sum += term, size += std::fabs(term);
      }
      wrong += !(std::fabs(block[place] - sum) <= 2e-7 * (2 + std::sqrt(double(k))) * size);  // rounding goes with Σ|a·b|
      block[place] = before[place];
    }
  CHECK(wrong == 0);
  CHECK(block == before);  // nothing else was written
}

}  // namespace

TEST_CASE("product: every small size") {
  for (int m = 1; m <= 17; m++)
    for (int n = 1; n <= 17; n++)
      for (int k = 0; k <= 17; k++) {
        check_product(m, n, k, Layout::rows, Layout::rows, (m + n) & 3, false);
        check_product(m, n, k, Layout::rows, Layout::columns, (m + k) & 3, true);
        check_product(m, n, k, Layout::columns, Layout::rows, (n + k) & 3, true);
      }
}

TEST_CASE("product: every layout and alignment") {
  for (Layout a : {Layout::rows, Layout::columns, Layout::loose})
    for (Layout b : {Layout::rows, Layout::columns, Layout::loose})
      for (int shift = 0; shift < 4; shift++)
        for (int m : {1, 3, 4, 13})
          for (bool accumulate : {false, true}) {
            check_product(m, 11, 9, a, b, shift, accumulate);
            check_product(m, 40, 300, a, b, shift, accumulate);
          }
}

TEST_CASE("product: large and empty") {
  const int sizes[][3] = {{1024, 192, 64}, {130, 70, 1030}, {64, 256, 1024}, {257, 512, 255}, {1, 513, 777}, {2, 300, 600}};
  for (auto [m, n, k] : sizes)
    for (bool accumulate : {false, true}) {
      check_product(m, n, k, Layout::rows, Layout::columns, 0, accumulate);
      check_product(m, n, k, Layout::rows, Layout::rows, 0, accumulate);
      check_product(m, n, k, Layout::columns, Layout::rows, 0, accumulate);
    }
  check_product(0, 5, 5, Layout::rows, Layout::rows, 0, false);
  check_product(5, 0, 5, Layout::rows, Layout::rows, 0, false);
}

TEST_CASE("product: NaN and infinity go where the plain sum takes them, and nowhere else") {
  for (int m : {1, 2, 5, 9})
    for (float special : {NAN, INFINITY, -INFINITY})
      for (bool in_a : {true, false})
        for (bool transposed : {false, true}) {
          const int n = 11, k = 6;
          Random random(7);
          Matrix a(m, k, Layout::rows, 0, random), b(k, n, transposed ? Layout::columns : Layout::rows, 0, random);
          (in_a ? a.at(m - 1, 2) : b.at(2, n - 1)) = special;
          std::vector<float> c(size_t(m * n)), scratch(product_scratch(n, k));
          product(m, n, k, a.data(), a.row, a.column, b.data(), b.row, b.column, c.data(), n, false, scratch.data());
          for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
              bool touched = in_a ? i == m - 1 : j == n - 1;
              double plain = touched ? double(a.at(i, 2)) * b.at(2, j) : 0;
              float got = c[size_t(i * n + j)];
              if (std::isinf(plain)) CHECK(got == float(plain));
              else CHECK(std::isnan(got) == touched);
            }
        }
}

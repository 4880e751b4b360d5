// GFLOP/s of product() for the shapes that training and decoding use: best of several runs.
#include <chrono>
#include <cstdio>

#include "nn/product.h"
#include "simd/buffer.h"
#include "simd/random.h"

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// x[rows][columns], or its transpose in memory.
struct Matrix {
  lw::Buffer<float> data;
  ptrdiff_t row, column;
  Matrix(int rows, int columns, bool transposed, lw::Random& random)
      : row(transposed ? 1 : columns), column(transposed ? rows : 1) {
    if (!data.resize(size_t(rows) * size_t(columns))) std::abort();
    for (float& x : data) x = float(random.normal());
  }
};

void measure(int m, int n, int k, bool a_transposed, bool b_transposed) {
  lw::Random random(1);
  Matrix a(m, k, a_transposed, random), b(k, n, b_transposed, random), c(m, n, false, random);
  lw::Buffer<float> scratch;
  if (!scratch.resize(lw::product_scratch(n, k))) std::abort();
  double work = 2.0 * m * n * k, best = 1e9;
  int repeat = int(2e8 / work) + 1;
  for (int run = 0; run < 12; run++) {
    double start = seconds();
    for (int i = 0; i < repeat; i++)
      lw::product(m, n, k, a.data.data(), a.row, a.column, b.data.data(), b.row, b.column, c.data.data(), n, false, scratch.data());
    best = std::min(best, (seconds() - start) / repeat);
  }
  std::printf("%5d x %4d x %4d  %c%c  %7.2f GFLOP/s  %9.2f us\n", m, n, k, a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N',
              work / best * 1e-9, best * 1e6);
}

}  // namespace

int main() {
  for (auto [n, k] : {std::pair{192, 64}, {64, 64}, {256, 64}, {64, 256}, {96, 96}, {384, 96}, {512, 64}})
    measure(1024, n, k, false, true);  // forward
  for (auto [n, k] : {std::pair{64, 192}, {64, 256}, {64, 512}}) measure(1024, n, k, false, false);  // backward, input
  for (auto [m, n] : {std::pair{192, 64}, {64, 256}, {512, 64}}) measure(m, n, 1024, true, false);  // backward, weights
  for (int m : {1, 2, 3, 4, 8}) measure(m, 192, 64, false, true);  // decoding
  measure(1, 512, 256, false, true);
}

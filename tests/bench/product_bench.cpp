// GFLOP/s of product() for the shapes that training and decoding use: the best of many runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "nn/product.h"
#include "simd/buffer.h"
#include "simd/random.h"

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Called through a pointer that no optimiser sees through: inlined into main, which is entered once, the kernel would
// never leave the engine's baseline compiler.
auto* volatile kernel = lw::product;

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

class Case {
 public:
  Case(int m, int n, int k, bool a_transposed, bool b_transposed)
      : m_(m), n_(n), k_(k), random_(1), a_(m, k, a_transposed, random_), b_(k, n, b_transposed, random_),
        c_(m, n, false, random_) {
    if (!scratch_.resize(lw::product_scratch(n, k))) std::abort();
    std::snprintf(name_, sizeof name_, "%5d x %4d x %4d  %c%c", m, n, k, a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N');
  }
  void run() {
    int repeat = int(5e7 / work()) + 1;
    double start = seconds();
    for (int i = 0; i < repeat; i++)
      kernel(m_, n_, k_, a_.data.data(), a_.row, a_.column, b_.data.data(), b_.row, b_.column, c_.data.data(), n_, false,
             scratch_.data());
    best_ = std::min(best_, (seconds() - start) / repeat);
  }
  void print() { std::printf("%s  %7.2f GFLOP/s  %9.2f us\n", name_, work() / best_ * 1e-9, best_ * 1e6); }

 private:
  double work() { return 2.0 * m_ * n_ * k_; }
  int m_, n_, k_;
  lw::Random random_;
  Matrix a_, b_, c_;
  lw::Buffer<float> scratch_;
  char name_[40];
  double best_ = 1e9;
};

}  // namespace

int main() {
  std::vector<Case> cases;
  for (auto [n, k] : {std::pair{192, 64}, {64, 64}, {256, 64}, {64, 256}, {96, 96}, {384, 96}, {512, 64}})
    cases.emplace_back(1024, n, k, false, true);  // y
  for (auto [n, k] : {std::pair{64, 192}, {64, 256}, {64, 512}}) cases.emplace_back(1024, n, k, false, false);  // dx
  for (auto [m, n] : {std::pair{192, 64}, {64, 256}, {512, 64}}) cases.emplace_back(m, n, 1024, true, false);   // dw
  for (int m : {1, 2, 3, 4, 8}) cases.emplace_back(m, 192, 64, false, true);                        // decoding
  cases.emplace_back(1, 512, 256, false, true);
  for (int round = 0; round < 50; round++)  // in turns, so that a busy machine is unfair to all alike
    for (Case& c : cases) c.run();
  for (Case& c : cases) c.print();
}

// Several threads: every part once, and the same bits with any number of threads.
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "attention_case.h"
#include "nn/product.h"
#include "parallel/threads.h"
#include "simd/random.h"

using namespace lw;
using namespace lw::test;

#ifdef LENGTHWISE_THREADS
namespace {

struct WithThreads {
  explicit WithThreads(int count) { CHECK(!set_threads(count)); }
  ~WithThreads() { CHECK(!set_threads(1)); }
};

// What `compute` gives must not depend on the number of threads.
template <class F>
void check_same_bits(F compute) {
  const std::vector<float> once = compute();
  for (int count : {2, 3, 5}) {
    CAPTURE(count);
    WithThreads some(count);
    const std::vector<float> again = compute();
    REQUIRE(again.size() == once.size());
    CHECK(std::memcmp(again.data(), once.data(), once.size() * sizeof(float)) == 0);
  }
}

}  // namespace

TEST_CASE("each part is done once, whoever does it") {
  for (int count : {1, 2, 3, 5, 16}) {
    CAPTURE(count);
    WithThreads some(count);
    CHECK(threads() == count);
    for (int parts : {0, 1, 2, 7, 100, 70000}) {
      std::vector<int> done(size_t(parts), 0);
      std::atomic<bool> known{true};
      parallel(parts, [&](int part, int thread) {
        done[size_t(part)]++;
        if (thread < 0 || thread >= count) known = false;
      });
      CHECK(known);
      CHECK(std::count(done.begin(), done.end(), 1) == parts);
    }
  }
}

TEST_CASE("many short jobs, one after the other, and some after a rest") {
  WithThreads some(3);
  long total = 0;
  for (int round = 0; round < 20000; round++) {
    long sums[4] = {};
    parallel(4, [&](int part, int) { sums[part] = part + round; });
    for (long sum : sums) total += sum;
    if (round % 4000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // workers fall asleep
  }
  CHECK(total == 4L * 20000 * 19999 / 2 + 6L * 20000);
}

TEST_CASE("inside a part there is one thread") {
  WithThreads some(4);
  std::atomic<int> inner{0}, strangers{0};
  parallel(8, [&](int, int) {
    const auto self = std::this_thread::get_id();
    parallel(8, [&](int, int thread) { inner++, strangers += thread != 0 || std::this_thread::get_id() != self; });
  });
  CHECK(inner == 64);
  CHECK(strangers == 0);
}

TEST_CASE("ranges cover everything once and begin at their unit") {
  WithThreads some(3);
  for (ptrdiff_t count : {0, 1, 63, 64, 65, 1000, 4097}) {
    std::vector<int> done(size_t(count), 0);
    std::atomic<int> crooked{0};
    parallel_ranges(count, 16, 1e5, [&](ptrdiff_t first, ptrdiff_t last) {
      crooked += first % 16 != 0;
      for (ptrdiff_t i = first; i < last; i++) done[size_t(i)]++;
    });
    CHECK(std::count(done.begin(), done.end(), 1) == count);
    CHECK(crooked == 0);
  }
}

TEST_CASE("the number of threads is 1 to 16") {
  for (int count : {0, -1, 17}) {
    CHECK(set_threads(count).text == "threads is " + std::to_string(count) + "; allowed: 1 to 16");
    CHECK(threads() == 1);
  }
}

TEST_CASE("a product has the same bits with any number of threads") {
  Random random(4);
  for (auto [m, n, k] : {std::array{1, 5000, 100}, {3, 777, 300}, {4, 1030, 129}, {5, 999, 200}, {64, 64, 1000}, {257, 130, 300}, {1000, 33, 65}, {90, 1024, 129}})
    for (bool transposed : {false, true})
      for (bool accumulate : {false, true}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(transposed);
        CAPTURE(accumulate);
        const auto a = AttentionCase::normals(random, size_t(m) * k), b = AttentionCase::normals(random, size_t(k) * n);
        const auto before = AttentionCase::normals(random, size_t(m) * n);
        check_same_bits([&] {
          std::vector<float> c = before, scratch(product_scratch(n, k));
          product(m, n, k, a.data(), k, 1, b.data(), transposed ? 1 : n, transposed ? k : 1, c.data(), n, accumulate, scratch.data());
          return c;
        });
      }
}
#endif

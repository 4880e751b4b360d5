// Runs a fuzz target where there is no libFuzzer: random bytes, and what they become when some of them change.
//   target [inputs [seed [first]]]
// An input depends on seed and number alone, so that a fault is found again by these two.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "simd/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" const char* __asan_default_options() { return "abort_on_error=1:allocator_may_return_null=1:malloc_context_size=8"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

static unsigned long long seed = 1, number = 0;

static void say_where(int) {
  std::fprintf(stderr, "at input %llu of seed %llu: run again with 1 %llu %llu\n", number, seed, seed, number);
  std::_Exit(1);
}

static std::vector<uint8_t> input() {
  lw::Random base(seed, 2 * (number / 4)), change(seed, 2 * number + 1);
  std::vector<uint8_t> bytes(16 + base.below(600));
  for (auto& b : bytes) b = uint8_t(base.next());
  for (unsigned n = number % 4 * (1 + change.below(4)); n > 0; n--) bytes[change.below(uint32_t(bytes.size()))] = uint8_t(change.next());
  return bytes;
}

int main(int count, char** words) {
  auto word = [&](int n, unsigned long long otherwise) { return n < count ? std::strtoull(words[n], nullptr, 10) : otherwise; };
  const unsigned long long inputs = word(1, 2500);
  seed = word(2, 1), number = word(3, 0);
  std::signal(SIGABRT, say_where);
  for (const auto end = number + inputs; number < end; number++) {
    const std::vector<uint8_t> bytes = input();
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%llu inputs of seed %llu passed\n", inputs, seed);
}

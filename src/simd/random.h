// PCG32 (O'Neill 2014, pcg-random.org): small, seedable, the same bits on every machine.
#pragma once
#include <cmath>
#include <cstdint>

namespace lw {

class Random {
 public:
  explicit Random(uint64_t seed = 0, uint64_t stream = 0) : state_(0), increment_(stream * 2 + 1) {
    next(), state_ += seed, next();
  }
  uint32_t next() {
    uint64_t old = state_;
    state_ = old * 6364136223846793005ull + increment_;
    uint32_t shifted = uint32_t(((old >> 18) ^ old) >> 27), turn = uint32_t(old >> 59);
    return (shifted >> turn) | (shifted << ((32 - turn) & 31));
  }
  // Uniform in [0, 1), 53 bits.
  double uniform() {
    uint64_t high = next(), low = next();
    return double(((high << 32 | low) >> 11)) * (1.0 / 9007199254740992.0);
  }
  // Uniform integer in [0, n), n > 0, without bias.
  uint32_t below(uint32_t n) {
    uint32_t reject = (0u - n) % n, r;
    do r = next(); while (r < reject);
    return r % n;
  }
  // Standard normal, Box–Muller (one of the pair; no hidden state, so a checkpoint is just two integers).
  double normal() {
    double u = 1.0 - uniform(), v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }
  uint64_t state() const { return state_; }
  uint64_t increment() const { return increment_; }
  void restore(uint64_t state, uint64_t increment) { state_ = state, increment_ = increment; }

 private:
  uint64_t state_, increment_;
};

}  // namespace lw

#include "nn/loss.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"
#include "simd/simd.h"

namespace lw {
using namespace simd;

static constexpr float least = -__builtin_inff();

// NaN does not count; it makes the sum of exponentials NaN.
static float largest_of(const float* logits, int vocabulary) {
  f32x4 top = splat(least);
  each(size_t(vocabulary), [&](size_t i, auto at) { top = max(top, at.load(logits + i, least)); });
  return largest(top);
}

void cross_entropy(float* losses, const float* all_logits, const int32_t* targets, int rows, int vocabulary) {
  parallel_rows(rows, 16.0 * vocabulary, [&](ptrdiff_t r) {
    const float* logits = all_logits + r * vocabulary;
    losses[r] = 0;
    if (targets[r] < 0) return;
    float top = largest_of(logits, vocabulary);
    f32x4 total = zero();
    each(size_t(vocabulary), [&](size_t i, auto at) { total += softmax_exp(at.load(logits + i, least) - splat(top)); });
    losses[r] = (top - logits[targets[r]]) + std::log(sum(total));
  });
}

void cross_entropy_backward(float* all_logits, float* losses, const int32_t* targets, const float* weights, int rows, int vocabulary) {
  parallel_rows(rows, 16.0 * vocabulary, [&](ptrdiff_t r) {
    float* logits = all_logits + r * vocabulary;
    if (losses) losses[r] = 0;
    if (targets[r] < 0) {
      std::fill_n(logits, vocabulary, 0.0f);
      return;
    }
    float top = largest_of(logits, vocabulary), target = logits[targets[r]];
    f32x4 total = zero();
    each(size_t(vocabulary), [&](size_t i, auto at) {
      f32x4 part = softmax_exp(at.load(logits + i, least) - splat(top));
      at.store(logits + i, part);
      total += part;
    });
    if (losses) losses[r] = (top - target) + std::log(sum(total));
    f32x4 scale = splat(weights[r] / sum(total));
    each(size_t(vocabulary), [&](size_t i, auto at) { at.store(logits + i, at.load(logits + i) * scale); });
    logits[targets[r]] -= weights[r];
  });
}

}  // namespace lw

#include "nn/loss.h"

#include <cmath>

#include "simd/simd.h"

namespace lw {
using namespace simd;

// The largest logit, and Σ exp(logit − largest). NaN anywhere makes the sum NaN.
static float log_sum_parts(const float* logits, int vocabulary, float& largest_logit) {
  f32x4 top = splat(-__builtin_inff()), total = zero();
  each(vocabulary, [&](size_t i, auto at) { top = max(top, at.load(logits + i, -__builtin_inff())); });
  largest_logit = largest(top);
  each(vocabulary, [&](size_t i, auto at) {
    total += exp(at.load(logits + i, -__builtin_inff()) - splat(largest_logit));
  });
  return sum(total);
}

void cross_entropy(float* losses, const float* logits, const int32_t* targets, int rows, int vocabulary) {
  for (ptrdiff_t r = 0; r < rows; r++, logits += vocabulary) {
    if (targets[r] < 0) { losses[r] = 0; continue; }
    float top, total = log_sum_parts(logits, vocabulary, top);
    losses[r] = (top - logits[targets[r]]) + std::log(total);
  }
}

void cross_entropy_backward(float* logits, const int32_t* targets, const float* weights, int rows, int vocabulary) {
  for (ptrdiff_t r = 0; r < rows; r++, logits += vocabulary) {
    if (targets[r] < 0) {
      each(vocabulary, [&](size_t i, auto at) { at.store(logits + i, zero()); });
      continue;
    }
    float top, total = log_sum_parts(logits, vocabulary, top);
    f32x4 scale = splat(weights[r] / total);
    each(vocabulary, [&](size_t i, auto at) { at.store(logits + i, exp(at.load(logits + i) - splat(top)) * scale); });
    logits[targets[r]] -= weights[r];
  }
}

}  // namespace lw

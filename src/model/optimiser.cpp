#include "model/optimiser.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"
#include "simd/simd.h"

namespace lw {
using namespace simd;

float learning_rate(int64_t step, const OptimiserConfig& config) {
  if (step < config.warm_up) return float(config.rate * double(step + 1) / double(config.warm_up));
  double done = 1;
  if (config.steps > config.warm_up)
    done = std::min(1.0, double(step - config.warm_up) / double(config.steps - config.warm_up));
  double cosine = 0.5 * (1 + std::cos(3.141592653589793 * done));
  return float(config.rate * (config.minimum_ratio + (1 - config.minimum_ratio) * cosine));
}

double gradient_norm(const float* gradients, size_t count) {
  double sums[4] = {};  // four chains, since one waits for itself
  size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (size_t j = 0; j < 4; j++) sums[j] += double(gradients[i + j]) * gradients[i + j];
  for (; i < count; i++) sums[0] += double(gradients[i]) * gradients[i];
  return std::sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

bool optimiser_step(float* parameters, const float* gradients, size_t count, std::span<const Segment> segments,
                    OptimiserState& state, const OptimiserConfig& config, double* norm) {
  double length = gradient_norm(gradients, count);
  if (norm) *norm = length;
  const bool clips = config.clip > 0 && length > config.clip;
  if (!std::isfinite(length) || (!clips && length > 1e18)) return false;
  f32x4 clip = splat(clips ? float(config.clip / length) : 1.0f);
  float rate = learning_rate(state.step++, config);
  f32x4 beta1 = splat(config.beta1), rest1 = splat(1 - config.beta1);
  f32x4 beta2 = splat(config.beta2), rest2 = splat(1 - config.beta2);
  f32x4 correct1 = splat(float(1 / (1 - std::pow(double(config.beta1), double(state.step)))));
  f32x4 correct2 = splat(float(1 / (1 - std::pow(double(config.beta2), double(state.step)))));
  for (const Segment& segment : segments) {
    f32x4 change = splat(rate * segment.rate);
    f32x4 keep = splat(segment.decay ? 1 - rate * segment.rate * config.weight_decay : 1.0f);
    float *p = parameters + segment.first, *m = state.m + segment.first, *v = state.v + segment.first;
    const float* g = gradients + segment.first;
    parallel_ranges(ptrdiff_t(segment.count), 16, 16, [&](ptrdiff_t first, ptrdiff_t last) {
      each(size_t(last - first), [&](size_t n, auto at) {
        const size_t i = size_t(first) + n;
        f32x4 d = at.load(g + i) * clip;
        f32x4 m_new = flush(madd(beta1, at.load(m + i), rest1 * d));
        f32x4 v_new = flush(madd(beta2, at.load(v + i), rest2 * d * d));
        f32x4 update = m_new * correct1 / (sqrt(v_new * correct2) + splat(config.epsilon));
        at.store(m + i, m_new), at.store(v + i, v_new);
        at.store(p + i, keep * at.load(p + i) - change * update);
      });
    });
  }
  return true;
}

}  // namespace lw

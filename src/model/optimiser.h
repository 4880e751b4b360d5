// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101) over one flat array of parameters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace lw {

// A run of parameters with the same treatment. Segments must not overlap; what lies in none is left alone.
struct Segment {
  size_t first = 0, count = 0;  // floats
  bool decay = true;            // whether weight decay applies
  float rate = 1;               // factor on the learning rate
};

struct OptimiserConfig {
  float rate = 1e-3f;         // peak learning rate, ≥ 0
  float minimum_ratio = 0.1f; // the rate falls to this part of the peak, 0 … 1
  int64_t warm_up = 100;      // steps of linear warm-up, ≥ 0
  int64_t steps = 1000;       // where the cosine reaches its minimum; it stays there afterwards
  float beta1 = 0.9f, beta2 = 0.99f;  // 0 ≤ β < 1
  float epsilon = 1e-8f;      // > 0
  float weight_decay = 0.1f;  // ≥ 0; p loses rate · weight_decay · p a step
  float clip = 1;             // largest global gradient norm, larger ones are scaled down to it; 0: no clipping
};

// The learning rate of a step, counted from 0: the first of warm_up steps has rate / warm_up.
float learning_rate(int64_t step, const OptimiserConfig& config);

// √Σg², summed in double. NaN or ∞ if any gradient is.
double gradient_norm(const float* gradients, size_t count);

// Everything the optimiser remembers lies with the caller, so that a checkpoint of it resumes to the same bits.
struct OptimiserState {
  float *m = nullptr, *v = nullptr;  // moments, one each per parameter, 0 at the start
  int64_t step = 0;                  // steps taken so far
};

// One step; gradients[count] is left as it is. False: a gradient, in a segment or not, is not finite, or their norm is above
// 1e18 and not clipped, so that squares could not be kept; and nothing has been changed.
// norm (may be nullptr) receives the gradient norm before clipping.
[[nodiscard]] bool optimiser_step(float* parameters, const float* gradients, size_t count, std::span<const Segment> segments,
                                  OptimiserState& state, const OptimiserConfig& config, double* norm = nullptr);

}  // namespace lw

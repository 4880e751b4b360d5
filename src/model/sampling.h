// Choosing the next token.
#pragma once
#include "simd/buffer.h"
#include "simd/random.h"

namespace lw {

struct SamplingOptions {
  float temperature = 1;  // ≥ 0; 0: the likeliest token
  int top_k = 0;          // keep the k likeliest; 0: all
  float top_p = 1;        // keep the smallest set whose probability reaches p, 0 < p ≤ 1
};

// Logits may hold −∞ (never chosen). NaN or all −∞: −1.
int sample(const float* logits, int vocabulary, const SamplingOptions& options, Random& random);

}  // namespace lw

// Sines and cosines of many angles at once.
#pragma once
#include <cstddef>

namespace lw::simd {

// sine[i] and cosine[i] of angle[i], rounded to float: within 6e-8 of the exact ones (a float near 1 is itself within 3e-8),
// for angles of any size. ±∞ and NaN give NaN. Each result depends on its angle alone, not on its place in the array.
void sincos(const double* angle, size_t count, float* sine, float* cosine);

}  // namespace lw::simd

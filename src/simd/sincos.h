// Sines and cosines of many angles at once.
#pragma once
#include <cstddef>

namespace lw::simd {

// sine[i] and cosine[i] of angle[i], for angles of any size: doubles within 2e-10 of the exact ones, floats those rounded
// (a float near 1 is itself within 3e-8). ±∞ and NaN give NaN. Each result depends on its angle alone, not on its place.
void sincos(const double* angle, size_t count, double* sine, double* cosine);
void sincos(const double* angle, size_t count, float* sine, float* cosine);

// a and b hold `count` sines, then as many cosines; out those of the sums of the angles.
void add_angles(const double* a, const double* b, size_t count, float* out);

}  // namespace lw::simd

// The weights [out][in] of a linear map, for inference in fewer bits than training needs.
#pragma once
#include <algorithm>
#include <cstddef>

#include "nn/linear.h"

namespace lw {

// f16: half precision, values beyond ±65504 become those. int8: round(w·127 / max|w|), the maximum of each row.
enum class Precision { f32, f16, int8 };

struct Weights {
  Precision precision;
  const unsigned char* data;  // rows one after the other, [out][row_bytes]; need not be aligned
};

// A row of int8 begins with its factor, max|w| / 127, as a float.
constexpr size_t row_bytes(Precision precision, int in) {
  return precision == Precision::f32 ? size_t(in) * 4 : precision == Precision::f16 ? size_t(in) * 2 : size_t(in) + 4;
}
void pack_row(Precision precision, const float* w, int in, unsigned char* row);
void unpack_row(Precision precision, const unsigned char* row, int in, float* w);

// Floats of scratch for linear() with any precision.
size_t linear_scratch(Precision precision, int rows, int in, int out);

// y[rows][out] = or += x[rows][in] · wᵀ. Up to four rows read the weights as they are, more unpack some at a time. Sums are f32,
// but few rows times int8 are sums of whole numbers, x rounded to 2⁻³⁰ of its largest or 2⁻¹²⁰: a row with NaN or ±∞ gives NaN.
void linear(float* y, const float* x, Weights w, int rows, int in, int out, bool accumulate, float* scratch);

}  // namespace lw

// A row of the table for each token: table[vocabulary][width], tokens[rows] in 0 … vocabulary − 1.
#pragma once
#include <cstddef>
#include <cstdint>

#include "nn/weights.h"

namespace lw {

// y[rows][width] = table[token] · scale
inline void embedding(float* y, Weights table, const int32_t* tokens, int rows, int width, float scale) {
  for (ptrdiff_t r = 0; r < rows; r++, y += width) {
    unpack_row(table.precision, table.data + size_t(tokens[r]) * row_bytes(table.precision, width), width, y);
    for (ptrdiff_t i = 0; i < width; i++) y[i] *= scale;
  }
}

// dtable[token] += dy[rows][width] · scale
inline void embedding_backward(float* dtable, const float* dy, const int32_t* tokens, int rows, int width, float scale) {
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t i = 0; i < width; i++) dtable[ptrdiff_t(tokens[r]) * width + i] += dy[r * width + i] * scale;
}

}  // namespace lw

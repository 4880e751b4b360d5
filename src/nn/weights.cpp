#include "nn/weights.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "nn/product.h"
#include "parallel/threads.h"
#include "simd/vector_matrix.h"

namespace lw {
using namespace simd;

static constexpr int few_rows = 4, unpacked_rows = 64;

// A row of halves, for dots(): value(i) are weights i … i + 3, last(i, n) those that are left.
struct Halves {
  const unsigned char* row;
  f32x4 value(ptrdiff_t i) const { return floats(wasm_i32x4_load16x4(row + 2 * i)); }
  f32x4 last(ptrdiff_t i, int n) const {
    uint64_t some = 0;
    std::memcpy(&some, row + 2 * i, size_t(n) * 2);
    return floats(wasm_i32x4_extend_low_i16x8(wasm_i64x2_make(int64_t(some), 0)));
  }
  // The bits of a half, moved to where a float has them, are the value · 2⁻¹¹². (Four with their signs continued.)
  static f32x4 floats(v128_t halves) {
    return f32x4{wasm_v128_and(wasm_i32x4_shl(halves, 13), wasm_i32x4_splat(int(0x8fffe000)))} * splat(0x1p112f);
  }
};

static uint16_t half_of(float w) {
  const float size = std::fmin(std::fabs(w), 65504.f);
  // Rounded to the nearest of halves, ties to even, in units of its last place.
  int exponent;
  std::frexp(size, &exponent);
  const float unit = std::ldexp(1.f, std::max(exponent, -13) - 11), rounded = std::nearbyint(size / unit) * unit;
  const float moved = rounded * 0x1p-112f;
  uint32_t bits;
  std::memcpy(&bits, &moved, 4);
  return uint16_t(bits >> 13 | (std::signbit(w) ? 0x8000 : 0));
}

void pack_row(Precision precision, const float* w, int in, unsigned char* row) {
  if (precision == Precision::f32) {
    std::memcpy(row, w, size_t(in) * 4);
  } else if (precision == Precision::f16) {
    for (int i = 0; i < in; i++) {
      const uint16_t half = half_of(w[i]);
      std::memcpy(row + 2 * i, &half, 2);
    }
  } else {
    float most = 0;
    for (int i = 0; i < in; i++) most = std::max(most, std::fabs(w[i]));
    const float factor = most / 127;
    std::memcpy(row, &factor, 4);
    for (int i = 0; i < in; i++) row[4 + i] = (unsigned char)(int8_t(most > 0 ? std::lround(double(w[i]) * 127 / most) : 0));
  }
}

void unpack_row(Precision precision, const unsigned char* row, int in, float* w) {
  if (precision == Precision::f32) {
    std::memcpy(w, row, size_t(in) * 4);
  } else if (precision == Precision::f16) {
    const Halves halves{row};
    ptrdiff_t i = 0;
    for (; i + 4 <= in; i += 4) store(w + i, halves.value(i));
    if (i < in) Some{size_t(in - i)}.store(w + i, halves.last(i, int(in - i)));
  } else {
    float factor;
    std::memcpy(&factor, row, 4);
    for (int i = 0; i < in; i++) w[i] = float(int8_t(row[4 + i])) * factor;
  }
}

// Weights in int8 are multiplied as whole numbers: x = unit · (2¹⁵ · high + low), rounded to a unit of 2⁻³⁰ of the largest
// (or 2⁻¹²⁰), which is less than sums of floats lose. high and low are as long as x and zeros up to a multiple of 8. Where x has a
// number that is not finite, unit is NaN.
struct Whole {
  float unit;
  const int16_t *high, *low;
};

static Whole whole(const float* x, int in, float* scratch) {
  auto* high = reinterpret_cast<int16_t*>(scratch);
  auto* low = high + (in + 7) / 8 * 8;
  f32x4 most = splat(0x1p-90f), odd = zero();
  each(size_t(in), [&](size_t i, auto at) {
    const f32x4 size = abs(at.load(x + i));
    most = max(most, size), odd += size * zero();
  });
  constexpr float largest_whole = 32767 * 32768.f;
  const float largest_size = largest(most);
  for (int16_t* numbers : {high, low}) std::memset(numbers + in / 8 * 8, 0, size_t(in % 8 ? 16 : 0));
  each(size_t(in), [&](size_t i, auto at) {
    const v128_t all = wasm_i32x4_trunc_sat_f32x4((at.load(x + i) * splat(largest_whole / largest_size)).bits);
    const v128_t upper = wasm_i32x4_shr(wasm_i32x4_add(all, wasm_i32x4_splat(1 << 14)), 15);
    const v128_t lower = wasm_i32x4_sub(all, wasm_i32x4_shl(upper, 15));
    wasm_v128_store64_lane(high + i, wasm_i16x8_narrow_i32x4(upper, upper), 0);
    wasm_v128_store64_lane(low + i, wasm_i16x8_narrow_i32x4(lower, lower), 0);
  });
  return {largest_size / largest_whole + sum(odd), high, low};
}

// y[j] = or += x · row j.
static void whole_dots(float* y, const Whole& x, const unsigned char* w, size_t bytes, int out, int in, bool accumulate) {
  constexpr ptrdiff_t block = 2048;  // so many products of 8 and 16 bits fit into sums of 32 bits in four lanes
  in_quarters(y, out, accumulate, [&](const ptrdiff_t* rows, f32x4* s) {
    const unsigned char* row[4];
    for (int r = 0; r < 4; r++) row[r] = w + size_t(rows[r]) * bytes + 4;
    for (ptrdiff_t from = 0; from < in; from += block) {
      v128_t high[4], low[4];
      for (int r = 0; r < 4; r++) high[r] = low[r] = zero().bits;
      auto add = [&](ptrdiff_t i, auto weights) {
        const v128_t upper = wasm_v128_load(x.high + i), lower = wasm_v128_load(x.low + i);
        for (int r = 0; r < 4; r++) {
          const v128_t eight = weights(row[r] + i);
          high[r] = wasm_i32x4_add(high[r], wasm_i32x4_dot_i16x8(eight, upper));
          low[r] = wasm_i32x4_add(low[r], wasm_i32x4_dot_i16x8(eight, lower));
        }
      };
      const ptrdiff_t to = std::min<ptrdiff_t>(in, from + block);
      ptrdiff_t i = from;
      for (; i + 8 <= to; i += 8) add(i, [](const unsigned char* p) { return wasm_i16x8_load8x8(p); });
      if (i < to) add(i, [&](const unsigned char* p) {
        int64_t some = 0;
        std::memcpy(&some, p, size_t(to - i));
        return wasm_i16x8_extend_low_i8x16(wasm_i64x2_make(some, 0));
      });
      for (int r = 0; r < 4; r++)
        s[r] += f32x4{wasm_f32x4_convert_i32x4(high[r])} * splat(32768) + f32x4{wasm_f32x4_convert_i32x4(low[r])};
    }
    for (int r = 0; r < 4; r++) {
      float factor;
      std::memcpy(&factor, row[r] - 4, 4);
      s[r] = s[r] * splat(x.unit) * splat(factor);  // their product may be too small or too large
    }
  });
}

size_t linear_scratch(Precision precision, int rows, int in, int out) {
  if (precision == Precision::f32) return linear_scratch(rows, in, out);
  return size_t(unpacked_rows) * in + product_scratch(unpacked_rows, in);
}

void linear(float* y, const float* x, Weights w, int rows, int in, int out, bool accumulate, float* scratch) {
  if (w.precision == Precision::f32) {
    product(rows, out, in, x, in, 1, reinterpret_cast<const float*>(w.data), 1, in, y, out, accumulate, scratch);
    return;
  }
  const size_t bytes = row_bytes(w.precision, in);
  if (rows <= few_rows) {
    Whole whole_rows[few_rows];
    if (w.precision == Precision::int8)
      for (ptrdiff_t r = 0; r < rows; r++) whole_rows[r] = whole(x + r * in, in, scratch + r * ((in + 7) / 8 * 8));
    parallel_ranges(out, 2, double(rows) * in, [&](ptrdiff_t first, ptrdiff_t last) {
      const unsigned char* data = w.data + first * bytes;
      for (ptrdiff_t r = 0; r < rows; r++) {
        float* to = y + r * out + first;
        if (w.precision == Precision::int8) whole_dots(to, whole_rows[r], data, bytes, int(last - first), in, accumulate);
        else dots(to, x + r * in, int(last - first), in, accumulate, [=](ptrdiff_t j) { return Halves{data + j * bytes}; });
      }
    });
    return;
  }
  float *block = scratch, *rest = scratch + size_t(unpacked_rows) * in;
  for (int j = 0; j < out; j += unpacked_rows) {
    const int n = std::min(unpacked_rows, out - j);
    for (int i = 0; i < n; i++) unpack_row(w.precision, w.data + size_t(j + i) * bytes, in, block + size_t(i) * in);
    product(rows, n, in, x, in, 1, block, 1, in, y + j, out, accumulate, rest);
  }
}

}  // namespace lw

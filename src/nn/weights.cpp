#include "nn/weights.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "nn/product.h"
#include "parallel/threads.h"
#include "simd/simd.h"

namespace lw {
using namespace simd;

static constexpr int few_rows = 4, unpacked_rows = 64;

// Four at a time: value(i) are weights i … i + 3 of a row, last(i, n) those that are left.
struct Halves {
  const unsigned char* row;
  explicit Halves(const unsigned char* row) : row(row) {}
  static constexpr float factor = 1;
  f32x4 value(ptrdiff_t i) const { return floats(wasm_v128_load64_zero(row + 2 * i)); }
  f32x4 last(ptrdiff_t i, int n) const {
    uint64_t some = 0;
    std::memcpy(&some, row + 2 * i, size_t(n) * 2);
    return floats(wasm_i64x2_make(int64_t(some), 0));
  }
  // The bits of a half, moved to where a float has them, are the value · 2⁻¹¹².
  static f32x4 floats(v128_t halves) {
    const v128_t moved = wasm_i32x4_shl(wasm_i32x4_extend_low_i16x8(halves), 13);
    return f32x4{wasm_v128_and(moved, wasm_i32x4_splat(int(0x8fffe000)))} * splat(0x1p112f);
  }
};
struct Bytes {
  const unsigned char* row;
  float factor;
  explicit Bytes(const unsigned char* row) : row(row + 4) { std::memcpy(&factor, row, 4); }
  f32x4 value(ptrdiff_t i) const { return floats(wasm_v128_load32_zero(row + i)); }
  f32x4 last(ptrdiff_t i, int n) const {
    int32_t some = 0;
    std::memcpy(&some, row + i, size_t(n));
    return floats(wasm_i32x4_make(some, 0, 0, 0));
  }
  static f32x4 floats(v128_t bytes) {
    return {wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(bytes)))};
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

template <class Row>
static void unpack(const Row& row, int in, float* w) {
  const f32x4 factor = splat(row.factor);
  ptrdiff_t i = 0;
  for (; i + 4 <= in; i += 4) store(w + i, row.value(i) * factor);
  if (i < in) Some{size_t(in - i)}.store(w + i, row.last(i, int(in - i)) * factor);
}
void unpack_row(Precision precision, const unsigned char* row, int in, float* w) {
  if (precision == Precision::f16) unpack(Halves(row), in, w);
  else if (precision == Precision::int8) unpack(Bytes(row), in, w);
  else std::memcpy(w, row, size_t(in) * 4);
}

// y[j] = or += x · row j, two rows at a time in two chains each.
template <class Row>
static void dots(float* y, const float* x, const unsigned char* w, size_t bytes, int in, int out, bool accumulate) {
  auto put = [&](float& to, float value) { to = accumulate ? to + value : value; };
  ptrdiff_t j = 0;
  for (; j + 2 <= out; j += 2, w += 2 * bytes) {
    const Row a(w), b(w + bytes);
    f32x4 a0 = zero(), a1 = zero(), b0 = zero(), b1 = zero();
    ptrdiff_t i = 0;
    for (; i + 8 <= in; i += 8) {
      const f32x4 x0 = load(x + i), x1 = load(x + i + 4);
      a0 = madd(x0, a.value(i), a0), a1 = madd(x1, a.value(i + 4), a1);
      b0 = madd(x0, b.value(i), b0), b1 = madd(x1, b.value(i + 4), b1);
    }
    if (i + 4 <= in) a0 = madd(load(x + i), a.value(i), a0), b0 = madd(load(x + i), b.value(i), b0), i += 4;
    if (const int n = int(in - i)) {
      const f32x4 rest = Some{size_t(n)}.load(x + i);
      a1 = madd(rest, a.last(i, n), a1), b1 = madd(rest, b.last(i, n), b1);
    }
    put(y[j], sum(a0 + a1) * a.factor), put(y[j + 1], sum(b0 + b1) * b.factor);
  }
  if (j == out) return;
  const Row a(w);
  f32x4 total = zero();
  ptrdiff_t i = 0;
  for (; i + 4 <= in; i += 4) total = madd(load(x + i), a.value(i), total);
  if (const int n = int(in - i)) total = madd(Some{size_t(n)}.load(x + i), a.last(i, n), total);
  put(y[j], sum(total) * a.factor);
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
    parallel_ranges(out, 2, double(rows) * in, [&](ptrdiff_t first, ptrdiff_t last) {
      auto* some = w.precision == Precision::f16 ? dots<Halves> : dots<Bytes>;
      for (ptrdiff_t r = 0; r < rows; r++) some(y + r * out + first, x + r * in, w.data + first * bytes, bytes, in, int(last - first), accumulate);
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

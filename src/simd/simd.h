// Four floats at a time: the one place that knows the instruction set. WebAssembly compiles these as they are, native
// builds compile the same intrinsics through SIMDe, so both run the same algorithm.
#pragma once
#include <cstddef>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#if defined(__FMA__)
#include <immintrin.h>
#endif
#endif

namespace lw::simd {

struct f32x4 { v128_t bits; };

// No pointer needs to be aligned.
inline f32x4 load(const float* p) { return {wasm_v128_load(p)}; }
inline void store(float* p, f32x4 x) { wasm_v128_store(p, x.bits); }
inline f32x4 splat(float x) { return {wasm_f32x4_splat(x)}; }
inline f32x4 load_splat(const float* p) { return {wasm_v128_load32_splat(p)}; }
inline f32x4 zero() { return {wasm_i64x2_const(0, 0)}; }

inline f32x4 operator+(f32x4 a, f32x4 b) { return {wasm_f32x4_add(a.bits, b.bits)}; }
inline f32x4 operator-(f32x4 a, f32x4 b) { return {wasm_f32x4_sub(a.bits, b.bits)}; }
inline f32x4 operator*(f32x4 a, f32x4 b) { return {wasm_f32x4_mul(a.bits, b.bits)}; }
inline f32x4 operator/(f32x4 a, f32x4 b) { return {wasm_f32x4_div(a.bits, b.bits)}; }
inline f32x4 operator-(f32x4 a) { return {wasm_f32x4_neg(a.bits)}; }
inline f32x4& operator+=(f32x4& a, f32x4 b) { return a = a + b; }
inline f32x4& operator*=(f32x4& a, f32x4 b) { return a = a * b; }
inline f32x4 abs(f32x4 x) { return {wasm_f32x4_abs(x.bits)}; }
inline f32x4 sqrt(f32x4 x) { return {wasm_f32x4_sqrt(x.bits)}; }

// a·b + c. Rounds once or twice, whichever is faster: relaxed SIMD leaves that to the engine, so only the baseline
// binary promises the same bits everywhere.
inline f32x4 madd(f32x4 a, f32x4 b, f32x4 c) {
#if defined(__wasm_relaxed_simd__)
  return {wasm_f32x4_relaxed_madd(a.bits, b.bits, c.bits)};
#elif !defined(__wasm_simd128__) && defined(__FMA__)
  return {_mm_castps_si128(_mm_fmadd_ps(_mm_castsi128_ps(a.bits), _mm_castsi128_ps(b.bits), _mm_castsi128_ps(c.bits)))};
#else
  return a * b + c;
#endif
}

// One instruction where the IEEE minimum needs several. NaN in either operand: the result is a.
// So max(running, x) skips NaN in x, and max(x, bound) keeps it.
inline f32x4 min(f32x4 a, f32x4 b) { return {wasm_f32x4_pmin(a.bits, b.bits)}; }
inline f32x4 max(f32x4 a, f32x4 b) { return {wasm_f32x4_pmax(a.bits, b.bits)}; }

// Masks: all ones where true. Comparisons with NaN are false.
inline f32x4 operator<(f32x4 a, f32x4 b) { return {wasm_f32x4_lt(a.bits, b.bits)}; }
inline f32x4 operator<=(f32x4 a, f32x4 b) { return {wasm_f32x4_le(a.bits, b.bits)}; }
inline f32x4 both(f32x4 a, f32x4 b) { return {wasm_v128_and(a.bits, b.bits)}; }
inline bool all(f32x4 mask) { return wasm_i32x4_all_true(mask.bits); }
inline f32x4 select(f32x4 mask, f32x4 yes, f32x4 no) { return {wasm_v128_bitselect(yes.bits, no.bits, mask.bits)}; }
inline f32x4 zero_where(f32x4 mask, f32x4 x) { return {wasm_v128_andnot(x.bits, mask.bits)}; }

// Subnormal numbers become 0: a decaying average of nothing would otherwise stay subnormal, and slow, for ever.
inline f32x4 flush(f32x4 x) { return zero_where(abs(x) < splat(0x1p-126f), x); }

// Over the four lanes. The order of additions is part of the result: (0 + 2) + (1 + 3).
inline float sum(f32x4 x) {
  f32x4 half = x + f32x4{wasm_i32x4_shuffle(x.bits, x.bits, 2, 3, 0, 1)};
  return wasm_f32x4_extract_lane(half.bits, 0) + wasm_f32x4_extract_lane(half.bits, 1);
}
// NaN lanes may or may not show in the result.
inline float largest(f32x4 x) {
  f32x4 half = max(x, f32x4{wasm_i32x4_shuffle(x.bits, x.bits, 2, 3, 0, 1)});
  return wasm_f32x4_extract_lane(max(half, f32x4{wasm_i32x4_shuffle(half.bits, half.bits, 1, 0, 3, 2)}).bits, 0);
}

// Rows of a 4×4 block become its columns.
inline void transpose(f32x4& a, f32x4& b, f32x4& c, f32x4& d) {
  v128_t ab_low = wasm_i32x4_shuffle(a.bits, b.bits, 0, 4, 1, 5), ab_high = wasm_i32x4_shuffle(a.bits, b.bits, 2, 6, 3, 7);
  v128_t cd_low = wasm_i32x4_shuffle(c.bits, d.bits, 0, 4, 1, 5), cd_high = wasm_i32x4_shuffle(c.bits, d.bits, 2, 6, 3, 7);
  a.bits = wasm_i64x2_shuffle(ab_low, cd_low, 0, 2), b.bits = wasm_i64x2_shuffle(ab_low, cd_low, 1, 3);
  c.bits = wasm_i64x2_shuffle(ab_high, cd_high, 0, 2), d.bits = wasm_i64x2_shuffle(ab_high, cd_high, 1, 3);
}

// The loop over an array of any length: calls f(i, at) for i = 0, 4, 8 …, where at.load(p) and at.store(p, x) move four
// floats, or in the last call only those that are there; at.load gives `fill` for the missing ones.
struct Four {
  static f32x4 load(const float* p, float = 0) { return simd::load(p); }
  static void store(float* p, f32x4 x) { simd::store(p, x); }
};
struct Some {
  size_t count;  // 1, 2 or 3
  f32x4 load(const float* p, float fill = 0) const {
    float lanes[4] = {fill, fill, fill, fill};
    for (size_t i = 0; i < count; i++) lanes[i] = p[i];
    return simd::load(lanes);
  }
  void store(float* p, f32x4 x) const {
    float lanes[4];
    simd::store(lanes, x);
    for (size_t i = 0; i < count; i++) p[i] = lanes[i];
  }
};
template <class F>
inline void each(size_t count, F f) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) f(i, Four{});
  if (i < count) f(i, Some{count - i});
}

// Eight numbers as pairs: (a0 a1 a2 a3)(b0 b1 b2 b3) → the evens (a0 a2 b0 b2) and the odds (a1 a3 b1 b3), and back.
inline void unzip(f32x4& a, f32x4& b) {
  v128_t evens = wasm_i32x4_shuffle(a.bits, b.bits, 0, 2, 4, 6), odds = wasm_i32x4_shuffle(a.bits, b.bits, 1, 3, 5, 7);
  a.bits = evens, b.bits = odds;
}
inline void zip(f32x4& a, f32x4& b) {
  v128_t low = wasm_i32x4_shuffle(a.bits, b.bits, 0, 4, 1, 5), high = wasm_i32x4_shuffle(a.bits, b.bits, 2, 6, 3, 7);
  a.bits = low, b.bits = high;
}

// eʳ and n, where x = n·ln 2 + r, |r| ≤ ln 2 / 2. Adding `round`, 1.5·2²³ + m, rounds to an integer and leaves n + m in the
// low bits of `shifted`. ln 2 in two parts, the first with few enough bits that n times it is exact. The polynomial is the
// best one of degree 6 for |r| ≤ ln 2 / 2 (Remez), off by 3e-9 of eʳ.
inline f32x4 exp_of_rest(f32x4 x, float round, f32x4& shifted) {
  shifted = madd(x, splat(1.44269504f), splat(round));
  f32x4 n = shifted - splat(round);
  f32x4 r = madd(n, splat(-1.42860677e-6f), madd(n, splat(-0.693145751953125f), x));
  f32x4 p = madd(r, splat(1.38145813e-3f), splat(8.36872496e-3f));
  p = madd(r, p, splat(4.1668389e-2f));
  p = madd(r, p, splat(1.66665211e-1f));
  p = madd(r, p, splat(0.49999994f));
  return madd(r * r, p, r) + splat(1);
}

// eˣ within 1 ulp, whether madd is fused or not. −∞ → 0, +∞ and overflow → +∞, NaN → NaN; results below 2⁻¹²⁶ are 0,
// never subnormal.
inline f32x4 exp(f32x4 x) {
  const f32x4 low = splat(-87.33654f), high = splat(88.72283f);  // ln 2⁻¹²⁶ and ln of the largest float, rounded inwards
  f32x4 shifted, p = exp_of_rest(x, 12582912.0f, shifted);
  f32x4 y = {wasm_i32x4_add(p.bits, wasm_i32x4_shl(shifted.bits, 23))};  // n goes to the exponent
  y = select(x <= high, y, x * splat(__builtin_inff()));                 // also where x is NaN
  return zero_where(x < low, y);
}
// The same for x ≤ 88 or NaN, for a softmax, where 1 is the largest: a quarter cheaper, since 2ⁿ is a factor and NaN passes
// by itself. Below −64 it is 0: a sum of floats would not show e⁻⁶⁴, but its products could be subnormal, and each of these
// takes some processors as long as a hundred others.
constexpr float softmax_least = -64;
inline f32x4 softmax_exp(f32x4 x) {
  f32x4 shifted, p = exp_of_rest(x, 12582912.0f + 127, shifted);
  return zero_where(x < splat(softmax_least), p * f32x4{wasm_i32x4_shl(shifted.bits, 23)});
}

}  // namespace lw::simd

#include "simd/sincos.h"

#include <cmath>

#include "simd/simd.h"

namespace lw::simd {
namespace {

struct f64x2 { v128_t bits; };
f64x2 splat2(double x) { return {wasm_f64x2_splat(x)}; }
f64x2 operator+(f64x2 a, f64x2 b) { return {wasm_f64x2_add(a.bits, b.bits)}; }
f64x2 operator-(f64x2 a, f64x2 b) { return {wasm_f64x2_sub(a.bits, b.bits)}; }
f64x2 operator*(f64x2 a, f64x2 b) { return {wasm_f64x2_mul(a.bits, b.bits)}; }

constexpr double largest_angle = 0x1p27;

// x = n·π/2 + r, |r| ≤ π/4. π/2 in three parts, the first two with few enough bits that n times them is exact. Taylor's
// series up to r¹¹ and r¹⁰, wrong by 1.2e-10 at most; n mod 4 says which of the two it is, and its sign.
void sincos2(f64x2 x, f64x2& sine, f64x2& cosine) {
  const f64x2 round = splat2(0x1.8p52);  // leaves n in the low bits
  const f64x2 shifted = x * splat2(0.63661977236758134308) + round, n = shifted - round;
  const f64x2 r = ((x - n * splat2(0x1.921fb5p+0)) - n * splat2(0x1.110b46p-26)) - n * splat2(0x1.1a62633145c07p-54), z = r * r;
  f64x2 s = splat2(-1.0 / 39916800) * z + splat2(1.0 / 362880);
  s = s * z + splat2(-1.0 / 5040);
  s = s * z + splat2(1.0 / 120);
  s = s * z + splat2(-1.0 / 6);
  s = s * z * r + r;
  f64x2 c = splat2(-1.0 / 3628800) * z + splat2(1.0 / 40320);
  c = c * z + splat2(-1.0 / 720);
  c = c * z + splat2(1.0 / 24);
  c = c * z + splat2(-0.5);
  c = c * z + splat2(1);
  const v128_t one = wasm_i64x2_const(1, 1), top = wasm_i64x2_const(INT64_MIN, INT64_MIN);
  const v128_t odd = wasm_i64x2_eq(wasm_v128_and(shifted.bits, one), one);
  auto signed_by = [&](v128_t y, v128_t quarters) {  // bit 1 of the quarter turns
    return f64x2{wasm_v128_xor(y, wasm_v128_and(wasm_i64x2_shl(quarters, 62), top))};
  };
  sine = signed_by(wasm_v128_bitselect(c.bits, s.bits, odd), shifted.bits);
  cosine = signed_by(wasm_v128_bitselect(s.bits, c.bits, odd), wasm_i64x2_add(shifted.bits, one));
}

void store(double* p, f64x2 a, f64x2 b) { wasm_v128_store(p, a.bits), wasm_v128_store(p + 2, b.bits); }
void store(float* p, f64x2 a, f64x2 b) {
  wasm_v128_store(p, wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(a.bits), wasm_f32x4_demote_f64x2_zero(b.bits), 0, 2));
}

// Four angles; false where one of them is too large.
template <class T>
bool four(const double* angle, T* sine, T* cosine) {
  const f64x2 a{wasm_v128_load(angle)}, b{wasm_v128_load(angle + 2)}, most = splat2(largest_angle);
  const v128_t fit = wasm_v128_and(wasm_f64x2_le(wasm_f64x2_abs(a.bits), most.bits), wasm_f64x2_le(wasm_f64x2_abs(b.bits), most.bits));
  if (!wasm_i64x2_all_true(fit)) return false;
  f64x2 sine_a, cosine_a, sine_b, cosine_b;
  sincos2(a, sine_a, cosine_a), sincos2(b, sine_b, cosine_b);
  store(sine, sine_a, sine_b), store(cosine, cosine_a, cosine_b);
  return true;
}

// Beyond, as the library does it, which reduces angles of any size.
template <class T>
void one(const double* angle, T* sine, T* cosine) {
  const double padded[4] = {*angle};
  T sines[4], cosines[4];
  if (four(padded, sines, cosines)) *sine = sines[0], *cosine = cosines[0];
  else *sine = T(std::sin(*angle)), *cosine = T(std::cos(*angle));
}

template <class T>
void all(const double* angle, size_t count, T* sine, T* cosine) {
  for (size_t i = 0; i < count;) {
    size_t end = i + 4 <= count ? i + 4 : count;
    if (end == i + 4 && four(angle + i, sine + i, cosine + i)) i = end;
    for (; i < end; i++) one(angle + i, sine + i, cosine + i);
  }
}

}  // namespace

void sincos(const double* angle, size_t count, double* sine, double* cosine) { all(angle, count, sine, cosine); }
void sincos(const double* angle, size_t count, float* sine, float* cosine) { all(angle, count, sine, cosine); }

// sin(a + b) = sin a · cos b + cos a · sin b,  cos(a + b) = cos a · cos b − sin a · sin b
void add_angles(const double* a, const double* b, size_t count, float* out) {
  auto at = [](const double* p) { return f64x2{wasm_v128_load(p)}; };
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    f64x2 sine[2], cosine[2];
    for (size_t n = 0; n < 2; n++) {
      const size_t j = i + 2 * n;
      const f64x2 sa = at(a + j), ca = at(a + count + j), sb = at(b + j), cb = at(b + count + j);
      sine[n] = sa * cb + ca * sb, cosine[n] = ca * cb - sa * sb;
    }
    store(out + i, sine[0], sine[1]), store(out + count + i, cosine[0], cosine[1]);
  }
  for (; i < count; i++) {
    out[i] = float(a[i] * b[count + i] + a[count + i] * b[i]);
    out[count + i] = float(a[count + i] * b[count + i] - a[i] * b[i]);
  }
}

}  // namespace lw::simd

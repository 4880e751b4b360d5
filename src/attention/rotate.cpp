// Rotation of pairs, in place: (a, b) → (a·cos − b·sin, b·cos + a·sin). Its backward is the same with the sine negated.
// A gain stands in the cosines and sines.
#include "attention/attention.h"
#include "simd/simd.h"

namespace lw {
namespace {

using simd::f32x4;

// Where the two numbers of pair k lie in a head vector.
template <bool half> int first_of(int k, int) { return half ? k : 2 * k; }
template <bool half> int second_of(int k, int pairs) { return half ? k + pairs : 2 * k + 1; }

// Four pairs from k on.
template <bool half>
void load_pairs(const float* head, int k, int pairs, f32x4& a, f32x4& b) {
  if (half) a = simd::load(head + k), b = simd::load(head + k + pairs);
  else a = simd::load(head + 2 * k), b = simd::load(head + 2 * k + 4), simd::unzip(a, b);
}
template <bool half>
void store_pairs(float* head, int k, int pairs, f32x4 a, f32x4 b) {
  if (half) simd::store(head + k, a), simd::store(head + k + pairs, b);
  else simd::zip(a, b), simd::store(head + 2 * k, a), simd::store(head + 2 * k + 4, b);
}

template <bool half>
void turn(float* head, const float* cosine, const float* sine, int pairs, float sign) {
  int k = 0;
  for (; k + 4 <= pairs; k += 4) {
    f32x4 a, b;
    load_pairs<half>(head, k, pairs, a, b);
    const f32x4 c = simd::load(cosine + k), s = simd::load(sine + k) * simd::splat(sign);
    store_pairs<half>(head, k, pairs, a * c - b * s, b * c + a * s);
  }
  for (; k < pairs; k++) {
    float &a = head[first_of<half>(k, pairs)], &b = head[second_of<half>(k, pairs)];
    const float s = sine[k] * sign, turned = a * cosine[k] - b * s;
    b = b * cosine[k] + a * s, a = turned;
  }
}

// The angle's gradient: d(a, b)/d(angle) = (−b, a).
template <bool half>
void angle_gradient(const float* head, const float* dhead, int pairs, float* angle) {
  int k = 0;
  for (; k + 4 <= pairs; k += 4) {
    f32x4 a, b, da, db;
    load_pairs<half>(head, k, pairs, a, b), load_pairs<half>(dhead, k, pairs, da, db);
    simd::store(angle + k, simd::load(angle + k) + (db * a - da * b));
  }
  for (; k < pairs; k++) {
    const int a = first_of<half>(k, pairs), b = second_of<half>(k, pairs);
    angle[k] += dhead[b] * head[a] - dhead[a] * head[b];
  }
}

}  // namespace

void rotate(const Rotation& rotation, Side side, float* x, ptrdiff_t stride, int count, int heads, int head_dim, int first, bool adjoint) {
  const int pairs = rotation.pairs;
  if (pairs == 0) return;
  const auto kernel = rotation.pairing == Pairing::half ? turn<true> : turn<false>;
  const bool own = side == Side::key && !rotation.key_cosine.empty();
  const Buffer<float> &cosine = own ? rotation.key_cosine : rotation.cosine, &sine = own ? rotation.key_sine : rotation.sine;
  for (int t = 0; t < count; t++) {
    const size_t row = size_t(first + t) * pairs;
    for (int h = 0; h < heads; h++)
      kernel(x + t * stride + ptrdiff_t(h) * head_dim, &cosine[row], &sine[row], pairs, adjoint ? -1 : 1);
  }
}

void rotate_angle_backward(const Rotation& rotation, const float* rotated, const float* dx, ptrdiff_t stride, int count,
                           int heads, int head_dim, int first, float* angle) {
  const int pairs = rotation.pairs;
  const auto kernel = rotation.pairing == Pairing::half ? angle_gradient<true> : angle_gradient<false>;
  for (int t = 0; t < count; t++)
    for (int h = 0; h < heads; h++) {
      const ptrdiff_t head = t * stride + ptrdiff_t(h) * head_dim;
      kernel(rotated + head, dx + head, pairs, angle + size_t(first + t) * pairs);
    }
}

}  // namespace lw

// Rotation of pairs, in place: (a, b) → (a·cos − b·sin, b·cos + a·sin). Its backward is the same with the sine negated.
// A gain stands in the cosines and sines.
#include <vector>

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

struct Turns { const Buffer<float> &cosine, &sine; };
Turns turns_of(const Rotation& r, Side side) {
  if (side == Side::key && !r.key_cosine.empty()) return {r.key_cosine, r.key_sine};
  return {r.cosine, r.sine};
}

}  // namespace

void rotate(const Rotation& rotation, Side side, float* x, ptrdiff_t stride, int count, int heads, int head_dim, int first, bool adjoint) {
  const int pairs = rotation.pairs;
  if (pairs == 0) return;
  const auto kernel = rotation.pairing == Pairing::half ? turn<true> : turn<false>;
  const Turns turns = turns_of(rotation, side);
  for (int t = 0; t < count; t++) {
    const size_t row = size_t(first + t) * pairs;
    for (int h = 0; h < heads; h++)
      kernel(x + t * stride + ptrdiff_t(h) * head_dim, &turns.cosine[row], &turns.sine[row], pairs, adjoint ? -1 : 1);
  }
}

// The quotient of two turns, as of complex numbers.
void turn_on(const Rotation& rotation, Side side, float* x, ptrdiff_t stride, int count, int heads, int head_dim, int from, int to) {
  const int pairs = rotation.pairs;
  if (pairs == 0) return;
  const auto kernel = rotation.pairing == Pairing::half ? turn<true> : turn<false>;
  const Turns turns = turns_of(rotation, side);
  std::vector<float> cosine(pairs), sine(pairs);
  for (int t = 0; t < count; t++) {
    for (int k = 0; k < pairs; k++) {
      const size_t old = size_t(from + t) * pairs + k, now = size_t(to + t) * pairs + k;
      const double c = turns.cosine[old], s = turns.sine[old], square = c * c + s * s;
      cosine[k] = float((turns.cosine[now] * c + turns.sine[now] * s) / square);
      sine[k] = float((turns.sine[now] * c - turns.cosine[now] * s) / square);
    }
    for (int h = 0; h < heads; h++) kernel(x + t * stride + ptrdiff_t(h) * head_dim, cosine.data(), sine.data(), pairs, 1);
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

// Rotation of pairs, in place: (a, b) → (a·cos − b·sin, b·cos + a·sin). Its backward is the same with the sine negated.
#include "attention/attention.h"

namespace lw {

void rotate(const Rotation& rotation, float* x, ptrdiff_t stride, int count, int heads, int head_dim, int first, bool inverse) {
  const int pairs = rotation.pairs;
  const bool half = rotation.pairing == Pairing::half;
  for (int t = 0; t < count; t++) {
    const float* cosine = rotation.cosine.data() + size_t(first + t) * pairs;
    const float* sine = rotation.sine.data() + size_t(first + t) * pairs;
    for (int h = 0; h < heads; h++) {
      float* head = x + t * stride + ptrdiff_t(h) * head_dim;
      for (int k = 0; k < pairs; k++) {
        float &a = head[half ? k : 2 * k], &b = head[half ? k + pairs : 2 * k + 1];
        float s = inverse ? -sine[k] : sine[k], turned = a * cosine[k] - b * s;
        b = b * cosine[k] + a * s, a = turned;
      }
    }
  }
}

void rotate_angle_backward(const Rotation& rotation, const float* rotated, const float* dx, ptrdiff_t stride, int count,
                           int heads, int head_dim, int first, float* angle) {
  const int pairs = rotation.pairs;
  const bool half = rotation.pairing == Pairing::half;
  for (int t = 0; t < count; t++)
    for (int h = 0; h < heads; h++) {
      const ptrdiff_t head = t * stride + ptrdiff_t(h) * head_dim;
      for (int k = 0; k < pairs; k++) {
        const ptrdiff_t a = head + (half ? k : 2 * k), b = head + (half ? k + pairs : 2 * k + 1);
        angle[size_t(first + t) * pairs + k] += dx[b] * rotated[a] - dx[a] * rotated[b];
      }
    }
}

}  // namespace lw

#include "attention/cache.h"

#include <algorithm>

namespace lw {

bool KeyValueCache::reserve(int length) {
  if (length <= room_) return true;
  Buffer<float> keys, values;
  const size_t head = size_t(length) * head_dim_;
  if (!sized(keys, uint64_t(length) * head_dim_, kv_heads_) || !sized(values, uint64_t(length) * head_dim_, kv_heads_)) return false;
  for (int h = 0; h < kv_heads_ && length_ > 0; h++) {
    const size_t kept = size_t(length_) * head_dim_ * sizeof(float);
    std::memcpy(keys.data() + h * head, this->keys(h), kept), std::memcpy(values.data() + h * head, this->values(h), kept);
  }
  keys_ = std::move(keys), values_ = std::move(values), room_ = length;
  return true;
}

bool KeyValueCache::append(const Rotation& rotation, const float* k, ptrdiff_t k_stride, const float* v, ptrdiff_t v_stride,
                           int count) {
  const int least = length_ + count;
  if (least > room_ && !reserve(std::max({2 * length_, least, 16})) && !reserve(least)) return false;
  for (int h = 0; h < kv_heads_; h++) {
    const ptrdiff_t head = ptrdiff_t(h) * head_dim_, end = ptrdiff_t(length_) * head_dim_;
    float *to_keys = keys(h) + end, *to_values = values(h) + end;
    for (ptrdiff_t t = 0; t < count; t++) {
      std::memcpy(to_keys + t * head_dim_, k + t * k_stride + head, head_dim_ * sizeof(float));
      std::memcpy(to_values + t * head_dim_, v + t * v_stride + head, head_dim_ * sizeof(float));
    }
    if (turn_keys_) rotate(rotation, Side::key, to_keys, head_dim_, count, 1, head_dim_, length_, false);
  }
  length_ += count;
  return true;
}

void KeyValueCache::serve(AttentionInput& in, int queries) {
  in.queries = queries, in.keys = length_, in.offset = length_ - queries;
  in.kv_heads = kv_heads_, in.head_dim = head_dim_, in.keys_rotated = turn_keys_;
  in.state = &state_;
  in.k = keys_.data(), in.v = values_.data(), in.k_stride = in.v_stride = head_dim_, in.head_stride = head_stride();
}

}  // namespace lw

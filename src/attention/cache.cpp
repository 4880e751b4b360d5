#include "attention/cache.h"

#include <algorithm>

namespace lw {

bool KeyValueCache::reserve(int length) {
  const size_t floats = size_t(length) * size_t(stride());
  return (floats <= keys_.size() || keys_.resize(floats)) && (floats <= values_.size() || values_.resize(floats));
}

bool KeyValueCache::append(const Rotation& rotation, const float* k, ptrdiff_t k_stride, const float* v, ptrdiff_t v_stride,
                           int count) {
  const size_t row = size_t(stride()), needed = (size_t(length_) + count) * row;
  if (needed > std::min(keys_.size(), values_.size())) {
    const int least = length_ + count, doubled = std::max({2 * length_, least, 16});
    if (!reserve(doubled) && !reserve(least)) return false;
  }
  float *keys = keys_.data() + length_ * row, *values = values_.data() + length_ * row;
  for (int t = 0; t < count; t++) {
    std::memcpy(keys + t * row, k + t * k_stride, row * sizeof(float));
    std::memcpy(values + t * row, v + t * v_stride, row * sizeof(float));
  }
  if (turn_keys_) rotate(rotation, Side::key, keys, stride(), count, kv_heads_, head_dim_, length_, false);
  length_ += count;
  return true;
}

void KeyValueCache::serve(AttentionInput& in, int queries) {
  in.queries = queries, in.keys = length_, in.offset = length_ - queries;
  in.kv_heads = kv_heads_, in.head_dim = head_dim_, in.keys_rotated = turn_keys_;
  in.state = &state_;
  in.k = keys_.data(), in.v = values_.data(), in.k_stride = in.v_stride = stride();
}

}  // namespace lw

// Keys and values of the tokens so far: one layer of one sequence, for decoding. Each head's lie together, [head][room][head_dim]:
// a new token reads all of them, and reading in order takes a third of the time.
#pragma once
#include "attention/attention.h"

namespace lw {

class KeyValueCache {
 public:
  // Keys are turned once, when they come, and never again: attention() is then called with keys_rotated. An encoding whose
  // frequencies depend on the length (Stack::length_dependent), or linear attention, needs them as they are: turn_keys = false.
  KeyValueCache() = default;
  KeyValueCache(int kv_heads, int head_dim, bool turn_keys) : kv_heads_(kv_heads), head_dim_(head_dim), turn_keys_(turn_keys) {}

  // Grows by doubling. Tokens length() … length() + count − 1; token t's keys (all heads) at k + t·k_stride. `rotation` covers them all (only
  // looked at when keys are turned). False: out of memory, nothing changed.
  [[nodiscard]] bool append(const Rotation& rotation, const float* k, ptrdiff_t k_stride, const float* v, ptrdiff_t v_stride,
                            int count);
  void truncate(int length) {
    if (length < length_) length_ = length;
    if (length < state_.tokens) state_.tokens = 0;
  }
  void clear() { truncate(0); }

  int length() const { return length_; }
  bool keys_rotated() const { return turn_keys_; }
  float* keys(int head) { return keys_.data() + head * head_stride(); }      // [length][head_dim]
  float* values(int head) { return values_.data() + head * head_stride(); }  // likewise
  // Points an input at what is cached; queries are the last `queries` tokens.
  void serve(AttentionInput& in, int queries);

 private:
  // Room for so many tokens. False: out of memory, nothing changed.
  [[nodiscard]] bool reserve(int length);
  ptrdiff_t head_stride() const { return ptrdiff_t(room_) * head_dim_; }

  int kv_heads_ = 1, head_dim_ = 1, length_ = 0, room_ = 0;  // room: tokens that there is memory for
  bool turn_keys_ = true;
  Buffer<float> keys_, values_;
  LinearState state_;
};

}  // namespace lw

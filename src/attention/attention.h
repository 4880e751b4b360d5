// Attention over one sequence: any rectangle of queries and keys, with whatever the plan opens.
//   s_ij = scale_i · (rot(q_i)·rot(k_j)·score_scale + content_ij + bias_ij),  z_i = Σ_j softmax_j(s_ij) v_j (+ value term)
// reference.cpp is the plain three-loop version; fused.cpp works in tiles with an online softmax and O(T) memory;
// backward.cpp recomputes the scores through the same inline function as fused.cpp. Where the plan is linear,
//   z_i = Σ_j (rot(φ(q_i))·rot(φ(k_j))) v_j / Σ_j φ(q_i)·φ(k_j),  φ = elu + 1
// and linear.cpp, which needs time in proportion to the length, stands in for both.
#pragma once
#include "position/doors.h"

namespace lw {

using Contents = std::span<const std::unique_ptr<ContentTerm>>;

// What linear attention knows of tokens 0 … tokens − 1: Σ rot(φ(k)) vᵀ and, as one row more, Σ φ(k).
struct LinearState {
  int tokens = 0;
  Buffer<float> sums;  // [kv_heads][D + 1][D rounded up to 4]
};

// Query r is token offset + r; keys are tokens 0 … keys − 1. Head h of token t lies at base + t·stride + h·head_dim, query
// head h reads key/value head h / (heads / kv_heads). Pointers need not be aligned. A row that sees nothing yields zeros.
struct AttentionInput {
  int queries = 0, keys = 0, offset = 0;
  int heads = 1, kv_heads = 1, head_dim = 1;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  ptrdiff_t q_stride = 0, k_stride = 0, v_stride = 0;  // floats from token to token
  ptrdiff_t head_stride = 0;  // floats from one head of k, or of v, to the next; 0: head_dim
  bool keys_rotated = false;  // k comes from a cache that holds rotated keys: rotate only q. Never where the plan is linear
  LinearState* state = nullptr;  // linear attention goes on from here, unless it knows too much, and leaves what it knows now

  // Of one key/value head, from token t on.
  const float* key(int kv, ptrdiff_t t) const { return k + t * k_stride + kv * (head_stride ? head_stride : head_dim); }
  const float* value(int kv, ptrdiff_t t) const { return v + t * v_stride + kv * (head_stride ? head_stride : head_dim); }
};

// Everything that attention needs beyond inputs and output. Reused between calls. With n threads up to n times as much.
struct AttentionScratch { Buffer<float> floats; };

// plan covers tokens 0 … max(keys, offset + queries) − 1 at least. Content terms have had begin() and sequence() already.
// out: row r, head h at out + r·out_stride + h·head_dim. lse: log-sum-exp [heads][queries], or nullptr (−∞ for an empty row);
// where the plan is linear, the logarithm of the denominator. A key that weighs less than e⁻⁶⁴ of its row's heaviest weighs 0;
// whole tiles of such keys are not even multiplied, where a bias shows that they are. False: out of memory.
[[nodiscard]] bool attention(const AttentionInput& in, const Plan& plan, Contents contents, float* out, ptrdiff_t out_stride,
                             float* lse, AttentionScratch& scratch);
[[nodiscard]] bool attention_reference(const AttentionInput& in, const Plan& plan, Contents contents, float* out,
                                       ptrdiff_t out_stride, float* lse);

// Gradients. dq, dk, dv have the strides of q, k, v and are written (=), not accumulated; offset must be 0 and
// keys == queries (training), keys_rotated false and head_stride 0. `gradient` (may be nullptr) is accumulated for its
// non-empty parts.
// Content terms: begin() and sequence() have been called for this sequence; afterwards call sequence_backward().
struct AttentionGradient { float *dq, *dk, *dv; PlanGradient* plan; };
[[nodiscard]] bool attention_backward(const AttentionInput& in, const Plan& plan, Contents contents, const float* out,
                                      const float* dout, ptrdiff_t out_stride, const float* lse,
                                      const AttentionGradient& gradient, AttentionScratch& scratch);

// The same two where the plan is linear: those above call these.
[[nodiscard]] bool linear_attention(const AttentionInput& in, const Plan& plan, float* out, ptrdiff_t out_stride, float* lse,
                                    AttentionScratch& scratch);
[[nodiscard]] bool linear_attention_backward(const AttentionInput& in, const Plan& plan, const float* out, const float* dout,
                                             ptrdiff_t out_stride, const float* lse, const AttentionGradient& gradient,
                                             AttentionScratch& scratch);

// Rotates head vectors in place: x + t·stride + h·head_dim for t < count, h < heads, as queries or keys of token first + t;
// adjoint turns the other way with the same gain: the backward of the forward, and its inverse where the gain is 1.
void rotate(const Rotation& rotation, Side side, float* x, ptrdiff_t stride, int count, int heads, int head_dim, int first, bool adjoint);
// Turns head vectors on that were rotated for tokens from + t, so that they are as if rotated for tokens to + t: cached keys
// after those before them were dropped. A gain that both have is not applied again.
void turn_on(const Rotation& rotation, Side side, float* x, ptrdiff_t stride, int count, int heads, int head_dim, int from, int to);
// rotated: the rotated vectors, dx: gradient with respect to them; angle [·][pairs] of token first + t += …
void rotate_angle_backward(const Rotation& rotation, const float* rotated, const float* dx, ptrdiff_t stride, int count,
                           int heads, int head_dim, int first, float* angle);

}  // namespace lw

// Linear attention: one state for each key/value head, walked along the sequence. With a = rot(φ(q)), b = rot(φ(k)):
//   S = Σ_j b_j v_jᵀ,  s = Σ_j φ(k_j) over the keys that a query sees,  z = Sᵀa/n,  n = φ(q)·s
// Backward: the same walk gives the gradients of the queries. The walk back, along which queries add up as keys did, gives
// those of keys and values. With u = dz/n and w = −u·z:
//   da = S·u, dφ(q) = w·s;  G = Σ_i a_i u_iᵀ, g = Σ_i w_i φ(q_i),  db = G·v, dφ(k) = g, dv = Gᵀb
#include "attention/products.h"
#include "parallel/threads.h"
#include "simd/vector_matrix.h"

namespace lw {
namespace {

using namespace attention_detail;

struct Job {
  const AttentionInput& in;
  const Plan& plan;
  int D, W;                                      // head width, and padded
  float *phi, *turned, *vector, *dturned, *own;  // scratch, [W] each, and a state [D + 1][W]

  size_t state_size() const { return size_t(D + 1) * W; }
  int group() const { return in.heads / in.kv_heads; }
  // How many keys query r sees: the first ones.
  int seen(int r) const { return plan.causal ? std::min(in.offset + r + 1, in.keys) : in.keys; }
  const float* q(int h, int r) const { return in.q + r * in.q_stride + ptrdiff_t(h) * D; }
  const float* k(int g, int t) const { return in.key(g, t); }
  const float* v(int g, int t) const { return in.value(g, t); }
};

// Whatever the length, the scratch is the same, one for each thread.
size_t scratch_size(int head_dim) { return size_t(4 + head_dim + 1) * padded(head_dim); }
Job job_of(const AttentionInput& in, const Plan& plan, AttentionScratch& scratch, int thread) {
  const int D = in.head_dim, W = padded(D);
  float* own = scratch.floats.data() + thread * scratch_size(D);
  return {in, plan, D, W, own, own + W, own + 2 * W, own + 3 * W, own + 4 * W};
}
bool worth(const AttentionInput& in) {
  return worth_sharing <= double(in.heads) * std::max(in.queries, in.keys) * in.head_dim * in.head_dim;
}

// φ(x) = elu(x) + 1, and turned.
void features(const Job& job, Side side, const float* x, int token) {
  pack_rows(x, 0, 1, job.D, 1, job.phi);
  for (int d = 0; d < job.D; d += 4) {
    const f32x4 y = simd::load(job.phi + d);
    simd::store(job.phi + d, simd::select(simd::zero() < y, y + simd::splat(1), simd::exp(y)));
  }
  for (int d = job.D; d < job.W; d++) job.phi[d] = 0;
  std::copy_n(job.phi, job.W, job.turned);
  rotate(job.plan.rotation, side, job.turned, job.W, 1, 1, job.D, token, false);
}
// φ' = min(φ, 1). angle: of the plan's gradient, or nullptr.
void features_backward(const Job& job, Side side, const float* dphi, float factor, int token, float* angle, float* dx) {
  const Rotation& rotation = job.plan.rotation;
  if (angle) rotate_angle_backward(rotation, job.turned, job.dturned, job.W, 1, 1, job.D, token, angle);
  rotate(rotation, side, job.dturned, job.W, 1, 1, job.D, token, true);
  for (int d = 0; d < job.D; d++) dx[d] = (job.dturned[d] + factor * dphi[d]) * std::min(job.phi[d], 1.f);
}

// state += turned·vectorᵀ, its last row += factor·φ
void accumulate(const Job& job, float factor, float* state) {
  spread<1>(job.turned, 0, job.vector, job.W, 0, job.D, state);
  spread<1>(&factor, 0, job.phi, job.W, 0, 1, state + ptrdiff_t(job.D) * job.W);
}
void accumulate_key(const Job& job, int g, int t, float* state) {
  features(job, Side::key, job.k(g, t), t);
  pack_rows(job.v(g, t), 0, 1, job.D, 1, job.vector);
  accumulate(job, 1, state);
}
// out [D] = factor · stateᵀ·turned
void read(const Job& job, const float* state, float factor, float* out) {
  clear(job.vector, job.W);
  mix<1>(job.turned, 0, state, job.W, 0, job.D, job.vector);
  copy(job.vector, job.D, factor, out);
}

}  // namespace

bool linear_attention(const AttentionInput& in, const Plan& plan, float* out, ptrdiff_t out_stride, float* lse,
                      AttentionScratch& scratch) {
  const bool shared = worth(in);
  const size_t state_size = size_t(in.head_dim + 1) * padded(in.head_dim);
  if (!scratch.floats.resize(scratch_size(in.head_dim) * (shared ? threads() : 1)) ||
      (in.state && !in.state->sums.resize(in.kv_heads * state_size)))
    return false;
  const int known = in.state && in.state->tokens <= in.offset ? in.state->tokens : 0;
  parallel_if(shared, in.kv_heads, [&](int g, int thread) {
    const Job job = job_of(in, plan, scratch, thread);
    float* state = in.state ? in.state->sums.data() + g * state_size : job.own;
    if (known == 0) clear(state, state_size);
    for (int r = 0, t = known; r < in.queries; r++) {
      for (; t < job.seen(r); t++) accumulate_key(job, g, t, state);
      for (int h = g * job.group(); h < (g + 1) * job.group(); h++) {
        features(job, Side::query, job.q(h, r), in.offset + r);
        const float total = dot(job.phi, state + ptrdiff_t(job.D) * job.W, job.W);
        read(job, state, total == 0 ? 0 : 1 / total, out + r * out_stride + ptrdiff_t(h) * job.D);
        if (lse) lse[size_t(h) * in.queries + r] = std::log(total);
      }
    }
  });
  if (in.state) in.state->tokens = in.queries ? std::max(known, job_of(in, plan, scratch, 0).seen(in.queries - 1)) : known;
  return true;
}

bool linear_attention_backward(const AttentionInput& in, const Plan& plan, const float* out, const float* dout,
                               ptrdiff_t out_stride, const float* lse, const AttentionGradient& gradient,
                               AttentionScratch& scratch) {
  float* angle = gradient.plan && !gradient.plan->angle.empty() ? gradient.plan->angle.data() : nullptr;
  const bool shared = worth(in) && !angle;  // to which all heads add
  if (!scratch.floats.resize(scratch_size(in.head_dim) * (shared ? threads() : 1))) return false;
  parallel_if(shared, in.kv_heads, [&](int g, int thread) {
    const Job job = job_of(in, plan, scratch, thread);
    const int D = job.D, W = job.W, first = g * job.group(), end = first + job.group();
    float *state = job.own, *last = state + ptrdiff_t(D) * W;
    // The features of a query and, in `vector`, u; returns w.
    auto query = [&](int h, int r) {
      const ptrdiff_t row = r * out_stride + ptrdiff_t(h) * D;
      const float n = lse[size_t(h) * in.queries + r];
      features(job, Side::query, job.q(h, r), r);
      pack_rows(dout + row, 0, 1, D, n == minus_infinity ? 0 : std::exp(-n), job.vector);
      return -dot(job.vector, out + row, D);
    };
    auto vector_through = [&] { simd::dots(job.dturned, job.vector, state, W, D, D, false); };

    clear(state, job.state_size());
    for (int r = 0, t = 0; r < in.queries; r++) {
      for (; t < job.seen(r); t++) accumulate_key(job, g, t, state);
      for (int h = first; h < end; h++) {
        const float w = query(h, r);
        vector_through();
        features_backward(job, Side::query, last, w, r, angle, gradient.dq + r * in.q_stride + ptrdiff_t(h) * D);
      }
    }
    clear(state, job.state_size());
    for (int t = in.keys - 1, r = in.queries; t >= 0; t--) {
      for (; r > 0 && t < job.seen(r - 1); r--)
        for (int h = first; h < end; h++) accumulate(job, query(h, r - 1), state);
      features(job, Side::key, job.k(g, t), t);
      read(job, state, 1, gradient.dv + t * in.v_stride + ptrdiff_t(g) * D);
      pack_rows(job.v(g, t), 0, 1, D, 1, job.vector);
      vector_through();
      features_backward(job, Side::key, last, 1, t, angle, gradient.dk + t * in.k_stride + ptrdiff_t(g) * D);
    }
  });
  return true;
}

}  // namespace lw

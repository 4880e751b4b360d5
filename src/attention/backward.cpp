#include <cmath>
#include <limits>

#include "attention/score.h"

namespace lw {
using namespace attention_detail;

bool attention_backward(const AttentionInput& in, const Plan& plan, Contents contents, const float* out, const float* dout,
                        ptrdiff_t out_stride, const float* lse, const AttentionGradient& gradient, AttentionScratch& scratch) {
  const int D = in.head_dim, T = in.keys, group = in.heads / in.kv_heads;
  const float sc = score_scale(plan, D);
  // q, k rotated; dk, dv, rows
  if (!scratch.floats.resize(size_t(T) * D * 2 + T * 4 + 4 * D)) return false;
  float* K = scratch.floats.data();
  float* dK = K + T * D;
  float *raw = dK + T * D, *s = raw + T, *dp = s + T, *draw = dp + T, *q = draw + T, *dq = q + D, *dqc = dq + D;
  PlanGradient* pg = gradient.plan;
  for (int t = 0; t < T; t++)
    for (int d = 0; d < in.kv_heads * D; d++) gradient.dk[t * in.k_stride + d] = gradient.dv[t * in.v_stride + d] = 0;
  for (int kv = 0; kv < in.kv_heads; kv++) {
    for (int j = 0; j < T; j++)
      for (int d = 0; d < D; d++) K[j * D + d] = in.k[j * in.k_stride + kv * D + d], dK[j * D + d] = 0;
    rotate(plan.rotation, K, D, T, 1, D, 0, false);
    for (int h = kv * group; h < (kv + 1) * group; h++)
      for (int i = 0; i < T; i++) {
        const float* go = dout + i * out_stride + h * D;
        float* gq = gradient.dq + i * in.q_stride + h * D;
        for (int d = 0; d < D; d++) gq[d] = 0;
        auto see = seen(plan, i, T);
        float L = lse[size_t(h) * T + i];
        if (L == -std::numeric_limits<float>::infinity()) continue;
        int first = T, last = 0;
        for (auto [a, b] : see) if (a < std::min(b, T)) first = std::min(first, a), last = std::max(last, std::min(b, T));
        float delta = 0;
        for (int d = 0; d < D; d++) {
          q[d] = in.q[i * in.q_stride + h * D + d];
          delta += go[d] * out[i * out_stride + h * D + d];
          dq[d] = dqc[d] = 0;
        }
        rotate(plan.rotation, q, D, 1, 1, D, i, false);
        for (int j = first; j < last; j++) {
          float dot = 0;
          for (int d = 0; d < D; d++) dot += q[d] * K[j * D + d];
          raw[j] = s[j] = dot * sc, dp[j] = 0, draw[j] = 0;
        }
        Row row{h, i, in.q + i * in.q_stride + h * D, first, last};
        for (auto& c : contents) c->row(row, raw, s);
        float scale = row_scale(plan, h, i), dscale = 0;
        // s: weights; draw: score before the scale
        for (int j = first; j < last; j++) {
          bool visible = false;
          for (auto [a, b] : see) visible |= a <= j && j < b;
          float t = s[j] + (plan.bias.table.empty() ? 0 : plan.bias.row(h, i)[j]);
          s[j] = visible ? std::exp(t * scale - L) : 0, draw[j] = t;
        }
        for (auto& c : contents) c->read_backward(row, s, go, dp);
        for (int j = first; j < last; j++) {
          for (int d = 0; d < D; d++) dp[j] += go[d] * in.v[j * in.v_stride + kv * D + d];
          for (int d = 0; d < D; d++) gradient.dv[j * in.v_stride + kv * D + d] += s[j] * go[d];
          float ds = s[j] * (dp[j] - delta);
          if (ds != 0) dscale += ds * draw[j];
          s[j] = draw[j] = ds * scale;
          if (pg && !pg->bias.empty()) pg->bias[plan.bias.index(h, i) + j] += s[j];
        }
        if (pg && !pg->scale.empty()) pg->scale[size_t(h) * plan.length + i] += dscale;
        for (auto& c : contents) c->row_backward(row, raw, s, draw, dqc);
        for (int j = first; j < last; j++)
          for (int d = 0; d < D; d++) dq[d] += sc * draw[j] * K[j * D + d], dK[j * D + d] += sc * draw[j] * q[d];
        if (pg && !pg->angle.empty()) rotate_angle_backward(plan.rotation, q, dq, D, 1, 1, D, i, pg->angle.data());
        rotate(plan.rotation, dq, D, 1, 1, D, i, true);
        for (int d = 0; d < D; d++) gq[d] = dq[d] + dqc[d];
      }
    if (pg && !pg->angle.empty()) rotate_angle_backward(plan.rotation, K, dK, D, T, 1, D, 0, pg->angle.data());
    rotate(plan.rotation, dK, D, T, 1, D, 0, true);
    for (int j = 0; j < T; j++)
      for (int d = 0; d < D; d++) gradient.dk[j * in.k_stride + kv * D + d] = dK[j * D + d];
  }
  return true;
}
}  // namespace lw

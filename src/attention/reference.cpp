// Attention as its definition says: three loops, in double. Everything faster is tested against this.
#include <cmath>
#include <limits>

#include "attention/attention.h"

namespace lw {
namespace {

bool sees(const Plan& plan, int query, int key) {
  const Pattern& pattern = plan.pattern;
  if (pattern.begin.empty()) return !plan.causal || key <= query;
  for (int n = pattern.begin[query]; n < pattern.begin[query + 1]; n++)
    if (pattern.intervals[n].first <= key && key < pattern.intervals[n].last) return true;
  return false;
}

int zone_of(const Plan& plan, int query, int key) {
  int zone = 0;
  while (zone + 1 < plan.zone_count() && key < plan.zones[zone].first[query]) zone++;
  return zone;
}

// Head vector x of token `token`, turned.
template <class T>
void turn(const Rotation& rotation, Side side, const T* x, int head_dim, int token, double* out) {
  const bool own = side == Side::key && !rotation.key_cosine.empty();
  for (int d = 0; d < head_dim; d++) out[d] = x[d];
  for (int k = 0; k < rotation.pairs; k++) {
    int a = rotation.pairing == Pairing::half ? k : 2 * k, b = rotation.pairing == Pairing::half ? k + rotation.pairs : 2 * k + 1;
    const size_t at = size_t(token) * rotation.pairs + k;
    double c = own ? rotation.key_cosine[at] : rotation.cosine[at], s = own ? rotation.key_sine[at] : rotation.sine[at];
    out[a] = c * x[a] - s * x[b], out[b] = c * x[b] + s * x[a];
  }
}

double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

// φ = elu + 1 of a head vector, and turned.
void features(const Rotation& rotation, Side side, const float* x, int head_dim, int token, double* phi, double* turned) {
  for (int d = 0; d < head_dim; d++) phi[d] = x[d] > 0 ? x[d] + 1.0 : std::exp(double(x[d]));
  turn(rotation, side, phi, head_dim, token, turned);
}

bool linear_reference(const AttentionInput& in, const Plan& plan, float* out, ptrdiff_t out_stride, float* lse) {
  const int D = in.head_dim;
  Buffer<double> q, k, turned_q, turned_k, sum;  // [D] each
  if (!q.resize(D) || !k.resize(D) || !turned_q.resize(D) || !turned_k.resize(D) || !sum.resize(D)) return false;
  for (int h = 0; h < in.heads; h++) {
    const int kv = h / (in.heads / in.kv_heads);
    for (int r = 0; r < in.queries; r++) {
      const int i = in.offset + r;
      features(plan.rotation, Side::query, in.q + r * in.q_stride + h * D, D, i, q.data(), turned_q.data());
      double total = 0;
      sum.fill(0);
      for (int j = 0; j < in.keys; j++) {
        if (!sees(plan, i, j)) continue;
        features(plan.rotation, Side::key, in.key(kv, j), D, j, k.data(), turned_k.data());
        const double weight = dot(turned_q.data(), turned_k.data(), D);
        total += dot(q.data(), k.data(), D);
        for (int d = 0; d < D; d++) sum[d] += weight * in.value(kv, j)[d];
      }
      for (int d = 0; d < D; d++) out[r * out_stride + h * D + d] = total == 0 ? 0 : float(sum[d] / total);
      if (lse) lse[size_t(h) * in.queries + r] = float(std::log(total));
    }
  }
  return true;
}

}  // namespace

bool attention_reference(const AttentionInput& in, const Plan& plan, Contents contents, float* out, ptrdiff_t out_stride,
                         float* lse) {
  if (plan.linear) return linear_reference(in, plan, out, out_stride, lse);
  const double infinity = std::numeric_limits<double>::infinity();
  const int D = in.head_dim, T = in.keys;
  const double score_scale = plan.score_scale;
  const Rotation none;
  Buffer<double> q, key, score, sum;             // [D], [D], [T], [D]
  Buffer<float> raw, term, weight, read;         // [T], [T], [T], [D]
  if (!q.resize(D) || !key.resize(D) || !score.resize(T) || !sum.resize(D) || !raw.resize(T) || !term.resize(T) ||
      !weight.resize(T) || !read.resize(D))
    return false;

  for (int h = 0; h < in.heads; h++) {
    const int kv = h / (in.heads / in.kv_heads);
    for (int r = 0; r < in.queries; r++) {
      const int i = in.offset + r;
      const float* head_q = in.q + r * in.q_stride + h * D;
      int first = T, last = 0;
      for (int j = 0; j < T; j++) {
        if (sees(plan, i, j)) first = std::min(first, j), last = j + 1;
        const Rotation& rotation = plan.zone_rotation(zone_of(plan, i, j));
        turn(rotation, Side::query, head_q, D, i, q.data());
        turn(in.keys_rotated ? none : rotation, Side::key, in.key(kv, j), D, j, key.data());
        score[j] = dot(q.data(), key.data(), D) * score_scale, raw[j] = float(score[j]);
      }
      const Row row{h, i, head_q, first, last};
      term.fill(0), weight.fill(0), read.fill(0), sum.fill(0);
      if (first < last)
        for (auto& content : contents) content->row(row, raw.data(), term.data());

      double max = -infinity, total = 0;
      for (int j = first; j < last; j++) {
        score[j] += term[j];
        const double bias = plan.bias.table.empty() ? 0 : plan.bias.row(h, i)[j];
        score[j] += bias;
        if (!plan.scale.empty()) score[j] *= plan.scale[size_t(h) * plan.length + i];
        if (!sees(plan, i, j) || bias == -infinity) score[j] = -infinity;  // hidden whatever the scale
        if (score[j] > max || std::isnan(score[j])) max = score[j];  // NaN stays
      }
      const bool empty = max == -infinity;
      for (int j = first; j < last && !empty; j++) total += score[j] = std::exp(score[j] - max);
      for (int j = first; j < last && !empty; j++) {
        if (score[j] == 0) continue;  // what is not seen cannot spoil the sum, not even a NaN
        weight[j] = float(score[j] / total);
        for (int d = 0; d < D; d++) sum[d] += score[j] / total * in.value(kv, j)[d];
      }
      if (!empty)
        for (auto& content : contents) content->read(row, weight.data(), read.data());
      for (int d = 0; d < D; d++) out[r * out_stride + h * D + d] = float(sum[d] + read[d]);
      if (lse) lse[size_t(h) * in.queries + r] = float(empty ? -infinity : max + std::log(total));
    }
  }
  return true;
}

}  // namespace lw

// Gradients of attention. Nothing but the log-sum-exp was kept: scores are made again, tile by tile, by the functions of
// score.h. With p the weights, t the score before the row's scale a, and dp_j = dout·v_j (+ the value door's part):
//   ds = p·(dp − dout·out),  d(t) = a·ds = d(bias) = d(raw),  d(a) = Σ ds·t,  dv = pᵀ·dout,  dq = d(raw)·k,  dk = d(raw)ᵀ·q
// q and k are the turned ones; their gradients are turned back at the end.
// Threads take key/value heads, so that each sum is still made in one order.
#include "attention/products.h"
#include "parallel/threads.h"

namespace lw {
namespace {

using namespace attention_detail;

constexpr int block_rows = 32;

struct Job {
  const AttentionInput& in;
  const Plan& plan;
  Contents contents;
  PlanGradient* plan_gradient;
  const AttentionGradient& gradient;
  int W, s_stride;
  float factor;  // on q·k
  const float *out, *dout;
  ptrdiff_t out_stride;
  const float* lse;
  // Scratch. Blocks [block_rows][W]: q turned and multiplied by factor, dout, gradients of q (of the product, and the part
  // that content terms give). Rows and panels of a key/value head, gradients [T][W]. Four rows of scores and gradients.
  // q, dq, keys, key_panels and dk once for each zone. Of each tile the length of its longest key, or nullptr: skip none.
  float *q, *out_gradient, *dq, *dq_content, *keys, *key_panels, *value_panels, *dk, *dv, *s, *ds, *far, *raw, *weights, *longest;
  ptrdiff_t block_size, rows_size, panels_size;  // floats of each

  const float* head_q(int h, int r) const { return in.q + r * in.q_stride + ptrdiff_t(h) * in.head_dim; }
  bool learns(Buffer<float> PlanGradient::*part) const { return plan_gradient && !(plan_gradient->*part).empty(); }
  float* angle_gradient(int zone, Side side) const {
    const size_t table = plan.zone_count() > 1 ? size_t(plan.length) * plan.rotation.pairs : 0;
    return plan_gradient->angle.data() + (2 * zone + int(side)) * table;
  }
};

// Over one interval: s: raw → p, ds: dp → d(t). Returns Σ ds·t.
float weights_and_gradient(float* s, float* ds, const float* bias, float row_scale, float lse, float delta, int a, int b) {
  const f32x4 scale = simd::splat(row_scale), shift = simd::splat(lse), minus = simd::splat(delta);
  f32x4 sum = simd::zero();
  each_vector(s, a, b, [&](int j, f32x4 raw, bool partial) {
    const f32x4 t = unscaled(raw, bias, j), p = simd::softmax_exp(scaled(t, scale, hiding(bias, row_scale), j) - shift), dp = simd::load(ds + j);
    const f32x4 gradient = p * (dp - minus), inside = first_lanes(b - j);
    simd::store(ds + j, partial ? simd::select(inside, gradient * scale, dp) : gradient * scale);
    const f32x4 part = simd::zero_where(p <= simd::zero(), gradient * t);  // t may be −∞ there
    sum += partial ? simd::select(inside, part, simd::zero()) : part;
    return p;
  });
  return simd::sum(sum);
}

// One row of a tile: s: raw → p, ds: dout·v → d(t); the plan's gradients.
void row(const Job& job, int h, int i, const Part& part, int first, float delta, float* s, float* ds) {
  const float lse = job.lse[size_t(h) * job.in.queries + i];
  const float *bias = row_bias(job.plan, h, i, first), scale = row_scale(job.plan, h, i);
  float dscale = 0;
  part.each([&](int a, int b) {
    dscale += weights_and_gradient(s, ds, bias, scale, lse, delta, a, b);
    if (job.learns(&PlanGradient::bias))
      add(job.plan_gradient->bias.data() + job.plan.bias.index(h, i) + first + a, ds + a, b - a);
  });
  if (job.learns(&PlanGradient::scale)) job.plan_gradient->scale[size_t(h) * job.plan.length + i] += dscale;
}

// The same with content terms: afterwards s and ds hold p and d(raw) from the first to past the last key seen.
void row_content(const Job& job, int h, int i, const Part& part, int first, float delta, float* s, float* ds,
                 float* dq) {
  const Interval all = part.hull();
  const Row at{h, i, job.head_q(h, i), all.first, all.last};
  const size_t bytes = sizeof(float) * size_t(all.last - all.first);
  const float lse = job.lse[size_t(h) * job.in.queries + i];
  std::memcpy(job.raw + all.first, s + all.first, bytes);
  for (auto& content : job.contents) content->row(at, job.raw, s);
  // The value door needs the weights before the gradient of the scores can be known.
  std::memcpy(job.weights + all.first, s + all.first, bytes);
  part.each([&](int a, int b) {
    score(job.weights, row_bias(job.plan, h, i, first), row_scale(job.plan, h, i), a, b);
    exponentials(job.weights, lse, a, b);
  });
  zero_holes(job.weights, part);
  const float* dout = job.dout + i * job.out_stride + ptrdiff_t(h) * job.in.head_dim;
  for (auto& content : job.contents) content->read_backward(at, job.weights, dout, ds);

  row(job, h, i, part, first, delta, s, ds);
  zero_holes(s, part), zero_holes(ds, part);
  float* dscores = job.weights;
  std::memcpy(dscores + all.first, ds + all.first, bytes);
  for (auto& content : job.contents) content->row_backward(at, job.raw, dscores, ds, dq);
}

// Rows i … i + 3 (`count` of them exist) meet one tile; n: the first one's place in the block.
void four_rows(const Job& job, int h, int i, int n, int count, Interval tile, const float* delta) {
  const int D = job.in.head_dim, W = job.W;
  const ptrdiff_t at = tile.first;
  Rows rows(job.plan, i, count, job.in.keys, tile);
  for (int r = 0; r < count; r++)
    if (job.lse[size_t(h) * job.in.queries + i + r] == minus_infinity) rows.sees(r, {0, 0});
  rows.measure();
  if (rows.empty()) return;
  const float *q = job.q + n * W, *dout = job.out_gradient + n * W, *value_panels = job.value_panels + at * D;
  const Operands operands{q, job.block_size, job.key_panels, job.panels_size, D};
  if (job.longest) {
    float shift[4], &longest = job.longest[tile.first / tile_keys];
    for (int r = 0; r < count; r++)  // NaN if 0 · dp or 0 · delta might be
      shift[r] = job.lse[size_t(h) * job.in.queries + i + r] + 0 * (delta[n + r] + dot(dout + r * W, dout + r * W, W));
    if (weightless(job.plan, h, rows, operands, not_yet, shift)) {
      if (longest == not_yet)
        longest = longest_key(operands, job.plan.zone_count(), tile, value_panels, round_up(tile.last - tile.first, panel) * D);
      if (weightless(job.plan, h, rows, operands, longest, shift)) return;
    }
  }
  raw_scores(job.plan, rows, operands, job.s, job.far, job.s_stride);
  dot_panels(dout, value_panels, D, rows.hull.first / panel, round_up(rows.hull.last, panel) / panel, job.ds, job.s_stride);
  for (int r = 0; r < count; r++) {
    float *s = job.s + r * job.s_stride, *ds = job.ds + r * job.s_stride;
    if (job.contents.empty()) row(job, h, i + r, rows.parts[r], tile.first, delta[n + r], s, ds);
    else if (const Part part = rows.parts[r]; !part.empty()) {
      row_content(job, h, i + r, part, tile.first, delta[n + r], s, ds, job.dq_content + (n + r) * W);
      rows.sees(r, part.hull());  // through raw even an unseen key may matter to a content term
    }
  }
  const int zones = job.plan.zone_count();
  float* dv = job.dv + at * W;
  for (int zone = 0; zone < zones; zone++) {
    if (zones > 1) rows.narrow(job.plan, zone);
    if (rows.empty()) continue;
    const ptrdiff_t block = zone * job.block_size, head = zone * job.rows_size + at * W;
    const float *keys = job.keys + head, *zone_q = q + block;
    float *dk = job.dk + head, *dq = job.dq + block + n * W;
    each_cell(
        rows.parts, count, tile.last - tile.first,
        [&](int a, int b) {
          mix<4>(job.ds, job.s_stride, keys, W, a, b, dq);
          spread<4>(job.ds, job.s_stride, zone_q, W, a, b, dk);
          spread<4>(job.s, job.s_stride, dout, W, a, b, dv);
        },
        [&](int a) {
          corner<false>(job.ds, job.s_stride, keys, W, a, dq);
          corner<true>(job.ds, job.s_stride, zone_q, W, a, dk);
          corner<true>(job.s, job.s_stride, dout, W, a, dv);
        },
        [&](int r, int a, int b) {
          mix<1>(job.ds + r * job.s_stride, 0, keys, W, a, b, dq + r * W);
          spread<1>(job.ds + r * job.s_stride, 0, zone_q + r * W, W, a, b, dk);
          spread<1>(job.s + r * job.s_stride, 0, dout + r * W, W, a, b, dv);
        });
  }
}

// Query rows i … i + count − 1 of head h.
void block(const Job& job, int h, int i, int count) {
  const AttentionInput& in = job.in;
  const int D = in.head_dim, W = job.W, T = in.keys;
  const ptrdiff_t head = ptrdiff_t(h) * D;
  const int missing = round_up(count, 4) - count;
  clear(job.out_gradient + count * W, size_t(missing) * W);
  if (!job.contents.empty()) clear(job.dq_content, size_t(count) * W);
  for (int zone = 0; zone < job.plan.zone_count(); zone++) {
    float* q = job.q + zone * job.block_size;
    clear(q + count * W, size_t(missing) * W), clear(job.dq + zone * job.block_size, size_t(count + missing) * W);
    pack_rows(job.head_q(h, i), in.q_stride, count, D, job.factor, q);
    rotate(job.plan.zone_rotation(zone), Side::query, q, W, count, 1, D, i, false);
  }
  pack_rows(job.dout + i * job.out_stride + head, job.out_stride, count, D, 1, job.out_gradient);
  float delta[block_rows];
  Interval all{0, 0};
  for (int n = 0; n < count; n++) {
    delta[n] = dot(job.out_gradient + n * W, job.out + (i + n) * job.out_stride + head, D);
    all = join(all, Part(seen(job.plan, i + n, T), {0, T}).hull());
  }
  const int width = job.contents.empty() ? tile_keys : T;
  for (int first = all.first / width * width; first < all.last; first += width)
    for (int n = 0; n < count; n += 4)
      four_rows(job, h, i + n, n, std::min(4, count - n), {first, std::min(first + width, T)}, delta);

  for (int zone = 0; zone < job.plan.zone_count(); zone++) {
    const Rotation& rotation = job.plan.zone_rotation(zone);
    float *q = job.q + zone * job.block_size, *dq = job.dq + zone * job.block_size;
    if (job.learns(&PlanGradient::angle))  // q carries the factor that dq still lacks
      rotate_angle_backward(rotation, q, dq, W, count, 1, D, i, job.angle_gradient(zone, Side::query));
    rotate(rotation, Side::query, dq, W, count, 1, D, i, true);
    if (zone) add(job.dq, dq, count * W);
  }
  for (int n = 0; n < count; n++) {
    float* dq = job.gradient.dq + (i + n) * in.q_stride + head;
    copy(job.dq + n * W, D, job.factor, dq);
    if (!job.contents.empty()) add(dq, job.dq_content + n * W, D);
  }
}

void pack_head(const Job& job, int kv) {
  const AttentionInput& in = job.in;
  const int D = in.head_dim, T = in.keys;
  pack_rows(in.value(kv, 0), in.v_stride, T, D, 1, job.keys);
  pack_panels(job.keys, job.W, T, D, job.value_panels);
  for (int zone = 0; zone < job.plan.zone_count(); zone++) {
    float* keys = job.keys + zone * job.rows_size;
    pack_rows(in.key(kv, 0), in.k_stride, T, D, 1, keys);
    rotate(job.plan.zone_rotation(zone), Side::key, keys, job.W, T, 1, D, 0, false);
    pack_panels(keys, job.W, T, D, job.key_panels + zone * job.panels_size);
    clear(job.dk + zone * job.rows_size, size_t(T) * job.W);
  }
  clear(job.dv, size_t(T) * job.W);
  for (int t = 0; t < T && job.longest; t += tile_keys) job.longest[t / tile_keys] = not_yet;
}

void unpack_head(const Job& job, int kv) {
  const AttentionInput& in = job.in;
  const int D = in.head_dim, W = job.W, T = in.keys;
  for (int zone = 0; zone < job.plan.zone_count(); zone++) {
    const Rotation& rotation = job.plan.zone_rotation(zone);
    float *keys = job.keys + zone * job.rows_size, *dk = job.dk + zone * job.rows_size;
    if (job.learns(&PlanGradient::angle))
      rotate_angle_backward(rotation, keys, dk, W, T, 1, D, 0, job.angle_gradient(zone, Side::key));
    rotate(rotation, Side::key, dk, W, T, 1, D, 0, true);
    if (zone) add(job.dk, dk, T * W);
  }
  for (int t = 0; t < T; t++) {
    copy(job.dk + ptrdiff_t(t) * W, D, 1, job.gradient.dk + t * in.k_stride + ptrdiff_t(kv) * D);
    copy(job.dv + ptrdiff_t(t) * W, D, 1, job.gradient.dv + t * in.v_stride + ptrdiff_t(kv) * D);
  }
}

}  // namespace

bool attention_backward(const AttentionInput& in, const Plan& plan, Contents contents, const float* out, const float* dout,
                        ptrdiff_t out_stride, const float* lse, const AttentionGradient& gradient, AttentionScratch& scratch) {
  if (plan.linear) return linear_attention_backward(in, plan, out, dout, out_stride, lse, gradient, scratch);
  const int D = in.head_dim, W = padded(D), T = round_up(in.keys, panel), s_stride = contents.empty() ? tile_keys : T;
  size_t end = 0;
  auto place = [&](size_t floats) { return std::exchange(end, end + (floats + 15) / 16 * 16); };
  const size_t zones = plan.zone_count(), block_size = size_t(block_rows) * W, rows_size = size_t(round_up(T, 4)) * W,
               panels_size = size_t(T) * D, scores_size = size_t(s_stride) * 4 + panel;
  const size_t q = place(zones * block_size), out_gradient = place(block_size), dq = place(zones * block_size),
               dq_content = place(block_size), keys = place(zones * rows_size), key_panels = place(zones * panels_size),
               value_panels = place(panels_size), dk = place(zones * rows_size), dv = place(rows_size), s = place(scores_size),
               ds = place(scores_size), far = place(zones > 1 ? scores_size : 0), raw = place(contents.empty() ? 0 : T + panel),
               weights = place(contents.empty() ? 0 : T + panel), longest = place(round_up(T, tile_keys) / tile_keys);
  // All heads add to the gradient of the angles; a content term works on one row at a time: one thread.
  const bool shared = contents.empty() && !(gradient.plan && !gradient.plan->angle.empty()) &&
                      worth_sharing <= double(in.heads) * in.queries * in.keys * D;
  if (!scratch.floats.resize(end * (shared ? threads() : 1))) return false;

  const int group = in.heads / in.kv_heads;
  parallel_if(shared, in.kv_heads, [&](int kv, int thread) {
    float* base = scratch.floats.data() + thread * end;
    const Job job{in, plan, contents, gradient.plan, gradient, W, s_stride, plan.score_scale, out, dout, out_stride, lse,
                  base + q, base + out_gradient, base + dq, base + dq_content, base + keys, base + key_panels,
                  base + value_panels, base + dk, base + dv, base + s, base + ds, base + far, base + raw, base + weights,
                  may_skip(in, plan, contents) ? base + longest : nullptr, ptrdiff_t(block_size), ptrdiff_t(rows_size),
                  ptrdiff_t(panels_size)};
    pack_head(job, kv);
    for (int h = kv * group; h < (kv + 1) * group; h++)
      for (int i = 0; i < in.queries; i += block_rows) block(job, h, i, std::min(block_rows, in.queries - i));
    unpack_head(job, kv);
  });
  return true;
}

}  // namespace lw

// The small matrix products of attention, and the layouts they want.
//   rows:   [n][W], W = D rounded up to 4, zero past D
//   panels: [n / 8][D][8], eight rows side by side
// The innermost loops are functions of their own: inlined into a large one, engines run out of registers for them.
#pragma once
#include <cstring>

#include "attention/score.h"

namespace lw::attention_detail {

constexpr int panel = 8;
constexpr int tile_keys = 192;  // at once; a tile costs each row its interval, its maximum, a call of each product
constexpr int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }
constexpr int padded(int head_dim) { return round_up(head_dim, 4); }

// out [D] = factor · x
inline void copy(const float* x, int D, float factor, float* out) {
  int d = 0;
  for (; d + 4 <= D; d += 4) simd::store(out + d, simd::load(x + d) * simd::splat(factor));
  for (; d < D; d++) out[d] = x[d] * factor;
}
inline void clear(float* x, size_t n) {  // n a multiple of 4
  for (size_t i = 0; i < n; i += 4) simd::store(x + i, simd::zero());
}

// x += y
inline void add(float* x, const float* y, int n) {
  int j = 0;
  for (; j + 4 <= n; j += 4) simd::store(x + j, simd::load(x + j) + simd::load(y + j));
  for (; j < n; j++) x[j] += y[j];
}
inline float dot(const float* x, const float* y, int n) {
  f32x4 sum = simd::zero();
  int j = 0;
  for (; j + 4 <= n; j += 4) sum = simd::madd(simd::load(x + j), simd::load(y + j), sum);
  float rest = 0;
  for (; j < n; j++) rest += x[j] * y[j];
  return simd::sum(sum) + rest;
}

// rows [count][W] = factor · x
[[gnu::noinline]] inline void pack_rows(const float* x, ptrdiff_t stride, int count, int D, float factor, float* rows) {
  const int W = padded(D);
  for (int t = 0; t < count; t++, x += stride, rows += W) {
    copy(x, D, factor, rows);
    for (int d = D; d < W; d++) rows[d] = 0;
  }
}

// panels [⌈count / 8⌉][D][8] from rows, `stride` apart, of D numbers, or of W where D is not a multiple of 4; missing rows are zero.
inline void pack_panels(const float* rows, ptrdiff_t stride, int count, int D, float* panels) {
  const f32x4 none = simd::zero();
  for (int t = 0; t < count; t += 4) {
    float* out = panels + ptrdiff_t(t / panel) * panel * D + t % panel;
    for (int d = 0; d < D; d += 4) {
      const float* x = rows + t * stride + d;
      f32x4 column[4] = {simd::load(x), t + 1 < count ? simd::load(x + stride) : none,
                         t + 2 < count ? simd::load(x + 2 * stride) : none, t + 3 < count ? simd::load(x + 3 * stride) : none};
      simd::transpose(column[0], column[1], column[2], column[3]);
      for (int n = 0; n < 4 && d + n < D; n++) simd::store(out + (d + n) * panel, column[n]);
    }
  }
  if (count % panel > 0 && count % panel <= 4) {
    float* out = panels + ptrdiff_t(count / panel) * panel * D + 4;
    for (int d = 0; d < D; d++) simd::store(out + d * panel, none);
  }
}

// s[r][8p + n] = Σ_d x[r][d] · panels[p][d][n] for the four rows x [4][W] and panels first … last − 1.
[[gnu::noinline]] inline void dot_panels(const float* x, const float* panels, int D, int first, int last, float* s,
                                         ptrdiff_t s_stride) {
  const int W = padded(D);
  for (int p = first; p < last; p++) {
    const float* y = panels + ptrdiff_t(p) * panel * D;
    f32x4 a0 = simd::zero(), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
    for (int d = 0; d < D; d++, y += panel) {
      const f32x4 y0 = simd::load(y), y1 = simd::load(y + 4);
      f32x4 r = simd::load_splat(x + d);
      a0 = simd::madd(r, y0, a0), a1 = simd::madd(r, y1, a1);
      r = simd::load_splat(x + W + d);
      b0 = simd::madd(r, y0, b0), b1 = simd::madd(r, y1, b1);
      r = simd::load_splat(x + 2 * W + d);
      c0 = simd::madd(r, y0, c0), c1 = simd::madd(r, y1, c1);
      r = simd::load_splat(x + 3 * W + d);
      d0 = simd::madd(r, y0, d0), d1 = simd::madd(r, y1, d1);
    }
    float* out = s + p * panel;
    simd::store(out, a0), simd::store(out + 4, a1);
    simd::store(out + s_stride, b0), simd::store(out + s_stride + 4, b1);
    simd::store(out + 2 * s_stride, c0), simd::store(out + 2 * s_stride + 4, c1);
    simd::store(out + 3 * s_stride, d0), simd::store(out + 3 * s_stride + 4, d1);
  }
}

// Up to four neighbouring rows, the first at token `query`, meet one tile of keys.
struct Rows {
  Seen seen[4];
  Part parts[4];
  int query, count;
  Interval tile, hull{0, 0};  // hull: of what any row sees of the tile

  Rows(const Plan& plan, int query, int count, int keys, Interval tile) : query(query), count(count), tile(tile) {
    for (int r = 0; r < count; r++) seen[r] = attention_detail::seen(plan, query + r, keys), parts[r] = {seen[r], tile};
    measure();
  }
  // Row r sees these of the tile's keys and no others.
  void sees(int r, Interval keys) {
    seen[r] = {{tile.first + keys.first, tile.first + keys.last}, nullptr, 1};
    parts[r] = Part(keys);
  }
  // Only the keys of one zone.
  void narrow(const Plan& plan, int zone) {
    for (int r = 0; r < count; r++) parts[r] = {seen[r], tile, plan.zone_keys(zone, query + r)};
    measure();
  }
  void measure() {
    hull = {0, 0};
    for (int r = 0; r < count; r++) hull = join(hull, parts[r].hull());
  }
  bool empty() const { return hull.first == hull.last; }
};

// Raw scores [count][s_stride] of the rows.
struct Operands {
  const float* x;       // [zones][4][W], turned queries
  ptrdiff_t x_zone;     // floats from zone to zone
  const float* panels;  // [zones], turned keys, from the sequence's first on
  ptrdiff_t panels_zone;
  int D;
};
inline void raw_scores(const Plan& plan, const Rows& rows, const Operands& in, float* s, float* far, ptrdiff_t s_stride) {
  auto dot = [&](int zone, Interval hull, float* to) {
    dot_panels(in.x + zone * in.x_zone, in.panels + zone * in.panels_zone + ptrdiff_t(rows.tile.first) * in.D, in.D,
               hull.first / panel, round_up(hull.last, panel) / panel, to, s_stride);
  };
  if (plan.zone_count() == 1) return dot(0, rows.hull, s);
  Rows part = rows;
  for (int zone = 0; zone < plan.zone_count(); zone++) {  // nearest first
    part.narrow(plan, zone);
    if (part.empty()) continue;
    dot(zone, part.hull, zone == 0 ? s : far);
    for (int r = 0; r < rows.count && zone; r++)
      part.parts[r].each([&](int a, int b) { std::copy(far + r * s_stride + a, far + r * s_stride + b, s + r * s_stride + a); });
  }
}

// Tiles whose keys weigh nothing need not be multiplied. No raw score is above ‖query‖·‖key‖, turned and in whichever zone:
// with a bias, such as a penalty on distance, that may lie too far below what the row has met. Squares that are not finite
// make NaN of the bound, for which no comparison holds: 0 · NaN still shows.
inline bool may_skip(const AttentionInput& in, const Plan& plan, Contents contents) {
  return !plan.bias.table.empty() && contents.empty() && in.keys > tile_keys;
}
constexpr float not_yet = -1;  // instead of what longest_key() would say

// Of the tile, rounded up by more than a product may be; `values`: its n values.
[[gnu::noinline]] inline float longest_key(const Operands& in, int zones, Interval tile, const float* values, int n) {
  f32x4 top = simd::zero(), sum = top;
  for (int zone = 0; zone < zones; zone++)
    for (int t = tile.first; t < tile.last; t += panel) {
      const float* y = in.panels + zone * in.panels_zone + ptrdiff_t(t) * in.D;
      f32x4 low = simd::zero(), high = low;
      for (int d = 0; d < in.D; d++, y += panel) {
        const f32x4 y0 = simd::load(y), y1 = simd::load(y + 4);
        low = simd::madd(y0, y0, low), high = simd::madd(y1, y1, high);
      }
      top = simd::max(top, simd::max(low, high)), sum += low + high;
    }
  return 1.0001f * std::sqrt(simd::largest(top)) + 0 * (simd::sum(sum) + dot(values, values, n));
}
inline float query_length(const Operands& in, int zones, int r) {
  const int W = padded(in.D);
  float top = 0, sum = 0;
  for (int zone = 0; zone < zones; zone++) {
    const float *x = in.x + zone * in.x_zone + r * W, square = dot(x, x, W);
    top = std::max(top, square), sum += square;
  }
  return std::sqrt(top) + 0 * sum;
}

// Whether the tile weighs nothing in any row; shift[r]: what row r subtracts from its scores. Where `longest` is not known yet:
// whether the biases of the first and the last key allow that, which is all that is looked at where no tile can be skipped.
[[gnu::noinline]] inline bool weightless(const Plan& plan, int head, const Rows& rows, const Operands& in, float longest,
                                         const float* shift) {
  for (int r = 0; r < rows.count; r++) {
    const Part& part = rows.parts[r];
    if (part.empty()) continue;
    const float *bias = row_bias(plan, head, rows.query + r, rows.tile.first), scale = row_scale(plan, head, rows.query + r);
    const float most = longest == not_yet ? 0 : query_length(in, plan.zone_count(), r) * longest;
    bool nothing = scale > 0;
    auto look = [&](int a, int b) { nothing = nothing && weightless(most, bias, scale, shift[r], a, b); };
    const Interval all = part.hull();
    if (longest == not_yet) look(all.last - 1, all.last), look(all.first, all.first + 1);
    else part.each(look);
    if (!nothing) return false;
  }
  return true;
}

// y[r] += Σ_{a ≤ j < b} w[r][j] · x[j] for R rows of W numbers, V vectors of each at a time, from d on. Returns where it stopped.
template <int R, int V>
[[gnu::noinline]] int mix_columns(const float* w, ptrdiff_t w_stride, const float* x, int W, int a, int b, float* y, int d) {
  for (; d + 4 * V <= W; d += 4 * V) {
    f32x4 sum[R][V];
    for (int r = 0; r < R; r++)
      for (int v = 0; v < V; v++) sum[r][v] = simd::load(y + r * W + d + 4 * v);
    const float* at = x + ptrdiff_t(a) * W + d;
    for (int j = a; j < b; j++, at += W) {
      f32x4 row[V];
      for (int v = 0; v < V; v++) row[v] = simd::load(at + 4 * v);
      for (int r = 0; r < R; r++) {
        const f32x4 weight = simd::load_splat(w + r * w_stride + j);
        for (int v = 0; v < V; v++) sum[r][v] = simd::madd(weight, row[v], sum[r][v]);
      }
    }
    for (int r = 0; r < R; r++)
      for (int v = 0; v < V; v++) simd::store(y + r * W + d + 4 * v, sum[r][v]);
  }
  return d;
}
// y [R][W] += Σ_{a ≤ j < b} w[r][j] · x[j][W]
template <int R>
void mix(const float* w, ptrdiff_t w_stride, const float* x, int W, int a, int b, float* y) {
  int d = 0;
  if constexpr (R == 1) d = mix_columns<R, 4>(w, w_stride, x, W, a, b, y, d);
  if (d + 8 <= W) d = mix_columns<R, 2>(w, w_stride, x, W, a, b, y, d);
  if (d < W) mix_columns<R, 1>(w, w_stride, x, W, a, b, y, d);
}

// y[j] += Σ_{r < R} w[r][j] · x[r] for a ≤ j < b, as above.
template <int R, int V>
[[gnu::noinline]] int spread_columns(const float* w, ptrdiff_t w_stride, const float* x, int W, int a, int b, float* y, int d) {
  for (; d + 4 * V <= W; d += 4 * V) {
    f32x4 row[R][V];
    for (int r = 0; r < R; r++)
      for (int v = 0; v < V; v++) row[r][v] = simd::load(x + r * W + d + 4 * v);
    float* at = y + ptrdiff_t(a) * W + d;
    for (int j = a; j < b; j++, at += W) {
      f32x4 sum[V];
      for (int v = 0; v < V; v++) sum[v] = simd::load(at + 4 * v);
      for (int r = 0; r < R; r++) {
        const f32x4 weight = simd::load_splat(w + r * w_stride + j);
        for (int v = 0; v < V; v++) sum[v] = simd::madd(weight, row[r][v], sum[v]);
      }
      for (int v = 0; v < V; v++) simd::store(at + 4 * v, sum[v]);
    }
  }
  return d;
}
// y[j][W] += Σ_{r < R} w[r][j] · x[r][W]
template <int R>
void spread(const float* w, ptrdiff_t w_stride, const float* x, int W, int a, int b, float* y) {
  const int d = spread_columns<R, 2>(w, w_stride, x, W, a, b, y, 0);
  if (d < W) spread_columns<R, 1>(w, w_stride, x, W, a, b, y, d);
}

// The corner of a causal mask, where row r of four sees the keys a … a + r − 1: mix (or spread) of these.
template <bool spreads>
[[gnu::noinline]] void corner(const float* w, ptrdiff_t w_stride, const float* x, int W, int a, float* y) {
  f32x4 weight[3][3];  // of row r + 1 and key a + j, j ≤ r
  for (int r = 0; r < 3; r++)
    for (int j = 0; j <= r; j++) weight[r][j] = simd::load_splat(w + (r + 1) * w_stride + a + j);
  const float* from = x + ptrdiff_t(spreads ? 1 : a) * W;
  float* to = y + ptrdiff_t(spreads ? a : 1) * W;
  for (int d = 0; d < W; d += 4) {
    f32x4 row[3];
    for (int i = 0; i < 3; i++) row[i] = simd::load(from + i * W + d);
    for (int o = 0; o < 3; o++) {
      f32x4 sum = simd::load(to + o * W + d);
      for (int i = spreads ? o : 0; i <= (spreads ? 2 : o); i++) sum = simd::madd(spreads ? weight[i][o] : weight[o][i], row[i], sum);
      simd::store(to + o * W + d, sum);
    }
  }
}

// Splits what the rows see: four(a, b) for the keys that all four rows see, corner(a) for that of a causal mask, one(r, a, b)
// for the rest. Nothing that a row does not see is ever multiplied, so not even a NaN leaks through a weight of zero.
template <class Four, class Corner, class One>
void each_cell(const Part* parts, int count, int width, Four four, Corner corner, One one) {
  Interval common{0, count == 4 ? width : 0};
  for (int r = 0; r < count; r++) {
    const Interval all = parts[r].hull();
    common = {std::max(common.first, all.first), parts[r].single() ? std::min(common.last, all.last) : 0};
  }
  bool stairs = common.first < common.last;
  if (stairs) four(common.first, common.last);
  else common = {width, width};
  for (int r = 0; r < count; r++) stairs = stairs && parts[r].hull().last == common.last + r;
  if (stairs) corner(common.last);
  for (int r = 0; r < count; r++)
    parts[r].each([&](int a, int b) {
      if (a < std::min(b, common.first)) one(r, a, std::min(b, common.first));
      if (!stairs && std::max(a, common.last) < b) one(r, std::max(a, common.last), b);
    });
}

}  // namespace lw::attention_detail

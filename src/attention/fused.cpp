// Attention in tiles with an online softmax. Keys (turned) and values of one key/value head are packed once; then blocks
// of query rows meet tiles of keys, four rows at a time. Memory grows with the length, never with its square.
// Where zones turn queries and keys in different ways, both are packed once for each zone.
// Where a content term is open a tile is as wide as the row, so that the term sees all of its scores at once.
#include "attention/products.h"

namespace lw {
namespace {

using namespace attention_detail;

constexpr int block_rows = 64, tile_keys = 64;
constexpr int direct_queries = 3;  // so few queries read keys and values where they lie

struct Job {
  const AttentionInput& in;
  const Plan& plan;
  Contents contents;
  int W;               // padded head width
  float factor;        // on q·k
  float* out;
  ptrdiff_t out_stride;
  float* lse;
  float *q, *acc, *s, *far, *raw, *keys, *values;  // scratch; q [zones][block_rows][W], keys [zones] of panels
  int s_stride;
  ptrdiff_t zone_q, zone_keys;                     // floats from zone to zone

  const float* head_q(int h, int r) const { return in.q + r * in.q_stride + ptrdiff_t(h) * in.head_dim; }
  int kv_head(int h) const { return h / (in.heads / in.kv_heads); }
};

struct Running { float max = minus_infinity, sum = 0; };  // of one row's softmax

// raw scores of row (h, i) → exp(score − maximum so far); what has been summed so far is brought to the new maximum.
void weigh(const Job& job, int h, int i, const Part& part, int first, float* s, Running& row, float* acc) {
  const float *bias = row_bias(job.plan, h, i, first), scale = row_scale(job.plan, h, i);
  float max = row.max;
  if (!bias && scale == 1) part.each([&](int a, int b) { max = std::max(max, largest(s, a, b)); });
  else part.each([&](int a, int b) { max = std::max(max, score(s, bias, scale, a, b)); });
  if (max > row.max) {
    if (row.sum != 0) {
      const float factor = simd::largest(simd::exp(simd::splat(row.max - max)));
      row.sum *= factor, copy(acc, job.W, factor, acc);
    }
    row.max = max;
  }
  const float shift = row.max == minus_infinity ? 0 : row.max;  // −∞ everywhere: weights of 0, not NaN
  part.each([&](int a, int b) { row.sum += exponentials(s, shift, a, b); });
}

// The same with content terms: the tile is the whole row, the weights end up normalised and are read by the value door.
void weigh_content(const Job& job, int h, int r, const Part& part, int first, float* s, Running& row, float* acc) {
  const int i = job.in.offset + r;
  const Interval all = part.hull();
  if (all.first == all.last) return;
  const Row at{h, i, job.head_q(h, r), all.first, all.last};
  std::memcpy(job.raw + all.first, s + all.first, sizeof(float) * size_t(all.last - all.first));
  for (auto& content : job.contents) content->row(at, job.raw, s);
  weigh(job, h, i, part, first, s, row, acc);
  if (row.sum == 0) return;
  const f32x4 total = simd::splat(row.sum);
  part.each([&](int a, int b) { each_vector(s, a, b, [&](int, f32x4 x, bool) { return x / total; }); });
  row.max += std::log(row.sum), row.sum = 1;
  zero_holes(s, part);
  for (auto& content : job.contents) content->read(at, s, acc);
}

void finish(const Job& job, int h, int r, const Running& row, const float* acc) {
  const float factor = row.sum == 0 ? 1 : 1 / row.sum;
  copy(acc, job.in.head_dim, factor, job.out + r * job.out_stride + ptrdiff_t(h) * job.in.head_dim);
  if (job.lse) job.lse[size_t(h) * job.in.queries + r] = row.sum == 0 ? minus_infinity : row.max + std::log(row.sum);
}

// Rows r … r + 3 (`count` of them exist) meet one tile. q, acc: [4][W]
void four_rows(const Job& job, int h, int r, int count, Interval tile, const float* q, Running* running, float* acc) {
  const Rows rows(job.plan, job.in.offset + r, count, job.in.keys, tile);
  if (rows.empty()) return;
  const int W = job.W;
  raw_scores(job.plan, rows, {q, job.zone_q, job.keys, job.zone_keys, job.in.head_dim}, job.s, job.far, job.s_stride);
  for (int n = 0; n < count; n++) {
    float* s = job.s + n * job.s_stride;
    if (job.contents.empty()) weigh(job, h, rows.query + n, rows.parts[n], tile.first, s, running[n], acc + n * W);
    else weigh_content(job, h, r + n, rows.parts[n], tile.first, s, running[n], acc + n * W);
  }
  const float* values = job.values + ptrdiff_t(tile.first) * W;
  each_cell(rows.parts, count, tile.last - tile.first,
            [&](int a, int b) { mix<4>(job.s, job.s_stride, values, W, W, a, b, acc, W); },
            [&](int n, int a, int b) { mix<1>(job.s + n * job.s_stride, 0, values, W, W, a, b, acc + n * W, 0); });
}

// Query rows r … r + count − 1 of head h.
void block(const Job& job, int h, int r, int count) {
  const AttentionInput& in = job.in;
  const int W = job.W, rows = round_up(count, 4);
  for (int zone = 0; zone < job.plan.zone_count(); zone++) {
    float* q = job.q + zone * job.zone_q;
    pack_rows(job.head_q(h, r), in.q_stride, count, in.head_dim, job.factor, q);
    rotate(job.plan.zone_rotation(zone), Side::query, q, W, count, 1, in.head_dim, in.offset + r, false);
    clear(q + count * W, size_t(rows - count) * W);
  }
  clear(job.acc, size_t(rows) * W);
  Running running[block_rows];
  Interval all{0, 0};
  for (int n = 0; n < count; n++) all = join(all, Part(seen(job.plan, in.offset + r + n, in.keys), {0, in.keys}).hull());

  const int width = job.contents.empty() ? tile_keys : std::max(in.keys, 1);
  for (int first = all.first / width * width; first < all.last; first += width)
    for (int n = 0; n < count; n += 4)
      four_rows(job, h, r + n, std::min(4, count - n), {first, std::min(first + width, in.keys)}, job.q + n * W, running + n,
                job.acc + n * W);
  for (int n = 0; n < count; n++) finish(job, h, r + n, running[n], job.acc + n * W);
}

// Keys, turned, into panels and values into rows.
void pack_head(const Job& job, int kv) {
  const AttentionInput& in = job.in;
  const ptrdiff_t head = ptrdiff_t(kv) * in.head_dim;
  pack_rows(in.v + head, in.v_stride, in.keys, in.head_dim, 1, job.values);
  for (int t = 0; t < in.keys; t += block_rows) {
    const int count = std::min(block_rows, in.keys - t);
    for (int zone = 0; zone < job.plan.zone_count(); zone++) {
      pack_rows(in.k + t * in.k_stride + head, in.k_stride, count, in.head_dim, 1, job.q);
      if (!in.keys_rotated) rotate(job.plan.zone_rotation(zone), Side::key, job.q, job.W, count, 1, in.head_dim, t, false);
      pack_panels(job.q, count, in.head_dim, job.keys + zone * job.zone_keys + ptrdiff_t(t) * in.head_dim);
    }
  }
}

// One row, without packing.
void direct(const Job& job, int h, int r) {
  const AttentionInput& in = job.in;
  const int i = in.offset + r, D = in.head_dim;
  const ptrdiff_t head = ptrdiff_t(job.kv_head(h)) * D;
  pack_rows(job.head_q(h, r), 0, 1, D, job.factor, job.q);
  rotate(job.plan.rotation, Side::query, job.q, job.W, 1, 1, D, i, false);
  clear(job.acc, job.W);
  const Seen row = seen(job.plan, i, in.keys);
  const Part part(row, {0, in.keys});
  const Interval all = part.hull();
  dot_rows(job.q, in.k + head, in.k_stride, D, all.first, all.last, job.s);
  Running running;
  if (job.contents.empty()) weigh(job, h, i, part, 0, job.s, running, job.acc);
  else weigh_content(job, h, r, part, 0, job.s, running, job.acc);
  part.each([&](int a, int b) { mix<1>(job.s, 0, in.v + head, in.v_stride, D, a, b, job.acc, 0); });
  finish(job, h, r, running, job.acc);
}

}  // namespace

bool attention(const AttentionInput& in, const Plan& plan, Contents contents, float* out, ptrdiff_t out_stride, float* lse,
               AttentionScratch& scratch) {
  if (plan.linear) return linear_attention(in, plan, out, out_stride, lse, scratch);
  const int D = in.head_dim, W = padded(D), T = round_up(in.keys, panel), zones = plan.zone_count();
  const bool few = in.queries <= direct_queries && (in.keys_rotated || plan.rotation.pairs == 0);
  const int s_stride = few || !contents.empty() ? T : tile_keys;
  size_t end = 0;
  auto place = [&](size_t floats) { return std::exchange(end, end + (floats + 15) / 16 * 16); };
  const size_t block_size = size_t(block_rows) * W, head_size = few ? 0 : size_t(T) * D;
  const size_t q = place(zones * block_size), acc = place(block_size), s = place(size_t(s_stride) * 4 + panel),
               far = place(zones > 1 ? size_t(s_stride) * 4 + panel : 0), raw = place(contents.empty() ? 0 : T),
               keys = place(zones * head_size), values = place(few ? 0 : size_t(T) * W);
  if (!scratch.floats.resize(end)) return false;
  float* base = scratch.floats.data();
  const Job job{in, plan, contents, W, plan.score_scale, out, out_stride, lse,
                base + q, base + acc, base + s, base + far, base + raw, base + keys, base + values, s_stride,
                ptrdiff_t(block_size), ptrdiff_t(head_size)};

  for (int h = 0; h < in.heads; h++) {
    if (few) {
      for (int r = 0; r < in.queries; r++) direct(job, h, r);
      continue;
    }
    if (h % (in.heads / in.kv_heads) == 0) pack_head(job, job.kv_head(h));
    for (int r = 0; r < in.queries; r += block_rows) block(job, h, r, std::min(block_rows, in.queries - r));
  }
  return true;
}

}  // namespace lw

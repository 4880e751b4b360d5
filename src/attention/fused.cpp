// Attention in tiles with an online softmax. Keys (turned) and values of one key/value head are packed once; then blocks
// of query rows meet tiles of keys, four rows at a time. Where a head has too many keys each tile is packed when it is met,
// again for each block of rows, which are larger then: what is needed beyond inputs and output is bounded, whatever the length.
// Where zones turn queries and keys in different ways, both are packed once for each zone.
// Threads take key/value heads or, if there are too few, pieces of the rows that read one; each packs for itself.
// With a bias the keys next to the rows are met first: far ones may then weigh too little to be multiplied.
// Where a content term is open a tile is as wide as the row, so that the term sees all of its scores at once.
#include "attention/products.h"
#include "parallel/threads.h"
#include "simd/vector_matrix.h"

namespace lw {
namespace {

using namespace attention_detail;

constexpr int block_rows = 64, large_block_rows = 512;
constexpr int packed_floats = 1 << 19;  // of keys and values at once, or else one tile: 2 MB, part of the second cache
constexpr int direct_queries = 3;  // so few queries read keys and values where they lie

struct Running { float max, sum; };  // of one row's softmax
constexpr Running nothing{minus_infinity, 0};

struct Job {
  const AttentionInput& in;
  const Plan& plan;
  Contents contents;
  int W;               // padded head width
  float factor;        // on q·k
  float* out;
  ptrdiff_t out_stride;
  float* lse;
  // Scratch: q [zones][rows][W], acc [rows][W], of the packed keys: turned [tile_keys][W], panels [zones], values; of each tile
  // the length of its longest key, or nullptr: skip none.
  float *q, *acc, *s, *far, *raw, *turned, *panels, *values, *longest;
  bool whole;  // all keys are packed, not only those of one tile
  int s_stride;
  ptrdiff_t zone_q, zone_keys;  // floats from zone to zone
  Running* running;             // [rows]

  const float* head_q(int h, int r) const { return in.q + r * in.q_stride + ptrdiff_t(h) * in.head_dim; }
  int kv_head(int h) const { return h / (in.heads / in.kv_heads); }
};

// raw scores of row (h, i) → exp(score − maximum so far); what has been summed so far is brought to the new maximum.
void weigh(const Job& job, int h, int i, const Part& part, int first, float* s, Running& row, float* acc) {
  const float *bias = row_bias(job.plan, h, i, first), scale = row_scale(job.plan, h, i);
  float max = row.max;
  if (!bias && scale == 1) part.each([&](int a, int b) { max = std::max(max, largest(s, a, b)); });
  else part.each([&](int a, int b) { max = std::max(max, score(s, bias, scale, a, b)); });
  if (max > row.max) {
    if (row.sum != 0) {
      const float factor = simd::largest(simd::softmax_exp(simd::splat(row.max - max)));
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

// Rows r … r + 3 (`count` of them exist), n the first one's place in the block, meet one tile, packed after need().
template <class Need>
void four_rows(const Job& job, int h, int r, int n, int count, Interval tile, Need need) {
  const Rows rows(job.plan, job.in.offset + r, count, job.in.keys, tile);
  if (rows.empty()) return;
  const int W = job.W, D = job.in.head_dim, first = job.whole ? 0 : tile.first, width = tile.last - tile.first;
  float* acc = job.acc + n * W;
  const float* values = job.values + ptrdiff_t(tile.first - first) * W;
  const Operands operands{job.q + n * W, job.zone_q, job.panels - ptrdiff_t(first) * D, job.zone_keys, D};
  if (job.longest) {
    float shift[4], &longest = job.longest[tile.first / tile_keys];
    for (int i = 0; i < count; i++) shift[i] = job.running[n + i].max;
    if (weightless(job.plan, h, rows, operands, not_yet, shift)) {
      if (longest == not_yet) need(), longest = longest_key(operands, job.plan.zone_count(), tile, values, width * W);
      if (weightless(job.plan, h, rows, operands, longest, shift)) return;
    }
  }
  need();
  raw_scores(job.plan, rows, operands, job.s, job.far, job.s_stride);
  for (int i = 0; i < count; i++) {
    float* s = job.s + i * job.s_stride;
    if (job.contents.empty()) weigh(job, h, rows.query + i, rows.parts[i], tile.first, s, job.running[n + i], acc + i * W);
    else weigh_content(job, h, r + i, rows.parts[i], tile.first, s, job.running[n + i], acc + i * W);
  }
  each_cell(rows.parts, count, width,
            [&](int a, int b) { mix<4>(job.s, job.s_stride, values, W, a, b, acc); },
            [&](int a) { corner<false>(job.s, job.s_stride, values, W, a, acc); },
            [&](int i, int a, int b) { mix<1>(job.s + i * job.s_stride, 0, values, W, a, b, acc + i * W); });
}

// Query rows r … r + count − 1 of head h, before they have met any key. Returns all that they see.
Interval start(const Job& job, int h, int r, int count) {
  const AttentionInput& in = job.in;
  const int W = job.W, rows = round_up(count, 4);
  for (int zone = 0; zone < job.plan.zone_count(); zone++) {
    float* q = job.q + zone * job.zone_q;
    pack_rows(job.head_q(h, r), in.q_stride, count, in.head_dim, job.factor, q);
    rotate(job.plan.zone_rotation(zone), Side::query, q, W, count, 1, in.head_dim, in.offset + r, false);
    clear(q + count * W, size_t(rows - count) * W);
  }
  clear(job.acc, size_t(rows) * W);
  Interval all{0, 0};
  for (int n = 0; n < count; n++) {
    job.running[n] = nothing;
    all = join(all, Part(seen(job.plan, in.offset + r + n, in.keys), {0, in.keys}).hull());
  }
  return all;
}

// Keys, turned, into panels and values into rows.
[[gnu::noinline]] void pack(const Job& job, int kv, Interval keys) {
  const AttentionInput& in = job.in;
  pack_rows(in.value(kv, keys.first), in.v_stride, keys.last - keys.first, in.head_dim, 1, job.values);
  for (int t = keys.first; t < keys.last; t += tile_keys) {
    const int count = std::min(tile_keys, keys.last - t);
    for (int zone = 0; zone < job.plan.zone_count(); zone++) {
      const Rotation& rotation = job.plan.zone_rotation(zone);
      const bool turns = !in.keys_rotated && rotation.pairs > 0, copied = turns || job.W > in.head_dim;
      if (copied) pack_rows(in.key(kv, t), in.k_stride, count, in.head_dim, 1, job.turned);
      if (turns) rotate(rotation, Side::key, job.turned, job.W, count, 1, in.head_dim, t, false);
      pack_panels(copied ? job.turned : in.key(kv, t), copied ? job.W : in.k_stride, count, in.head_dim,
                  job.panels + zone * job.zone_keys + ptrdiff_t(t - keys.first) * in.head_dim);
    }
  }
}

// Rows r … r + count − 1 meet these keys: where near ones come first, from the tile of the last row back, then the later ones.
void meet(const Job& job, int h, int r, int count, Interval keys) {
  const int width = job.contents.empty() ? tile_keys : std::max(job.in.keys, 1), begin = keys.first / width;
  const int tiles = (keys.last + width - 1) / width - begin;
  const int nearest = job.longest ? std::max(std::min((job.in.offset + r + count - 1) / width - begin, tiles - 1), 0) : 0;
  for (int t = 0; t < tiles; t++) {
    const int first = (begin + (t <= nearest ? nearest - t : t)) * width;
    const Interval tile{first, std::min(first + width, job.in.keys)};
    bool packed = job.whole;
    auto need = [&] {
      if (!packed) pack(job, job.kv_head(h), tile);
      packed = true;
    };
    for (int n = 0; n < count; n += 4) four_rows(job, h, r + n, n, std::min(4, count - n), tile, need);
  }
}

// One row, without packing.
void direct(const Job& job, int h, int r) {
  const AttentionInput& in = job.in;
  const int i = in.offset + r, D = in.head_dim, kv = job.kv_head(h);
  pack_rows(job.head_q(h, r), 0, 1, D, job.factor, job.q);
  rotate(job.plan.rotation, Side::query, job.q, job.W, 1, 1, D, i, false);
  clear(job.acc, job.W);
  const Seen row = seen(job.plan, i, in.keys);
  const Part part(row, {0, in.keys});
  const Interval all = part.hull();
  simd::dots(job.s + all.first, job.q, in.key(kv, all.first), in.k_stride, all.last - all.first, D, false);
  Running running = nothing;
  if (job.contents.empty()) weigh(job, h, i, part, 0, job.s, running, job.acc);
  else weigh_content(job, h, r, part, 0, job.s, running, job.acc);
  part.each([&](int a, int b) { simd::sums(job.acc, job.s + a, 1, in.value(kv, a), in.v_stride, D, b - a, true); });
  finish(job, h, r, running, job.acc);
}

}  // namespace

bool attention(const AttentionInput& in, const Plan& plan, Contents contents, float* out, ptrdiff_t out_stride, float* lse,
               AttentionScratch& scratch) {
  if (plan.linear) return linear_attention(in, plan, out, out_stride, lse, scratch);
  const int D = in.head_dim, W = padded(D), T = round_up(in.keys, panel), zones = plan.zone_count();
  const int tiles = may_skip(in, plan, contents) ? round_up(in.keys, tile_keys) / tile_keys : 0;
  const bool few = in.queries <= direct_queries && (in.keys_rotated || plan.rotation.pairs == 0);
  const int s_stride = few || !contents.empty() ? T : tile_keys;
  // Content terms want whole rows.
  const bool whole = !contents.empty() || in.keys <= round_up(packed_floats / (zones * D + W), tile_keys);
  const int at_once = few ? 0 : whole ? T : tile_keys, rows = few ? 1 : whole ? block_rows : large_block_rows;
  // A content term works on one row at a time, in memory of its own: one thread.
  const bool shared = contents.empty() && worth_sharing <= double(in.heads) * in.queries * in.keys * D;
  const int workers = shared ? threads() : 1;
  size_t end = 0;
  auto place = [&](size_t floats) { return std::exchange(end, end + (floats + 15) / 16 * 16); };
  const size_t block_size = size_t(rows) * W, head_size = size_t(at_once) * D;
  const size_t q = place(zones * block_size), acc = place(block_size), s = place(size_t(s_stride) * 4 + panel),
               far = place(zones > 1 ? size_t(s_stride) * 4 + panel : 0), raw = place(contents.empty() ? 0 : T),
               turned = place(size_t(tile_keys) * W), panels = place(zones * head_size), values = place(size_t(at_once) * W),
               longest = place(tiles);
  if (!scratch.floats.resize(end * workers)) return false;

  const int blocks = (in.queries + rows - 1) / rows, group = in.heads / in.kv_heads, units = group * blocks;
  const int pieces = in.kv_heads % workers == 0 ? 1 : std::min(units, 4 * workers);
  parallel_if(shared, in.kv_heads * pieces, [&](int part, int thread) {
    float* base = scratch.floats.data() + thread * end;
    Running running[large_block_rows];
    const Job job{in, plan, contents, W, plan.score_scale, out, out_stride, lse,
                  base + q, base + acc, base + s, base + far, base + raw, base + turned, base + panels, base + values,
                  tiles ? base + longest : nullptr, whole, s_stride, ptrdiff_t(block_size), ptrdiff_t(head_size), running};
    const int kv = part / pieces, piece = pieces - 1 - part % pieces;  // the last rows first: they may see the most
    if (!few && whole) pack(job, kv, {0, in.keys});
    std::fill_n(base + longest, tiles, not_yet);
    for (int unit = units * piece / pieces; unit < units * (piece + 1) / pieces; unit++) {
      const int h = kv * group + unit / blocks, r = unit % blocks * rows, count = std::min(rows, in.queries - r);
      if (few) {
        direct(job, h, r);
        continue;
      }
      meet(job, h, r, count, start(job, h, r, count));
      for (int n = 0; n < count; n++) finish(job, h, r + n, running[n], job.acc + n * W);
    }
  });
  return true;
}

}  // namespace lw

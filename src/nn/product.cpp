#include "nn/product.h"

#include <algorithm>

#include "parallel/threads.h"
#include "simd/vector_matrix.h"

namespace lw {
using namespace simd;

// a and b are packed, so that the inner loop reads both in order whatever their strides: b whole, in panels of
// tile_columns columns, for depth_block steps of k at a time; a block_rows rows at a time, in strips of tile_rows.
// block_rows cover whole cache lines where a is read across, and spare b some of its trips from the second cache.
static constexpr int tile_rows = 4, tile_columns = 8, block_rows = 32, depth_block = 128;

// Up to here, packing b would cost more than it saves.
static constexpr int few_rows = 4;

static size_t round_up(int n, int to) { return size_t((n + to - 1) / to) * to; }

// Threads take rows of c, each packing all of b, or columns, each packing all of a: what is packed is not handed from core
// to core, which would cost more than packing it twice. More columns than these are always divided.
static constexpr int widest = 1024;

static size_t scratch_of_one(int n, int k) {
  const size_t columns = std::min(round_up(n, tile_columns), std::max<size_t>(widest, round_up((n - 1) / threads() + 1, tile_columns)));
  return (block_rows + columns) * size_t(std::min(k, depth_block));
}
size_t product_scratch(int n, int k) { return threads() * scratch_of_one(n, k); }

// packed[lane / width][l][lane % width] = x[lane][l] for lane < lanes, l < depth, and 0 up to a multiple of width.
// Lanes lie `across` floats apart, steps `along`; width is a multiple of 4.
static void pack(float* packed, int width, const float* x, ptrdiff_t across, ptrdiff_t along, int lanes, int depth) {
  auto place = [=](ptrdiff_t lane) { return packed + lane / width * width * depth + lane % width; };
  ptrdiff_t lane = 0;
  if (across == 1)
    for (; lane + 16 <= lanes; lane += 16) {
      float *p = place(lane), *q = place(lane + 4), *r = place(lane + 8), *s = place(lane + 12);
      for (ptrdiff_t l = 0; l < depth; l++, p += width, q += width, r += width, s += width) {
        const float* from = x + lane + l * along;
        store(p, load(from)), store(q, load(from + 4)), store(r, load(from + 8)), store(s, load(from + 12));
      }
    }
  for (; lane < ptrdiff_t(round_up(lanes, width)); lane += 4) {
    const float* from = x + lane * across;
    float* to = place(lane);
    ptrdiff_t here = std::clamp<ptrdiff_t>(lanes - lane, 0, 4), l = 0;
    if (here == 4 && along == 1)
      for (; l + 4 <= depth; l += 4) {
        f32x4 p = load(from + l), q = load(from + l + across);
        f32x4 r = load(from + l + 2 * across), s = load(from + l + 3 * across);
        transpose(p, q, r, s);
        store(to + l * width, p), store(to + (l + 1) * width, q);
        store(to + (l + 2) * width, r), store(to + (l + 3) * width, s);
      }
    for (; l < depth; l++)
      for (ptrdiff_t i = 0; i < 4; i++) to[l * width + i] = i < here ? from[i * across + l * along] : 0;
  }
}

// c[tile_rows][tile_columns] = or += strip · panel. A function of its own, because inlined it spills registers.
[[gnu::noinline]] static void tile(int depth, const float* strip, const float* panel, float* c, ptrdiff_t c_row,
                                   bool accumulate) {
  f32x4 sums[tile_rows][2];
  for (auto& [left, right] : sums) left = right = zero();
  for (; depth > 0; depth--, strip += tile_rows, panel += tile_columns) {
    f32x4 left = load(panel), right = load(panel + 4);
    for (int i = 0; i < tile_rows; i++) {
      f32x4 x = load_splat(strip + i);
      sums[i][0] = madd(x, left, sums[i][0]);
      sums[i][1] = madd(x, right, sums[i][1]);
    }
  }
  for (auto& [left, right] : sums) {
    store(c, accumulate ? load(c) + left : left);
    store(c + 4, accumulate ? load(c + 4) + right : right);
    c += c_row;
  }
}

// The same at the edges, where only rows × columns of c are left.
static void part_of_tile(int depth, const float* strip, const float* panel, float* c, ptrdiff_t c_row, bool accumulate,
                         int rows, int columns) {
  float whole[tile_rows * tile_columns];
  tile(depth, strip, panel, whole, tile_columns, false);
  for (int i = 0; i < std::min(rows, tile_rows); i++, c += c_row)
    for (int j = 0; j < std::min(columns, tile_columns); j++) c[j] = (accumulate ? c[j] : 0) + whole[i * tile_columns + j];
}

// What one thread does; `scratch` is for all n columns.
static void packed_product(int m, int n, int k, const float* a, ptrdiff_t a_row, ptrdiff_t a_column, const float* b, ptrdiff_t b_row,
                           ptrdiff_t b_column, float* c, ptrdiff_t c_row, bool accumulate, float* scratch) {
  for (ptrdiff_t from = 0; from < k; from += depth_block, accumulate = true) {
    int depth = std::min(int(k - from), depth_block);
    float *strips = scratch, *panels = scratch + block_rows * depth;
    pack(panels, tile_columns, b + from * b_row, b_column, b_row, n, depth);
    for (ptrdiff_t block = 0; block < m; block += block_rows) {
      int rows = std::min(int(m - block), block_rows);
      pack(strips, tile_rows, a + block * a_row + from * a_column, a_row, a_column, rows, depth);
      for (ptrdiff_t j = 0; j < n; j += tile_columns)
        for (ptrdiff_t i = 0; i < rows; i += tile_rows) {
          const float *strip = strips + i * depth, *panel = panels + j * depth;
          float* to = c + (block + i) * c_row + j;
          if (i + tile_rows <= rows && j + tile_columns <= n) tile(depth, strip, panel, to, c_row, accumulate);
          else part_of_tile(depth, strip, panel, to, c_row, accumulate, int(rows - i), int(n - j));
        }
    }
  }
}

void product(int m, int n, int k, const float* a, ptrdiff_t a_row, ptrdiff_t a_column, const float* b, ptrdiff_t b_row,
             ptrdiff_t b_column, float* c, ptrdiff_t c_row, bool accumulate, float* scratch) {
  // Wherever c is cut, its elements are made as they would be in one piece: columns are cut at whole vectors.
  const double work = double(m) * k;  // of a column
  if (k == 0 || (m <= few_rows && a_column == 1 && b_row == 1))
    return parallel_ranges(n, tile_columns, work, [&](ptrdiff_t first, ptrdiff_t last) {
      for (ptrdiff_t i = 0; i < m; i++)
        dots(c + i * c_row + first, a + i * a_row, b + first * b_column, b_column, int(last - first), k, accumulate);
    });
  if (m <= few_rows && b_column == 1)
    return parallel_ranges(n, tile_columns, work, [&](ptrdiff_t first, ptrdiff_t last) {
      for (ptrdiff_t i = 0; i < m; i++)
        sums(c + i * c_row + first, a + i * a_row, a_column, b + first, b_row, int(last - first), k, accumulate);
    });
  if (n <= m && n <= widest)
    return parallel_ranges(m, tile_rows, double(n) * k, [&](ptrdiff_t first, ptrdiff_t last, int thread) {
      packed_product(int(last - first), n, k, a + first * a_row, a_row, a_column, b, b_row, b_column, c + first * c_row, c_row,
                     accumulate, scratch + thread * scratch_of_one(n, k));
    });
  parallel_ranges(n, tile_columns, work, [&](ptrdiff_t first, ptrdiff_t last, int thread) {
    packed_product(m, int(last - first), k, a, a_row, a_column, b + first * b_column, b_row, b_column, c + first, c_row,
                   accumulate, scratch + thread * scratch_of_one(n, k));
  });
}

}  // namespace lw

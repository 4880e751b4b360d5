// How scores are made: shared by the forward and the backward kernels, so that they cannot drift.
// Rows of scores are only touched inside the intervals of keys that the query sees; vectors may read, but never change,
// up to three cells past an interval (rows are padded to a multiple of 8, bias tables by 16).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/attention.h"
#include "simd/simd.h"

namespace lw::attention_detail {

using simd::f32x4;
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// The intervals of keys that one query sees; `last` still has to be clipped to the keys that exist.
struct Seen {
  Interval own;
  const Interval* list;
  int count;
  const Interval* begin() const { return list ? list : &own; }
  const Interval* end() const { return begin() + count; }
};
inline Seen seen(const Plan& plan, int query, int keys) {
  const Pattern& pattern = plan.pattern;
  if (pattern.begin.empty()) return {{0, plan.causal ? std::min(query + 1, keys) : keys}, nullptr, 1};
  const int first = pattern.begin[query], count = pattern.begin[query + 1] - first;
  const Interval* list = pattern.intervals.data() + first;
  if (count == 1) return {*list, nullptr, 1};
  return {{}, list, count};
}

// What one query sees of one tile: intervals counted from the tile's first key, most often one. The Seen must outlive it.
class Part {
 public:
  Part() = default;
  explicit Part(Interval all) : first_(all), origin_(0) {}
  Part(const Seen& seen, Interval tile, Interval only = {0, INT_MAX})
      : here_{std::max(tile.first, only.first), std::min(tile.last, only.last)}, origin_(tile.first) {
    const Interval* i = seen.begin();
    end_ = seen.end();
    if (seen.count > 1) i = std::partition_point(i, end_, [&](const Interval& keys) { return keys.last <= here_.first; });
    next_ = i;
    first_ = following();
  }
  // Calls f(a, b) for each interval.
  template <class F>
  void each(F f) const {
    Part rest = *this;
    for (Interval x = first_; x.first < x.last; x = rest.following()) f(x.first, x.last);
  }
  // From the first to past the last key; {0, 0} if there is none.
  Interval hull() const {
    if (next_ == end_) return first_;
    Interval all{0, 0};
    each([&](int a, int b) { all = {all.last ? all.first : a, b}; });
    return all;
  }
  bool empty() const { return first_.first == first_.last; }
  bool single() const { return next_ == end_; }  // at most one interval

 private:
  Interval following() {
    if (next_ == end_) return {0, 0};
    const Interval keys = *next_++;
    if (keys.first >= here_.last) next_ = end_;
    const int a = std::max(keys.first, here_.first), b = std::min(keys.last, here_.last);
    return a < b ? Interval{a - origin_, b - origin_} : Interval{0, 0};
  }
  Interval first_{0, 0}, here_{0, 0};
  const Interval *next_ = nullptr, *end_ = nullptr;
  int origin_ = 0;
};

inline Interval join(Interval a, Interval b) {
  if (a.first == a.last) return b;
  if (b.first == b.last) return a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

inline float row_scale(const Plan& plan, int head, int query) {
  return plan.scale.empty() ? 1 : plan.scale[size_t(head) * plan.length + query];
}
// The row of biases from key `first` on; nullptr when the door is closed.
inline const float* row_bias(const Plan& plan, int head, int query, int first) {
  return plan.bias.table.empty() ? nullptr : plan.bias.row(head, query) + first;
}

// Lanes 0 … count − 1.
inline f32x4 first_lanes(int count) {
  static const float lanes[4] = {0, 1, 2, 3};
  return simd::load(lanes) < simd::splat(float(count));
}
// f(j, x) → new x for each vector of x[a … b), the last one partial.
template <class F>
void each_vector(float* x, int a, int b, F f) {
  int j = a;
  for (; j + 4 <= b; j += 4) simd::store(x + j, f(j, simd::load(x + j), false));
  if (j < b) {
    const f32x4 old = simd::load(x + j);
    simd::store(x + j, simd::select(first_lanes(b - j), f(j, old, true), old));
  }
}

// The score: here and nowhere else. `raw` is q·k·score_scale plus the content terms.
inline f32x4 unscaled(f32x4 raw, const float* bias, int j) { return bias ? raw + simd::load(bias + j) : raw; }

// What score() and the backward kernel make of t, the unscaled score. A bias of −∞ hides a key whatever the scale, where a
// factor of 0 or less would make NaN or +∞ of it; `hiding` is the bias in such rows, else nullptr.
inline const float* hiding(const float* bias, float row_scale) { return row_scale > 0 ? nullptr : bias; }
inline f32x4 scaled(f32x4 t, f32x4 scale, const float* hiding, int j) {
  const f32x4 x = t * scale;
  return hiding ? simd::select(simd::load(hiding + j) <= simd::splat(minus_infinity), simd::splat(minus_infinity), x) : x;
}

// The largest of f(j, partial), the scores j … j + 3, over one interval (NaN left out); the last vector may be partial.
template <class F>
float largest(int a, int b, F f) {
  f32x4 top = simd::splat(minus_infinity);
  int j = a;
  if (j + 16 <= b) {
    f32x4 tops[4] = {top, top, top, top};  // four, so that none waits for the one before
    for (; j + 16 <= b; j += 16)
      for (int n = 0; n < 4; n++) tops[n] = simd::max(tops[n], f(j + 4 * n, false));
    for (const f32x4 x : tops) top = simd::max(top, x);
  }
  for (; j + 4 <= b; j += 4) top = simd::max(top, f(j, false));
  if (j < b) top = simd::max(top, simd::select(first_lanes(b - j), f(j, true), top));
  return simd::largest(top);
}
// Where scores are raw: no bias, no scale.
inline float largest(const float* s, int a, int b) {
  return largest(a, b, [=](int j, bool) { return simd::load(s + j); });
}
// raw → scores in place.
inline float score(float* s, const float* bias, float row_scale, int a, int b) {
  const f32x4 scale = simd::splat(row_scale);
  auto in_place = [=](auto score_of) {
    return largest(a, b, [=](int j, bool partial) {
      const f32x4 raw = simd::load(s + j), x = score_of(raw, j);
      simd::store(s + j, partial ? simd::select(first_lanes(b - j), x, raw) : x);
      return x;
    });
  };
  // The usual case first, where nothing has to be asked for each vector.
  if (bias && row_scale > 0) return in_place([=](f32x4 raw, int j) { return scaled(unscaled(raw, bias, j), scale, nullptr, j); });
  return in_place([=](f32x4 raw, int j) { return scaled(unscaled(raw, bias, j), scale, hiding(bias, row_scale), j); });
}
// scores → exp(score − shift) in place over one interval; their sum.
inline float exponentials(float* s, float shift, int a, int b) {
  const f32x4 minus = simd::splat(shift);
  f32x4 sum = simd::zero();
  each_vector(s, a, b, [&](int j, f32x4 x, bool partial) {
    const f32x4 y = simd::softmax_exp(x - minus);
    sum += partial ? simd::select(first_lanes(b - j), y, simd::zero()) : y;
    return y;
  });
  return simd::sum(sum);
}
// Whether all of these would be 0 if no raw score were above `most`. NaN: no.
[[gnu::noinline]] inline bool weightless(float most, const float* bias, float row_scale, float shift, int a, int b) {
  const f32x4 raw = simd::splat(most), scale = simd::splat(row_scale), minus = simd::splat(shift);
  for (int j = a; j < b; j += 4) {
    const f32x4 x = scaled(unscaled(raw, bias, j), scale, nullptr, j) - minus, least = simd::splat(simd::softmax_least);
    if (!simd::all((j + 4 <= b ? x : simd::select(first_lanes(b - j), x, simd::splat(minus_infinity))) < least)) return false;
  }
  return true;
}
// Zero in what the row does not see between its first and its last key.
inline void zero_holes(float* x, const Part& part) {
  int end = -1;
  part.each([&](int a, int b) {
    for (int j = end; j >= 0 && j < a; j++) x[j] = 0;
    end = b;
  });
}

}  // namespace lw::attention_detail

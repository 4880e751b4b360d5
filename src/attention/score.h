// How scores are made: shared by the forward and the backward kernels, so that they cannot drift.
#pragma once
#include <algorithm>
#include <cmath>

#include "attention/attention.h"

namespace lw::attention_detail {

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
  const int first = pattern.begin[query];
  return {{}, pattern.intervals.data() + first, pattern.begin[query + 1] - first};
}

inline float score_scale(const Plan& plan, int head_dim) {
  return plan.score_scale != 0 ? plan.score_scale : 1 / std::sqrt(float(head_dim));
}
inline float row_scale(const Plan& plan, int head, int query) {
  return plan.scale.empty() ? 1 : plan.scale[size_t(head) * plan.length + query];
}

}  // namespace lw::attention_detail

// The plan of a stack, and its way back from gradients of tables to gradients of parameters.
#include <algorithm>
#include <climits>
#include <cmath>

#include "position/stack.h"
#include "simd/sincos.h"
#include "position/text.h"

namespace lw {
namespace {

constexpr size_t padding = 16;  // floats that may be read past a row of the bias

Error out_of_memory(const char* what, double bytes) {
  return {"OutOfMemory: there are no " + number_text(std::ceil(bytes / 1e6)) + " MB of memory for " + what + "; use a shorter length"};
}

Error check_length(size_t length) {
  const size_t most = 1 << 24;
  if (length >= 1 && length <= most) return {};
  return {"length is " + number_text(double(length)) + "; allowed: 1 to " + std::to_string(most)};
}

Error check_positions(std::span<const double> positions) {
  const double most = 9007199254740992;  // beyond, not every whole number exists
  for (size_t i = 0; i < positions.size(); i++)
    if (!(std::fabs(positions[i]) <= most))
      return {"positions[" + std::to_string(i) + "] is " + number_text(positions[i]) + "; allowed: numbers from -2^53 to 2^53"};
  return {};
}

// Whether p_i = p_0 + i·step. Whole steps must hold exactly; fractional ones up to rounding.
bool equal_steps(std::span<const double> p, double& step) {
  const size_t last = p.size() - 1;
  step = last ? (p[last] - p[0]) / double(last) : 1;
  double largest = std::max(std::fabs(p[0]), std::fabs(p[last]));
  double tolerance = step == std::floor(step) ? 0 : std::min(1e-9, largest * 0x1p-51);
  for (size_t i = 1; i < last; i++)
    if (!(std::fabs(p[i] - (p[0] + double(i) * step)) <= tolerance)) return false;
  return true;
}

// Sorts and unites; what touches becomes one.
void unite(std::vector<Interval>& row) {
  auto earlier = [](Interval a, Interval b) { return a.first < b.first; };
  if (!std::is_sorted(row.begin(), row.end(), earlier)) std::sort(row.begin(), row.end(), earlier);
  size_t kept = 0;
  for (Interval next : row) {
    if (next.first >= next.last) continue;
    if (kept && next.first <= row[kept - 1].last) row[kept - 1].last = std::max(row[kept - 1].last, next.last);
    else row[kept++] = next;
  }
  row.resize(kept);
}

}  // namespace

Error Stack::plan(std::span<const double> positions, int present, Random* random, Plan& out, const int* tokens) {
  if (Error e = check_length(positions.size())) return e;
  if (Error e = check_positions(positions)) return e;
  if (!out.positions.resize(positions.size())) return out_of_memory("the positions", positions.size() * 8.0);
  std::copy(positions.begin(), positions.end(), out.positions.begin());
  return fill(present, random, tokens, out);
}

Error Stack::plan(int length, int present, Random* random, Plan& out, const int* tokens) {
  if (Error e = check_length(length < 0 ? 0 : size_t(length))) return e;
  if (!out.positions.resize(size_t(length))) return out_of_memory("the positions", length * 8.0);
  for (int i = 0; i < length; i++) out.positions[i] = i;
  return fill(present, random, tokens, out);
}

Error Stack::fill(int present, Random* random, const int* tokens, Plan& out) {
  std::span<double> positions(out.positions.data(), out.positions.size());
  const int length = int(positions.size());
  if (present <= 0) present = length;
  out.tokens.clear();
  if (reads_tokens()) {
    if (!tokens) return {"tokens are missing; \"" + spec_ + "\" looks at which tokens there are"};
    if (!out.tokens.resize(length)) return out_of_memory("the tokens", 4.0 * length);
    std::copy_n(tokens, length, out.tokens.data());
  }
  for (auto& e : encodings_) {
    if (!opens(e->descriptor().doors, Door::ids)) continue;
    if (Error refused = e->refuse(positions, present)) return refused;
    e->ids(positions, tokens, random);
    if (Error fault = e->fault()) return fault;
  }
  for (auto& e : encodings_)
    if (!opens(e->descriptor().doors, Door::ids))
      if (Error refused = e->refuse(positions, present)) return refused;

  out.length = length;
  out.causal = shape_.causal;
  out.linear = linear();
  out.has_content = opens(doors(), Door::content) || opens(doors(), Door::value);
  out.score_scale = 1 / std::sqrt(float(shape_.head_dim));
  for (auto& e : encodings_) if (float factor = e->score_scale(); factor >= 0) out.score_scale = factor;
  if (Error e = plan_input(out)) return e;
  if (Error e = plan_zones(out)) return e;
  if (Error e = plan_rotation(present, out)) return e;
  if (Error e = plan_bias(out)) return e;
  if (Error e = plan_pattern(out)) return e;
  if (Error e = plan_scale(out)) return e;
  for (auto& e : encodings_) if (Error fault = e->fault()) return fault;
  return {};
}

bool Stack::learns(Door door) const {
  for (auto& e : encodings_) if (opens(e->descriptor().doors, door) && !e->parameters().empty()) return true;
  return false;
}

Error Stack::plan_input(Plan& out) {
  out.input.clear();
  out.embedding_scale = 1;
  bool table = false;  // mixing from neighbours needs none
  for (auto& e : encodings_) table = table || (opens(e->descriptor().doors, Door::input) && !e->mixes());
  if (!table) return {};
  if (!sized(out.input, out.length, shape_.width)) return out_of_memory("the input vectors", 4.0 * out.length * shape_.width);
  // Some rows at a time, so that a sum is complete before it leaves the cache; but who reads tokens wants to see them all.
  const size_t n = out.positions.size(), width = size_t(shape_.width), some = reads_tokens() ? n : (1 << 14) / width + 1;
  for (size_t first = 0; first < n; first += some) {
    const auto positions = std::span(out.positions.data(), n).subspan(first, std::min(some, n - first));
    float* rows = out.input.data() + first * width;
    std::fill_n(rows, positions.size() * width, 0.f);
    for (auto& e : encodings_)
      if (opens(e->descriptor().doors, Door::input)) e->input(positions, out.tokens.data(), rows);
  }
  for (auto& e : encodings_)
    if (opens(e->descriptor().doors, Door::input)) out.embedding_scale *= e->embedding_scale();
  return {};
}

// A map of distances (at most one encoding of the stack has one).
Error Stack::plan_zones(Plan& out) {
  int zones = 0;
  for (auto& e : encodings_) zones = std::max(zones, e->zones());
  out.zones.resize(zones);
  for (int i = 1; zones && i < out.length; i++)
    if (!(out.positions[i] > out.positions[i - 1]))
      return {"positions[" + std::to_string(i) + "] is " + number_text(out.positions[i]) + " after " + number_text(out.positions[i - 1]) +
              "; allowed with a map of distances: increasing numbers"};
  for (int z = 0; z < zones; z++) {
    Zone& zone = out.zones[z];
    if (!sized(zone.query, out.length, 1) || !sized(zone.key, out.length, 1) || !sized(zone.first, out.length, 1))
      return out_of_memory("the zones", 20.0 * out.length * zones);
    for (auto& e : encodings_) if (e->zones()) e->zone(z, out.positions, zone);
  }
  return {};
}

Error Stack::plan_rotation(int present, Plan& out) {
  out.rotation.pairs = 0;
  for (auto& e : encodings_) {
    if (!opens(e->descriptor().doors, Door::rotation)) continue;
    if (out.zones.empty()) return turn(*e, out.positions, out.positions, present, out.rotation);
    for (size_t z = 0; z < out.zones.size(); z++) {
      Zone& zone = out.zones[z];
      if (Error error = turn(*e, zone.query, zone.key, present, z ? zone.rotation : out.rotation)) return error;
    }
  }
  return {};
}

// Angles in double, reduced in double, so that cosines and sines are right to a float's last place at any position. Keys
// get tables of their own where their numbers or gains differ from those of the queries.
Error Stack::turn(Encoding& e, std::span<const double> query, std::span<const double> key, int present, Rotation& r) {
  const Rotary rotary = e.rotary();
  const size_t N = query.size(), size = N * rotary.pairs;
  auto too_large = [&] { return out_of_memory("the rotation", 40.0 * size); };
  auto tables = [&](std::span<const double> positions, const double* gain, Buffer<float>& cosine, Buffer<float>& sine) {
    if (!angles(e, positions, present, numbers_) || !sized(cosine, size, 1) || !sized(sine, size, 1)) return false;
    simd::sincos(numbers_.data(), size, sine.data(), cosine.data());
    for (size_t n = 0; n < size && gain; n++) cosine[n] *= float(gain[n]), sine[n] *= float(gain[n]);
    return true;
  };
  r.pairs = rotary.pairs, r.pairing = rotary.pairing;
  r.key_cosine.clear(), r.key_sine.clear();
  bool alike = std::equal(query.begin(), query.end(), key.begin());
  double *query_gain = nullptr, *key_gain = nullptr;
  if (e.has_gain()) {  // keys' gains at the keys' numbers
    if (!gains_.assign(4 * size, 1)) return too_large();
    query_gain = gains_.data(), key_gain = query_gain + 3 * size;
    e.gain(query, query_gain, query_gain + size), e.gain(key, query_gain + 2 * size, key_gain);
    alike = alike && std::equal(query_gain, query_gain + size, key_gain);
  }
  if (!tables(query, query_gain, r.cosine, r.sine)) return too_large();
  return alike || tables(key, key_gain, r.key_cosine, r.key_sine) ? Error{} : too_large();
}

// out [N][pairs]. Where tokens have coordinates, each pair turns by its own.
bool Stack::angles(Encoding& rotary, std::span<const double> positions, int present, Buffer<double>& out) {
  const size_t N = positions.size();
  const int pairs = rotary.rotary().pairs;
  Encoding* map = nullptr;
  for (auto& e : encodings_) if (e->coordinates()) map = e.get();
  if (!sized(out, N, pairs)) return false;
  if (!map) return rotary.rotation(positions, present, out.data()), true;
  if (!sized(coordinates_, N, 1 + pairs)) return false;
  double* turned = coordinates_.data() + N;
  for (int c = 0; c < map->coordinates(); c++) {
    map->coordinate(c, positions, coordinates_.data());
    rotary.rotation({coordinates_.data(), N}, present, turned);
    for (size_t n = 0; n < N * pairs; n++) if (map->coordinate_of(int(n % pairs), pairs) == c) out[n] = turned[n];
  }
  return true;
}

// gradient [N][pairs]; with coordinates each pair's goes to the coordinate that it turned by.
void Stack::turn_backward(Encoding& rotary, std::span<const double> positions, int present, const float* gradient) {
  Encoding* map = nullptr;
  for (auto& e : encodings_) if (e->coordinates()) map = e.get();
  if (!map) return rotary.rotation_backward(positions, present, gradient);
  const size_t N = positions.size(), pairs = rotary.rotary().pairs;
  for (int c = 0; c < map->coordinates(); c++) {
    map->coordinate(c, positions, coordinates_.data());
    for (size_t n = 0; n < N * pairs; n++)
      floats_[n] = map->coordinate_of(int(n % pairs), int(pairs)) == c ? gradient[n] : 0;
    rotary.rotation_backward({coordinates_.data(), N}, present, floats_.data());
  }
}

// The bias table as stretches of distances: f(query, distances, at) where cell at + m of each head belongs to distance m.
// One stretch when the table is by distance (query is then 0), one for each query when it is dense. False: out of memory.
template <class F>
bool Stack::each_stretch(const Plan& plan, F f) {
  const int N = plan.length;
  const bool dense = plan.bias.row_stride != -1;
  const size_t longest = dense || plan.causal ? size_t(N) : 2 * size_t(N) - 1, all = 2 * size_t(N) - 1;
  if (!sized(numbers_, all, 1) || !sized(floats_, longest, shape_.heads)) return false;
  double step = 0;
  const bool equal = equal_steps(plan.positions, step) && plan.zones.empty();
  for (size_t m = 0; equal && m < all; m++) numbers_[m] = (double(N) - 1 - double(m)) * step;
  for (int i = dense ? 0 : N - 1; i < N; i++) {
    const size_t count = dense && plan.causal ? size_t(i) + 1 : longest, first = equal ? size_t(N) - 1 - i : 0;
    if (equal) {  // its distances are a part of all that there are
    } else if (plan.zones.empty())
      for (size_t m = 0; m < count; m++) numbers_[m] = plan.positions[i] - plan.positions[m];
    else
      for (size_t m = 0, z = plan.zones.size(); m < count; m++) {
        while (z > 1 && int(m) >= plan.zones[z - 2].first[i]) z--;
        numbers_[m] = plan.zones[z - 1].query[i] - plan.zones[z - 1].key[m];
      }
    f(dense ? plan.positions[i] : 0, Distances{{numbers_.data() + first, count}, equal ? step : 0}, size_t(plan.bias.index(0, i)));
  }
  return true;
}

Error Stack::plan_bias(Plan& out) {
  Bias& b = out.bias;
  b.table.clear();
  if (!opens(doors(), Door::bias)) return {};
  const int64_t N = out.length, H = shape_.heads;
  double step = 0;
  bool by_distance = equal_steps(out.positions, step) && out.zones.empty();
  for (auto& e : encodings_) by_distance = by_distance && !e->bias_by_row(out.positions);
  b.triangular = !by_distance && out.causal;
  const int64_t head = by_distance ? 2 * N - 1 : b.triangular ? N * (N + 1) / 2 : N * N;
  if (!sized(b.table, H, head, padding)) return out_of_memory("the score bias", 4.0 * H * head);
  std::fill_n(b.table.end() - padding, padding, 0.f);
  b.head_stride = ptrdiff_t(head), b.row_stride = by_distance ? -1 : ptrdiff_t(N), b.origin = by_distance ? ptrdiff_t(N) - 1 : 0;
  bool fits = each_stretch(out, [&](double query, Distances distances, size_t at) {
    const size_t n = distances.size();
    const Heads rows{b.table.data() + at, ptrdiff_t(head)}, more{floats_.data(), ptrdiff_t(n)};
    bool first = true;
    for (auto& e : encodings_) {
      if (!opens(e->descriptor().doors, Door::bias)) continue;
      e->bias(query, distances, first ? rows : more);
      for (int h = 0; h < H && !first; h++)
        for (size_t m = 0; m < n; m++) rows[h][m] += more[h][m];
      first = false;
    }
    for (int h = 0; h < H && by_distance; h++) std::fill_n(rows[h] + n, head - int64_t(n), 0.f);  // distances hidden by the mask
  });
  return fits ? Error{} : out_of_memory("the score bias", 4.0 * H * N);
}

// Each row once, whatever it costs to make; the room for intervals doubles.
Error Stack::plan_pattern(Plan& out) {
  Pattern& pattern = out.pattern;
  pattern.begin.clear(), pattern.intervals.clear();
  if (!opens(doors(), Door::pattern)) return {};
  if (!sized(pattern.begin, out.length, 1, 1)) return out_of_memory("the pattern", 4.0 * out.length);
  uint64_t count = 0;
  for (int i = 0; i < out.length; i++) {
    row_.clear();
    for (auto& e : encodings_) if (opens(e->descriptor().doors, Door::pattern)) e->pattern(i, out.length, out.tokens.data(), row_);
    for (Interval& keys : row_) keys = {std::max(keys.first, 0), std::min(keys.last, shape_.causal ? i + 1 : out.length)};
    unite(row_);
    pattern.begin[i] = int(count), count += row_.size();
    const uint64_t room = pattern.intervals.size();
    if (count > INT_MAX || (count > room && !sized(pattern.intervals, std::max({count, 2 * room, uint64_t(out.length)}), 1))) {
      pattern.begin.clear(), pattern.intervals.clear();
      return out_of_memory("the pattern", 8.0 * count);
    }
    std::copy(row_.begin(), row_.end(), pattern.intervals.data() + pattern.begin[i]);
  }
  pattern.begin[out.length] = int(count);
  if (!pattern.intervals.resize(count)) return out_of_memory("the pattern", 8.0 * count);
  return {};
}

bool Stack::count_seen(const Plan& plan) {
  if (!seen_.assign(plan.length, 0)) return false;
  for (int i = 0; i < plan.length; i++) {
    if (plan.pattern.begin.empty()) { seen_[i] = plan.causal ? i + 1 : plan.length; continue; }
    for (int n = plan.pattern.begin[i]; n < plan.pattern.begin[i + 1]; n++)
      seen_[i] += plan.pattern.intervals[n].last - plan.pattern.intervals[n].first;
  }
  return true;
}

Error Stack::plan_scale(Plan& out) {
  out.scale.clear();
  if (!opens(doors(), Door::scale)) return {};
  if (!sized(out.scale, shape_.heads, out.length) || !count_seen(out)) return out_of_memory("the scale", 4.0 * shape_.heads * out.length);
  out.scale.fill(1);
  for (auto& e : encodings_) if (opens(e->descriptor().doors, Door::scale)) e->scale({seen_.data(), seen_.size()}, out.positions, out.scale.data());
  return {};
}

Error Stack::size_gradient(const Plan& plan, PlanGradient& out) {
  const size_t angles = plan.rotation.cosine.size() * (plan.zone_count() > 1 ? 2 * plan.zone_count() : 1);
  auto match = [&](Door door, Buffer<float>& gradient, size_t size) { return gradient.assign(learns(door) ? size : 0, 0); };
  if (match(Door::input, out.input, plan.input.size()) && match(Door::rotation, out.angle, angles) &&
      match(Door::bias, out.bias, plan.bias.table.size()) && match(Door::scale, out.scale, plan.scale.size()))
    return {};
  size_t all = plan.input.size() + angles + plan.bias.table.size() + plan.scale.size();
  return out_of_memory("the gradient of the plan", 4.0 * double(all));
}

Error Stack::plan_backward(const Plan& plan, int present, const PlanGradient& gradient) {
  if (present <= 0) present = plan.length;
  auto learners = [&](Door door, const Buffer<float>& g, auto f) {
    if (g.empty()) return;
    for (auto& e : encodings_) if (opens(e->descriptor().doors, door) && !e->parameters().empty()) f(*e);
  };
  learners(Door::input, gradient.input, [&](Encoding& e) { e.input_backward(plan.positions, plan.tokens.data(), gradient.input.data()); });
  if (!gradient.angle.empty() && (!sized(floats_, plan.rotation.cosine.size(), 1) || !sized(coordinates_, plan.length, 1)))
    return out_of_memory("the gradient of the rotation", 4.0 * plan.rotation.cosine.size());
  learners(Door::rotation, gradient.angle, [&](Encoding& e) {
    const size_t table = plan.rotation.cosine.size();
    if (plan.zone_count() == 1) return turn_backward(e, plan.positions, present, gradient.angle.data());
    for (int z = 0; z < plan.zone_count(); z++) {
      turn_backward(e, plan.zones[z].query, present, gradient.angle.data() + 2 * z * table);
      turn_backward(e, plan.zones[z].key, present, gradient.angle.data() + (2 * z + 1) * table);
    }
  });
  if (!gradient.bias.empty()) {
    bool fits = each_stretch(plan, [&](double query, Distances distances, size_t at) {
      const size_t n = distances.size();
      for (int h = 0; h < shape_.heads; h++)
        std::copy_n(gradient.bias.data() + h * plan.bias.head_stride + at, n, floats_.data() + h * n);
      learners(Door::bias, gradient.bias, [&](Encoding& e) { e.bias_backward(query, distances, floats_.data()); });
    });
    if (!fits) return out_of_memory("the gradient of the score bias", 4.0 * shape_.heads * plan.length);
  }
  if (!gradient.scale.empty() && (!sized(floats_, gradient.scale.size(), 1) || !count_seen(plan)))
    return out_of_memory("the gradient of the scale", 4.0 * gradient.scale.size());
  learners(Door::scale, gradient.scale, [&](Encoding& e) {
    std::copy(gradient.scale.begin(), gradient.scale.end(), floats_.begin());
    for (auto& other : encodings_)
      if (other.get() != &e && opens(other->descriptor().doors, Door::scale)) other->scale({seen_.data(), seen_.size()}, plan.positions, floats_.data());
    e.scale_backward({seen_.data(), seen_.size()}, plan.positions, floats_.data());
  });
  return {};
}

}  // namespace lw

#include "lab/audit_subject.h"

#include <cmath>
#include <limits>

namespace lw::audited {

Error out_of_memory() { return {"OutOfMemory: the audit needs more memory than can be had; use a shorter trainedLength or fewer heads"}; }

Error Subject::plan_for(int n, Random* random, Plan& out) {
  tokens.assign(n, 0);
  if (Error e = stack.plan(n, 0, random, out, tokens.data())) return e;
  return stack.mixer() ? mix(*stack.mixer(), out) : Error{};
}

Error Subject::mix(Encoding& mixer, Plan& out) {
  const size_t width = x.size(), size = out.length * width;
  Buffer<float> alike;
  if (!alike.resize(size) || (out.input.empty() && !out.input.assign(size, 0))) return out_of_memory();
  double square = 0;
  for (float f : x) square += double(f) * f;
  for (size_t i = 0; i < size; i++) alike[i] = float(x[i % width] * out.embedding_scale / std::sqrt(square));
  mixer.mix(alike.data(), 0, out.length, out.input.data());
  return {};
}

Error Subject::make(std::string_view spec, const Shape& shape) {
  if (Error e = Stack::make(spec, shape, stack)) return e;
  size_t total = 0;
  for (Parameter* p : stack.parameters()) total += p->size();
  if (!parameters.assign(total, 0)) return out_of_memory();
  float* next = parameters.data();
  for (Parameter* p : stack.parameters()) p->value = next, next += p->size();
  Random random(1, 1);
  stack.initialise(random);
  for (float& p : parameters) p += float(0.02 * random.normal());
  stack.project();
  for (auto* v : {&q, &k, &x}) {
    v->resize(v == &x ? shape.width : size_t(v == &q ? shape.heads : shape.kv_heads) * shape.head_dim);
    for (float& f : *v) f = float(random.normal());
  }
  return {};
}

bool sees(const Plan& plan, int heads, int i, int j) {
  if (plan.causal && j > i) return false;
  bool hidden = !plan.bias.table.empty();
  for (int h = 0; hidden && h < heads; h++) hidden = plan.bias.row(h, i)[j] == -std::numeric_limits<float>::infinity();
  if (hidden) return false;
  if (plan.pattern.begin.empty()) return true;
  for (int n = plan.pattern.begin[i]; n < plan.pattern.begin[i + 1]; n++)
    if (j >= plan.pattern.intervals[n].first && j < plan.pattern.intervals[n].last) return true;
  return false;
}

Error locate(Subject& subject, View& view) {
  const Plan& plan = subject.plan;
  const int n = plan.length, last = n - 1, pairs = plan.rotation.pairs, zones = std::max(1, int(plan.zones.size()));
  view = {};
  for (int j = 0; j < n; j++) view.seen.push_back(sees(plan, subject.stack.shape().heads, last, j));
  view.distance.resize(n), view.angle.resize(size_t(n) * pairs);
  Encoding* rotary = nullptr;
  for (auto& e : subject.stack.encodings()) if (opens(e->descriptor().doors, Door::rotation)) rotary = e.get();
  Buffer<double> query, key;
  for (int z = zones - 1; z >= 0; z--) {  // nearer ones write over farther ones
    const bool mapped = !plan.zones.empty();
    const Buffer<double>& queries = mapped ? plan.zones[z].query : plan.positions;
    const Buffer<double>& keys = mapped ? plan.zones[z].key : plan.positions;
    if (rotary && (!subject.stack.angles(*rotary, queries, n, query) || !subject.stack.angles(*rotary, keys, n, key))) return out_of_memory();
    for (int j = mapped ? plan.zones[z].first[last] : 0; j < n; j++) {
      view.distance[j] = std::fabs(queries[last] - keys[j]);
      for (int k = 0; k < pairs; k++) view.angle[size_t(j) * pairs + k] = query[size_t(last) * pairs + k] - key[size_t(j) * pairs + k];
    }
  }
  return {};
}

Error look(Subject& subject, View& view) {
  const Shape& s = subject.stack.shape();
  const Plan& plan = subject.plan;
  const int n = plan.length, last = n - 1;
  if (Error e = locate(subject, view)) return e;
  const bool bias = !plan.bias.table.empty();
  if (!bias && !opens(subject.stack.doors(), Door::content)) return {};

  Buffer<float> x, raw, row;
  if (!x.resize(size_t(n) * s.width) || !raw.resize(n) || !row.resize(n)) return out_of_memory();
  for (int t = 0; t < n; t++) std::copy(subject.x.begin(), subject.x.end(), x.data() + size_t(t) * s.width);
  auto terms = subject.stack.content();
  for (auto& term : terms)
    if (!term->begin(n) || !term->sequence({0, n, x.data(), subject.q.data(), subject.k.data(), 0, 0})) return out_of_memory();
  for (int h = 0; h < s.heads; h++) {
    const float *q = &subject.q[size_t(h) * s.head_dim], *k = &subject.k[size_t(h / (s.heads / s.kv_heads)) * s.head_dim];
    double product = 0;
    for (int d = 0; d < s.head_dim; d++) product += double(q[d]) * k[d];
    raw.fill(float(product * plan.score_scale)), row.fill(0);
    for (auto& term : terms) term->row({h, last, q, 0, n}, raw.data(), row.data());
    view.score.emplace_back();
    for (int j = 0; j < n; j++) view.score[h].push_back(view.seen[j] ? row[j] + double(bias ? plan.bias.row(h, last)[j] : 0) : 0);
  }
  return {};
}

}  // namespace lw::audited

#include "lab/audit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "attention/attention.h"
#include "lab/audit_subject.h"
#include "position/text.h"

namespace lw {
namespace {

using namespace audited;

constexpr double infinity = std::numeric_limits<double>::infinity(), closed = std::numeric_limits<double>::quiet_NaN();

double difference(double a, double b) { return a == b ? 0 : std::fabs(a - b); }  // equal infinities are equal

// How far two numbers of type T may be apart that would be equal but for rounding; size: the largest of their kind.
template <class T> double rounding(double size) { return 8 * double(std::numeric_limits<T>::epsilon()) * size; }

template <class Numbers>
double size_of(const Numbers& numbers) {
  double most = 0;
  for (auto v : numbers) if (std::isfinite(v)) most = std::max(most, std::fabs(double(v)));
  return most;
}

void measure_unique(const Subject& subject, const View& view, Audit& out) {
  const Plan& plan = subject.plan;
  const int n = view.n(), width = subject.stack.shape().width, pairs = plan.rotation.pairs, heads = int(view.score.size());
  double least = infinity;
  std::vector<double> cosine, sine, sizes;
  for (auto& row : view.score) sizes.push_back(rounding<float>(size_of(row)));
  const double input_size = rounding<float>(size_of(plan.input)), turn_size = rounding<float>(1);
  for (double angle : view.angle) cosine.push_back(std::cos(angle)), sine.push_back(std::sin(angle));
  for (int a = 0; a < n; a++)
    for (int b = a + 1; b < n; b++) {
      double square = 0, part = 0;
      for (int c = 0; c < (plan.input.empty() ? 0 : width); c++) {
        const double d = double(plan.input[size_t(a) * width + c]) - plan.input[size_t(b) * width + c];
        if (std::fabs(d) > input_size) square += d * d / width;
      }
      if (view.seen[a] != view.seen[b]) continue;
      for (int k = 0; view.seen[a] && k < pairs; k++) {
        const size_t i = size_t(a) * pairs + k, j = size_t(b) * pairs + k;
        const double c = cosine[i] - cosine[j], s = sine[i] - sine[j];
        if (c * c + s * s > turn_size * turn_size) part += (c * c + s * s) / pairs;
      }
      square += part;
      for (int h = 0; view.seen[a] && h < heads; h++) {
        const double d = difference(view.score[h][a], view.score[h][b]);
        if (d > sizes[h]) square += d * d / heads;
      }
      if (square < least) least = square, out.unique = {0, a, b};
    }
  out.unique.distance = std::sqrt(least);
}

// The largest difference so far, and the door that it is behind; what is rounding does not count.
struct Difference {
  double most = 0;
  const char* door = "";
  void meet(const char* behind, double part, double rounding) { if (part > std::max(most, rounding)) most = part, door = behind; }
};

// Over the first n tokens of both.
Difference difference(const Plan& a, const Plan& b, int n, const Shape& s) {
  Difference out;
  auto compare = [&](const char* door, const auto& x, const auto& y, size_t size) {
    double part = 0;
    for (size_t i = 0; i < std::min({size, x.size(), y.size()}); i++) part = std::max(part, difference(x[i], y[i]));
    out.meet(door, part, rounding<std::decay_t<decltype(x[0])>>(size_of(x)));
  };
  compare("ids", a.positions, b.positions, n);
  compare("input", a.input, b.input, size_t(n) * s.width);
  compare("rotation", a.rotation.cosine, b.rotation.cosine, size_t(n) * a.rotation.pairs);
  compare("rotation", a.rotation.sine, b.rotation.sine, size_t(n) * a.rotation.pairs);
  double part = 0, size = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const bool seen = sees(a, s.heads, i, j);
      if (seen != sees(b, s.heads, i, j)) out.meet("pattern", 1, 0);
      for (int h = 0; seen && !a.bias.table.empty() && h < s.heads; h++) {
        const double one = a.bias.row(h, i)[j];
        part = std::max(part, difference(one, b.bias.row(h, i)[j]));
        if (std::isfinite(one)) size = std::max(size, std::fabs(one));
      }
    }
  out.meet("bias", part, rounding<float>(size));
  part = 0;
  for (int h = 0; !a.scale.empty() && h < s.heads; h++)
    for (int i = 0; i < n; i++) part = std::max(part, difference(a.scale[size_t(h) * a.length + i], b.scale[size_t(h) * b.length + i]));
  out.meet("scale", part, rounding<float>(size_of(a.scale)));
  return out;
}

Error measure_deterministic(Subject& subject, int n, Audit& out) {
  Stack& stack = subject.stack;
  Plan other;
  Random random(1, 2);
  Difference most;
  auto compare = [&](const Plan& a, const Plan& b) {
    const Difference one = difference(a, b, n, stack.shape());
    most.meet(one.door, one.most, 0);
    return one.most;
  };
  if (Error e = subject.plan_for(n, nullptr, other)) return e;
  out.deterministic.again = compare(subject.plan, other);
  Plan drawn;
  if (Error e = subject.plan_for(n, &random, drawn)) return e;
  if (Error e = subject.plan_for(n, &random, other)) return e;
  out.deterministic.training = compare(drawn, other);
  Error refused = subject.plan_for(2 * n, nullptr, other);
  out.deterministic.longer = refused ? closed : compare(subject.plan, other);
  out.deterministic.door = most.door;
  return {};
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Of a spec what a model was trained with: without what is put on afterwards, and a rotation that is scaled then is rope as it was.
std::string spec_in_training(std::string_view spec) {
  std::string trained;
  while (!spec.empty()) {
    const std::string_view term = take_until(spec, '+');
    std::string_view settings = term, name = take_until(settings, ':');
    const Descriptor &d = *find_encoding(name)->descriptor, &rope = *find_encoding("rope")->descriptor;
    const bool turns = &d == &rope || (d.after_training && opens(d.doors, Door::rotation));
    if (d.after_training && !turns) continue;
    std::string plain(turns ? rope.name : term);
    while (turns && !settings.empty()) {
      const std::string_view setting = take_until(settings, ':'), option = setting.substr(0, setting.find('='));
      for (auto& known : rope.options) if (option == known.name && option != "factor") plain += ":" + std::string(setting);
    }
    trained += (trained.empty() ? "" : "+") + plain;
  }
  return trained.empty() ? "nope" : trained;
}

// What a model met in training, over all draws.
struct Met {
  double farthest = 0;                               // distance of a key that the last token sees
  std::vector<double> arc;                           // [pairs], the largest relative angle
  std::vector<std::pair<double, double>> factors;    // [H], least and most of the scale door
  std::vector<std::pair<double, double>> biases;     // [H], least and most of the finite ones
  Buffer<float> rows;                                // input vectors, of the plan in evaluation
};

Error meet(Subject& subject, int n, Met& met) {
  const int heads = subject.stack.shape().heads;
  Plan& plan = subject.plan;
  if (Error e = subject.plan_for(n, nullptr, plan)) return e;
  met.arc.assign(plan.rotation.pairs, 0), met.factors.assign(heads, {infinity, -infinity}), met.biases = met.factors;
  if (!met.rows.resize(plan.input.size())) return out_of_memory();
  std::copy(plan.input.begin(), plan.input.end(), met.rows.data());
  Random random(1, 3);
  View view;
  for (int draw = 0; draw < (subject.stack.draws() ? 32 : 1); draw++) {
    if (Error e = subject.plan_for(n, &random, plan)) return e;
    if (Error e = locate(subject, view)) return e;
    for (int j = 0; j < n; j++) {
      if (!view.seen[j]) continue;
      met.farthest = std::max(met.farthest, view.distance[j]);
      for (size_t k = 0; k < met.arc.size(); k++) met.arc[k] = std::max(met.arc[k], std::fabs(view.angle[j * met.arc.size() + k]));
    }
    auto meet = [](std::pair<double, double>& range, double value) {
      if (std::isfinite(value)) range = {std::min(range.first, value), std::max(range.second, value)};
    };
    for (size_t i = 0; i < plan.scale.size(); i++) meet(met.factors[i / n], plan.scale[i]);
    for (int h = 0; h < heads && !plan.bias.table.empty(); h++)
      for (int i = 0; i < n; i++)
        for (int j = 0; j < (plan.causal ? i + 1 : n); j++) meet(met.biases[h], plan.bias.row(h, i)[j]);
  }
  return {};
}

Error measure_past(Subject& subject, int n, Audit& out) {
  Stack& stack = subject.stack;
  const Shape& s = stack.shape();
  auto& past = out.past;
  past.distances = past.angles = past.rows = past.factors = past.weight = closed;
  Met met;
  {
    Subject trained;
    const std::string spec = spec_in_training(stack.spec());
    if (spec != stack.spec()) past.trained = spec;
    if (Error e = trained.make(spec, s)) return e;
    if (Error e = meet(trained, n, met)) return e;
  }
  View view;
  const int longer = 4 * n, last = longer - 1;
  if (Error e = subject.plan_for(longer, nullptr, subject.plan)) return past.refused = e.text, Error{};
  const Plan& plan = subject.plan;
  if (Error e = look(subject, view)) return e;
  double keys = 0, far = 0, outside = 0;
  const double circle = 2 * std::acos(-1.0), slack = 1e-9;
  const int pairs = plan.rotation.pairs;
  auto outside_of = [](double value, std::pair<double, double> range) {
    const double room = rounding<float>(std::max(std::fabs(range.first), std::fabs(range.second)));
    return value < range.first - room || value > range.second + room;
  };
  // Of a bias that looks at more than the distance only the value tells.
  bool by_row = false, by_distance = false;
  for (auto& e : stack.encodings()) {
    const bool row = e->bias_by_row(plan.positions);
    by_row = by_row || row, by_distance = by_distance || (!row && e->descriptor().doors & (Door::bias | Door::content | Door::value | Door::pattern));
  }
  auto is_new = [&](int j) {
    bool fresh = (by_distance || !by_row) && view.distance[j] > met.farthest + slack;
    for (int h = 0; h < s.heads && by_row; h++) {
      const double bias = plan.bias.row(h, last)[j];
      fresh = fresh || (std::isfinite(bias) && outside_of(bias, met.biases[h]));
    }
    return fresh;
  };
  for (int j = 0; j < longer; j++) {
    if (!view.seen[j]) continue;
    keys++, far += is_new(j);
    for (int k = 0; k < pairs; k++) {
      const double angle = std::fabs(view.angle[size_t(j) * pairs + k]);
      outside += met.arc[k] < circle && std::fmod(angle, circle) > met.arc[k] + slack;
    }
  }
  if (stack.doors() & (Door::bias | Door::content | Door::value | Door::pattern)) past.distances = share(far, keys);
  if (pairs) past.angles = share(outside, keys * pairs);
  if (!plan.input.empty()) {
    double fresh = 0;
    auto equal = [&](int t, int known) {
      for (int c = 0; c < s.width; c++)
        if (!(difference(plan.input[size_t(t) * s.width + c], met.rows[size_t(known) * s.width + c]) <= 1e-6)) return false;
      return true;
    };
    for (int t = 0; t < longer; t++) {
      bool known = false;
      for (int r = 0; !known && r < n; r++) known = equal(t, r);
      fresh += !known;
    }
    past.rows = fresh / longer;
  }
  if (!plan.scale.empty()) {
    double fresh = 0;
    for (size_t i = 0; i < plan.scale.size(); i++) fresh += outside_of(plan.scale[i], met.factors[i / longer]);
    past.factors = fresh / double(plan.scale.size());
  }
  if (view.score.empty()) return {};
  past.weight = 0;
  for (int h = 0; h < s.heads; h++) {
    const double scale = plan.scale.empty() ? 1 : plan.scale[size_t(h) * longer + last];
    double most = -infinity, sum = 0, beyond = 0;
    for (int j = 0; j < longer; j++) if (view.seen[j]) most = std::max(most, scale * view.score[h][j]);
    for (int j = 0; j < longer; j++) {
      if (!view.seen[j]) continue;
      const double weight = std::exp(scale * view.score[h][j] - most);
      sum += weight, beyond += is_new(j) ? weight : 0;
    }
    past.weight += share(beyond, sum) / s.heads;
  }
  return {};
}

void measure_content(const Subject& subject, const View& view, Audit& out) {
  const Plan& plan = subject.plan;
  const Shape& s = subject.stack.shape();
  out.content = {closed, closed};
  if (!plan.input.empty()) {
    double square = 0;
    for (float v : plan.input) square += double(v) * v;
    out.content.input = std::sqrt(square / plan.length) / plan.embedding_scale;
  }
  if (view.score.empty()) return;
  double variance = 0;
  for (auto& row : view.score) {
    double count = 0, sum = 0, squares = 0;
    for (int j = 0; j < view.n(); j++) if (view.seen[j] && std::isfinite(row[j])) count++, sum += row[j];
    for (int j = 0; j < view.n(); j++) if (view.seen[j] && std::isfinite(row[j])) squares += (row[j] - sum / count) * (row[j] - sum / count);
    variance += share(squares, count) / s.heads;
  }
  const double spread = plan.score_scale > 0 ? plan.score_scale * std::sqrt(double(s.head_dim)) : 1;  // 0: q·k is replaced
  out.content.bias = std::sqrt(variance) / spread;
}

// Seconds of each work: the least of many turns, each of as many repetitions as a browser's coarse clock needs. They take turns,
// and begin anew when one got faster: compilers of browsers replace code while it runs. False: out of memory.
template <class... F>
bool timed(double (&seconds)[sizeof...(F)], F... works) {
  constexpr double enough = 4e-3, settled = 0.15, at_most = 1;
  constexpr int least_turns = 5;
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  int repetitions[sizeof...(F)];
  std::fill(std::begin(repetitions), std::end(repetitions), 1), std::fill(std::begin(seconds), std::end(seconds), infinity);
  bool faster = false;
  auto turn = [&](auto& work, size_t w) {
    for (;; repetitions[w] *= 2) {
      const auto start = Clock::now();
      for (int n = 0; n < repetitions[w]; n++) if (!work()) return false;
      const double spent = since(start), one = spent / repetitions[w];
      if (spent < enough && repetitions[w] < 1 << 20) continue;
      faster = faster || (one < 0.8 * seconds[w] && seconds[w] < infinity);
      return seconds[w] = std::min(seconds[w], one), true;
    }
  };
  const auto start = Clock::now();
  auto anew = start;
  for (int turns = 0; turns < least_turns || since(anew) < settled; turns++) {
    size_t w = 0;
    if (!(turn(works, w++) && ...)) return false;
    if (!faster || since(start) > at_most) continue;
    std::fill(std::begin(seconds), std::end(seconds), infinity);
    faster = false, turns = 0, anew = Clock::now();
  }
  return true;
}

Error measure_cost(Subject& subject, int n, Audit& out) {
  const Shape& s = subject.stack.shape();
  Stack nothing;
  Plan plan, bare;
  if (Error e = Stack::make("nope", s, nothing)) return e;
  if (Error e = nothing.plan(n, 0, nullptr, bare)) return e;

  const size_t row = size_t(s.heads) * s.head_dim;
  Encoding* mixer = subject.stack.mixer();
  Buffer<float> x, mixed, q, result;
  AttentionScratch scratch;
  if (!x.resize(size_t(n) * s.width) || (mixer && !mixed.assign(x.size(), 0)) || !q.resize(n * row) || !result.resize(n * row)) return out_of_memory();
  Random random(1, 4);
  for (auto* content : {&x, &q}) for (float& f : *content) f = float(random.normal());
  AttentionInput in;
  in.queries = in.keys = n, in.heads = s.heads, in.kv_heads = s.kv_heads, in.head_dim = s.head_dim;
  in.q = in.k = in.v = q.data(), in.q_stride = in.k_stride = in.v_stride = ptrdiff_t(row);

  auto terms = subject.stack.content();
  auto attend = [&](const Plan& plan, Contents contents) {
    for (auto& term : contents)
      if (!term->begin(n) || !term->sequence({0, n, x.data(), in.q, in.k, in.q_stride, in.k_stride})) return false;
    return attention(in, plan, contents, result.data(), ptrdiff_t(row), nullptr, scratch);
  };
  double seconds[3];
  if (!timed(seconds, [&] { return !subject.stack.plan(n, 0, nullptr, plan, subject.tokens.data()); }, [&] { return attend(bare, {}); },
             [&] {
               if (mixer) mixer->mix(x.data(), 0, n, mixed.data());
               return attend(plan, terms);
             }))
    return out_of_memory();
  const auto [planning, unit, attending] = seconds;
  const Rotation& r = plan.rotation;
  out.cost.parameters = double(subject.parameters.size());
  out.cost.bytes = 8.0 * plan.positions.size() + 4.0 * (plan.input.size() + r.cosine.size() + r.sine.size() + r.key_cosine.size() +
                   r.key_sine.size() + plan.bias.table.size() + plan.scale.size() + plan.pattern.begin.size() + 2 * plan.pattern.intervals.size());
  out.cost.planning = planning / std::max(unit, 1e-9), out.cost.attention = attending / std::max(unit, 1e-9);
  return {};
}

}  // namespace

Error audit(std::string_view spec, const Shape& shape, Audit& out) {
  Subject subject;
  if (Error e = subject.make(spec, shape)) return e;
  const int n = out.length = std::min(shape.trained_length, 512);
  if (Error e = subject.plan_for(n, nullptr, subject.plan)) return e;
  View view;
  if (Error e = look(subject, view)) return e;
  measure_unique(subject, view, out);
  measure_content(subject, view, out);
  if (Error e = measure_deterministic(subject, n, out)) return e;
  if (Error e = measure_cost(subject, n, out)) return e;
  return measure_past(subject, n, out);
}

}  // namespace lw

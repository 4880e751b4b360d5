// Every encoding of the catalogue against its golden file, made in double precision by tests/oracle.
#include "encoding_case.h"
#include "json.h"

#ifndef LENGTHWISE_TESTS_DIR
#define LENGTHWISE_TESTS_DIR "tests"
#endif

using namespace lw;
using namespace lw::test;

namespace {

void compare(const char* what, const std::vector<double>& want, const std::vector<float>& got, double tolerance) {
  CAPTURE(what);
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); i++) {
    if (want[i] == got[i]) continue;
    double error = std::fabs(got[i] - want[i]) / std::fmax(1, std::fabs(want[i]));
    if (!(error <= tolerance)) FAIL_CHECK(what << "[" << i << "] is " << got[i] << ", golden " << want[i]);
  }
}

template <class T>
std::vector<float> floats(const T& buffer) { return std::vector<float>(buffer.begin(), buffer.end()); }

// [H][N][keys], the keys up to the query if causal.
template <class F>
std::vector<float> score_rows(const Shape& s, int N, F row) {
  std::vector<float> out;
  for (int h = 0; h < s.heads; h++)
    for (int i = 0; i < N; i++) {
      const float* values = row(h, i);
      out.insert(out.end(), values, values + (s.causal ? i + 1 : N));
    }
  return out;
}

std::vector<float> content_rows(const Inputs& in, const Plan& plan, const Terms& terms) {
  const Shape& s = in.s;
  for (auto& term : terms) {
    REQUIRE(term->begin(in.N));
    REQUIRE(term->sequence(in.sequence(0, in.N)));
  }
  std::vector<float> raw(in.N), term_row(in.N);
  return score_rows(s, in.N, [&](int h, int i) {
    const float* q = &in.q[size_t(i * s.heads + h) * s.head_dim];
    for (int j = 0; j < in.N; j++) {
      double sum = 0;
      const float* k = &in.k[size_t(j * s.kv_heads + h / (s.heads / s.kv_heads)) * s.head_dim];
      for (int a = 0; a < s.head_dim; a++) sum += double(q[a]) * k[a];
      raw[j] = float(sum * plan.score_scale), term_row[j] = 0;
    }
    for (auto& term : terms) term->row({h, i, q, 0, plan.causal ? i + 1 : in.N}, raw.data(), term_row.data());
    return term_row.data();
  });
}

std::string seen_row(const Plan& plan, int query) {
  std::string out(plan.length, '0');
  for (int n = plan.pattern.begin[query]; n < plan.pattern.begin[query + 1]; n++)
    for (int j = plan.pattern.intervals[n].first; j < plan.pattern.intervals[n].last; j++) out[j] = '1';
  return out;
}

// [N][keys up to the query]: the distance in the zone of each key.
std::vector<float> zone_distances(const Plan& plan) {
  std::vector<float> out;
  for (int i = 0; i < plan.length && !plan.zones.empty(); i++)
    for (int j = 0; j <= i; j++) {
      size_t z = 0;
      while (j < plan.zones[z].first[i]) z++;
      out.push_back(float(plan.zones[z].query[i] - plan.zones[z].key[j]));
    }
  return out;
}

// [pairs][N]: what each pair turns by.
std::vector<float> coordinates(Stack& stack, const Plan& plan, int pairs) {
  std::vector<float> out;
  Encoding& map = *stack.encodings()[0];
  std::vector<double> one(plan.length);
  for (int k = 0; k < pairs && map.coordinates(); k++) {
    map.coordinate(map.coordinate_of(k, pairs), plan.positions, one.data());
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

// [N][width]: what is mixed into the input from neighbours.
std::vector<float> mixed(Stack& stack, const Shape& s, int N) {
  std::vector<float> x = wave(size_t(N) * s.width, 0.61, 0.4), y(stack.mixer() ? x.size() : 0);
  if (stack.mixer()) stack.mixer()->mix(x.data(), 0, N, y.data());
  return y;
}

void check_case(const Json& golden) {
  const std::string spec = golden["spec"].text;
  CAPTURE(spec);
  auto whole = [&](const char* name) { return int(golden[name].number); };
  const Shape s = shape(whole("heads"), whole("head_dim"), whole("width"), whole("trained_length"), whole("causal"), whole("kv_heads"));
  BoundStack bound(spec, s);
  const std::vector<double> positions = golden["positions"].flat();
  const Plan plan = bound.plan(positions, whole("present"));
  const int N = plan.length;
  auto check = [&](const char* name, const std::vector<float>& got, double tolerance) {
    const Json* want = golden.find(name);
    REQUIRE_MESSAGE((want != nullptr) == !got.empty(), name);
    if (want) compare(name, want->flat(), got, tolerance);
  };

  if (const Json* ids = golden.find("ids")) compare("ids", ids->flat(), floats(plan.positions), 1e-7);
  check("distances", zone_distances(plan), 1e-7);
  check("coordinates", golden.find("pairs") ? coordinates(bound.stack, plan, whole("pairs")) : std::vector<float>(), 0);
  check("input", floats(plan.input), 5e-7);
  check("mixed", mixed(bound.stack, s, N), 5e-7);
  if (const Json* scale = golden.find("embedding_scale")) CHECK(plan.embedding_scale == doctest::Approx(scale->number));
  check("cosine", floats(plan.rotation.cosine), 2e-7);
  check("sine", floats(plan.rotation.sine), 2e-7);
  check("key_cosine", floats(plan.rotation.key_cosine), 2e-7);
  check("key_sine", floats(plan.rotation.key_sine), 2e-7);
  if (const Json* pairing = golden.find("pairing")) CHECK((plan.rotation.pairing == Pairing::half) == (pairing->text == "half"));
  // Tables are built in double and rounded once; small networks work in float.
  const bool network = spec.starts_with("fire") || spec.starts_with("dynamic_bias");
  check("bias", plan.bias.table.empty() ? std::vector<float>() : score_rows(s, N, [&](int h, int i) { return plan.bias.row(h, i); }),
        network ? 1e-6 : 2e-7);
  const Json* scale = golden.find("score_scale");  // absent: the usual one
  CHECK(plan.score_scale == doctest::Approx(scale ? scale->number : 1 / std::sqrt(double(s.head_dim))).epsilon(1e-7));
  check("scale", floats(plan.scale), 2e-7);
  if (const Json* seen = golden.find("seen"))
    for (int i = 0; i < N; i++) CHECK(seen_row(plan, i) == seen->items[i].text);
  CHECK(plan.pattern.begin.empty() == !golden.find("seen"));

  const Terms terms = bound.stack.content();
  CHECK(terms.empty() == !plan.has_content);
  const Inputs in(s, N);
  check("content", terms.empty() ? std::vector<float>() : content_rows(in, plan, terms), 2e-6);
  check("output", terms.empty() && !plan.linear ? std::vector<float>() : attend(in, plan, terms, N), 2e-6);
}

}  // namespace

TEST_CASE("golden") {
  for (auto& entry : catalogue()) {
    const std::string name = entry.descriptor->name;
    CAPTURE(name);
    const Json cases = Json::read(LENGTHWISE_TESTS_DIR "/golden/" + name + ".json");
    CHECK_MESSAGE(!cases.items.empty(), "no golden file: add a function to tests/oracle/references*.py and run make_goldens.py");
    for (auto& golden : cases.items) check_case(golden);
  }
}

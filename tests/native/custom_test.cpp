// Encodings from outside the catalogue: equal to built-in ones where their formulas are, and safe where they fail.
#include <limits>

#include "encoding_case.h"
#include "lab/run.h"
#include "position/custom.h"

using namespace lw;
using namespace lw::test;

namespace {

// Every door as one formula; what a test does not set stays closed.
struct Formulas {
  std::function<double(double)> ids = {};
  std::function<double(double, int)> input = {}, rotation = {};
  std::function<double(int, double)> bias = {};
  std::function<double(int, double, double)> bias_at = {};
  std::function<bool(int, int)> pattern = {};
  std::function<double(int, int)> scale = {};
};

struct Source final : TableSource {
  Formulas f;
  int heads, width, pairs;
  int* calls;
  Source(const Formulas& f, const Shape& s, int pairs, int* calls) : f(f), heads(s.heads), width(s.width), pairs(pairs), calls(calls) {}

  Error counted() { return ++*calls, Error{}; }
  Error ids(std::span<double> p) override {
    for (double& x : p) x = f.ids(x);
    return counted();
  }
  Error input(std::span<const double> p, double* out) override {
    for (double x : p) for (int c = 0; c < width; c++) *out++ = f.input(x, c);
    return counted();
  }
  Error rotation(std::span<const double> p, double* out) override {
    for (double x : p) for (int k = 0; k < pairs; k++) *out++ = f.rotation(x, k);
    return counted();
  }
  Error bias(double i, std::span<const double> distances, double* out) override {
    for (int h = 0; h < heads; h++) for (double d : distances) *out++ = f.bias_at ? f.bias_at(h, i, i - d) : f.bias(h, d);
    return counted();
  }
  Error pattern(int i, std::span<unsigned char> seen) override {
    for (size_t j = 0; j < seen.size(); j++) seen[j] = f.pattern(i, int(j));
    return counted();
  }
  Error scale(std::span<const int> seen, double* out) override {
    for (int h = 0; h < heads; h++) for (int n : seen) *out++ = f.scale(h, n);
    return counted();
  }
};

CustomEncoding custom(const std::string& name, const Formulas& f, int* calls) {
  CustomEncoding c;
  c.name = name, c.title = c.title_zh = "Test";
  c.doors = (f.ids ? unsigned(Door::ids) : 0) | (f.input ? unsigned(Door::input) : 0) | (f.rotation ? unsigned(Door::rotation) : 0) |
            (f.bias || f.bias_at ? unsigned(Door::bias) : 0) | (f.pattern ? unsigned(Door::pattern) : 0) | (f.scale ? unsigned(Door::scale) : 0);
  c.bias_by_row = bool(f.bias_at);
  c.tables = [=](const Shape& s, const Options&) { return std::make_unique<Source>(f, s, s.head_dim / 2, calls); };
  return c;
}

// Registered as long as it lives.
struct Registered {
  std::string name;
  int calls = 0;
  Registered(const std::string& name, const Formulas& f) : name(name) {
    Error e = register_encoding(custom(name, f, &calls));
    REQUIRE_MESSAGE(!e, e.text);
  }
  ~Registered() { unregister_encoding(name); }
};

double slope(int head, int heads) { return std::exp2(-8.0 * (head + 1) / heads); }
Formulas linear(int heads) { return {.bias = [=](int h, double d) { return -slope(h, heads) * std::fabs(d); }}; }

template <class T> bool same(const Buffer<T>& a, const Buffer<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}
void same_plan(const std::string& spec, const std::string& wanted, const Shape& s, std::span<const double> positions) {
  CAPTURE(spec);
  BoundStack ours(spec, s), theirs(wanted, s);
  const Plan a = ours.plan(positions), b = theirs.plan(positions);
  CHECK(same(a.positions, b.positions));
  CHECK(same(a.input, b.input));
  CHECK(same(a.rotation.cosine, b.rotation.cosine));
  CHECK(same(a.rotation.sine, b.rotation.sine));
  CHECK(a.rotation.pairing == b.rotation.pairing);
  REQUIRE(a.bias.table.size() == b.bias.table.size());
  for (size_t n = 0; n + 16 < a.bias.table.size(); n++) REQUIRE(a.bias.table[n] == b.bias.table[n]);
  CHECK(same(a.pattern.begin, b.pattern.begin));
  REQUIRE(a.pattern.intervals.size() == b.pattern.intervals.size());
  for (size_t n = 0; n < a.pattern.intervals.size(); n++) {
    CHECK(a.pattern.intervals[n].first == b.pattern.intervals[n].first);
    CHECK(a.pattern.intervals[n].last == b.pattern.intervals[n].last);
  }
  CHECK(same(a.scale, b.scale));
}

std::string complaint(const std::string& spec, int length, const Shape& s = shape(2, 4, 8, 8)) {
  Stack stack;
  Plan plan;
  Error e = Stack::make(spec, s, stack);
  return e ? e.text : stack.plan(length, 0, nullptr, plan).text;
}

std::string refused(CustomEncoding c) { return register_encoding(std::move(c)).text; }

}  // namespace

TEST_CASE("custom: the same plan as the built-in encoding with the same formula") {
  Registered alibi("own_alibi", linear(4));
  Registered dense("own_dense", {.bias_at = [](int h, double i, double j) { return -slope(h, 4) * std::fabs(i - j); }});
  Registered rope("own_rope", {.rotation = [](double p, int k) { return p * std::pow(10000.0, -double(k) / 4); }});
  Registered window("own_window", {.pattern = [](int i, int j) { return std::abs(i - j) < 3; }});
  Registered log_n("own_log", {.scale = [](int, int n) { return std::fmax(1, std::log(double(n)) / std::log(8.0)); }});
  Registered sinusoidal("own_sine", {.input = [](double p, int c) {
    const double angle = p * std::pow(10000.0, -double(c / 2 * 2) / 32);
    return c % 2 ? std::cos(angle) : std::sin(angle);
  }});
  for (bool causal : {true, false}) {
    const Shape s = shape(4, 8, 32, 8, causal);
    for (auto& positions : {std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {0, 0.5, 3, 11, 12.25}, {7}}) {
      same_plan("own_alibi", "alibi", s, positions);
      same_plan("own_rope", "rope", s, positions);
      same_plan("own_window", "window:width=3", s, positions);
      same_plan("own_log", "log_n", s, positions);
      same_plan("own_sine", "sinusoidal:embedding_scale=false", s, positions);
      same_plan("own_window+own_alibi+rope", "window:width=3+alibi+rope", s, positions);
      const Plan by_row = BoundStack("own_dense", s).plan(positions), by_distance = BoundStack("alibi", s).plan(positions);
      CHECK(by_row.bias.row_stride == ptrdiff_t(positions.size()));
      CHECK(by_row.bias.triangular == causal);
      for (int h = 0; h < 4; h++)
        for (size_t i = 0; i < positions.size(); i++)
          for (size_t j = 0; j < (causal ? i + 1 : positions.size()); j++) CHECK(by_row.bias.row(h, int(i))[j] == by_distance.bias.row(h, int(i))[j]);
    }
  }
}

TEST_CASE("custom: numbers of tokens reach the other encodings") {
  Registered half("own_half", {.ids = [](double p) { return p / 2; }});
  const Shape s = shape(2, 8, 16, 8);
  std::vector<double> whole{0, 1, 2, 3}, halves{0, 0.5, 1, 1.5};
  const Plan ours = BoundStack("own_half+rope", s).plan(whole), theirs = BoundStack("rope", s).plan(halves);
  CHECK(same(ours.rotation.cosine, theirs.rotation.cosine));
}

TEST_CASE("custom: trains to the same bits, and its source is asked only when a plan is made") {
  Registered alibi("own_alibi", linear(2));
  auto train = [](const std::string& spec) {
    ModelConfig model;
    model.width = 16, model.layers = 2, model.heads = model.kv_heads = 2, model.hidden = 16, model.encoding = spec;
    RunConfig config;
    config.task = Task::copy, config.batch = 4, config.length = 12;
    std::unique_ptr<Run> run;
    Error e = Run::make(model, config, run);
    REQUIRE_MESSAGE(!e, e.text);
    e = run->train(20);
    REQUIRE_MESSAGE(!e, e.text);
    TestResult result;
    e = run->test(48, 96, result);
    REQUIRE_MESSAGE(!e, e.text);
    auto losses = run->losses();
    losses.push_back(float(result.loss));
    return losses;
  };
  CHECK(train("own_alibi") == train("alibi"));
  Registered ids("own_ids", {.ids = [](double p) { return 2 * p; }, .bias = linear(2).bias});
  std::unique_ptr<Transformer> model;
  ModelConfig config;
  config.encoding = "own_ids";
  REQUIRE(!Transformer::make(config, 1, model));
  std::vector<int> tokens(32, 5);
  Random random(1);
  for (int n = 0; n < 5; n++) REQUIRE(!model->forward(tokens.data(), 4, 8, true, &random));
  CHECK(ids.calls == 2);  // ids and bias, once
}

TEST_CASE("custom: what its source gives is checked") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const char* single = "finite numbers that single precision holds";
  auto expect = [](const Formulas& f, const std::string& text) {
    Registered own("own", f);
    CHECK(complaint("own", 4) == text);
    CHECK(complaint("own", 1).empty());
    CHECK(complaint("alibi", 4).empty());
  };
  auto from = [](double bad) { return [=](double p) { return p < 2 ? p : bad; }; };
  expect({.ids = from(nan)}, "Encoding: own:ids(2) is NaN; allowed: numbers from -2^53 to 2^53");
  expect({.ids = from(-1e300)}, "Encoding: own:ids(2) is -1e+300; allowed: numbers from -2^53 to 2^53");
  expect({.input = [=](double p, int c) { return p == 1 && c == 3 ? 1e39 : 0; }}, std::string("Encoding: own:input(1, 3) is 1e+39; allowed: ") + single);
  expect({.rotation = [=](double p, int k) { return p == 3 && k == 1 ? inf : 0; }}, std::string("Encoding: own:rotation(3, 1) is Infinity; allowed: ") + single);
  expect({.bias = [=](int h, double d) { return h == 1 && d == 2 ? nan : 0; }}, "Encoding: own:bias(1, 2) is NaN; allowed: numbers that single precision holds, -Infinity");
  expect({.bias_at = [=](int, double i, double j) { return i == 2 && j == 1 ? inf : 0; }}, "Encoding: own:biasAt(0, 2, 1) is Infinity; allowed: numbers that single precision holds, -Infinity");
  expect({.scale = [=](int, int n) { return n == 3 ? -inf : 1; }}, std::string("Encoding: own:scale(0, 3) is -Infinity; allowed: ") + single);
  Registered hides("own", {.bias = [=](int, double d) { return d > 1 ? -inf : 0; }});
  CHECK(complaint("own", 9).empty());
  CHECK(complaint("own+log_n", 9).empty());
}

TEST_CASE("custom: a predicate that changes its mind does no harm") {
  int asked = 0;
  Registered own("own", {.pattern = [&](int, int) { return asked++, asked * asked % 7 < 3; }});
  const Plan plan = BoundStack("own", shape(2, 4, 8, 8)).plan(50);
  CHECK(asked == 50 * 51 / 2);
  CHECK(size_t(plan.pattern.begin[50]) == plan.pattern.intervals.size());
}

TEST_CASE("custom: a fault in one encoding is told before what it does to others") {
  Registered own("own", {.ids = [](double) { return std::nan(""); }});
  CHECK(complaint("learned+own", 100).starts_with("Encoding: own:ids(0) is NaN"));
}

TEST_CASE("custom: a model works on after a length whose plan failed") {
  // Fails where distances reach 20; with log_n in another layer, so that one plan is made and the next is not.
  Registered own("own", {.bias = [](int, double d) { return d >= 20 ? std::nan("") : -d; }});
  for (const char* spec : {"own", "log_n|own"}) {
    ModelConfig c;
    c.vocabulary = 11, c.width = 12, c.layers = 2, c.heads = c.kv_heads = 3, c.hidden = 10, c.trained_length = 9, c.encoding = spec;
    std::unique_ptr<Transformer> model;
    REQUIRE(!Transformer::make(c, 1, model));
    std::vector<int> tokens(100, 7);
    for (int t = 0; t < 100; t++) tokens[t] = t % 11;
    auto logits = [&] {
      std::vector<float> out(8 * 11);
      REQUIRE(!model->logits_of(tokens.data(), 8, out.data()));
      return out;
    };
    const auto before = logits();
    std::vector<float> out(100 * 11);
    CHECK(bool(model->logits_of(tokens.data(), 60, out.data())));
    CHECK(logits() == before);

    std::vector<float> one(11), again(11);
    REQUIRE(!model->feed(tokens.data(), 8, one.data()));
    for (int i = 0; i < 11; i++) CHECK(one[i] == doctest::Approx(before[7 * 11 + i]).epsilon(1e-4));
    CHECK(bool(model->feed(tokens.data(), 60, out.data())));
    REQUIRE(!model->feed(tokens.data() + 8, 1, one.data()));
    REQUIRE(!model->logits_of(tokens.data(), 9, out.data()));
    for (int i = 0; i < 11; i++) CHECK(one[i] == doctest::Approx(out[8 * 11 + i]).epsilon(1e-4));
  }
}

TEST_CASE("custom: names and doors") {
  int calls = 0;
  const CustomEncoding good = custom("own", linear(2), &calls);
  auto with = [&](auto change) { CustomEncoding c = good; change(c); return c; };
  for (const char* name : {"", "Own", "1own", "own-1", "own:x", "a b", "ünder"})
    CHECK(refused(with([&](auto& c) { c.name = name; })) == "name is \"" + std::string(name) + "\"; allowed: a to z first, then a to z, 0 to 9 and _, at most 40");
  CHECK(refused(with([](auto& c) { c.name = "alibi"; })) == "name is \"alibi\"; allowed: one that is not in the catalogue");
  CHECK(refused(with([](auto& c) { c.doors = 0; })) == "own opens no door; allowed: ids, input, rotation, bias, pattern, scale");
  CHECK(refused(with([](auto& c) { c.doors |= unsigned(Door::content); })) == "own opens a door that tables cannot serve; allowed: ids, input, rotation, bias, pattern, scale");
  CHECK(refused(good).empty());
  CHECK(refused(good) == "name is \"own\", which is registered already; allowed: another name, or replace");
  CHECK(complaint("own+own", 2) == "encoding names own twice; allowed: each once");
  CHECK(complaint("own:x=1", 2) == "own has no option \"x\"; allowed: none");
  CHECK(catalogue_json().find("\"own\"") != std::string::npos);
  CHECK(unregister_encoding("own"));
  CHECK(!unregister_encoding("own"));
  CHECK(!unregister_encoding("alibi"));
  CHECK(complaint("own", 2).starts_with("encoding is \"own\"; allowed: nope, "));
  CHECK(catalogue_json().find("\"own\"") == std::string::npos);
}

TEST_CASE("custom: what was made lives on when its name goes or changes") {
  const Shape s = shape(2, 4, 8, 8);
  auto constant = [](double b) { return Formulas{.bias = [=](int, double) { return b; }}; };
  int calls = 0;
  REQUIRE(!register_encoding(custom("own", constant(1), &calls)));
  BoundStack first("own", s);
  REQUIRE(!register_encoding(custom("own", constant(2), &calls), true));
  BoundStack second("own", s);
  REQUIRE(unregister_encoding("own"));
  CHECK(first.plan(5).bias.row(1, 4)[2] == 1);
  CHECK(second.plan(5).bias.row(1, 4)[2] == 2);
  CHECK(std::string(first.stack.encodings()[0]->descriptor().name) == "own");
}

TEST_CASE("custom: options") {
  int calls = 0;
  CustomEncoding c = custom("own", linear(2), &calls);
  c.options = {{Option::number, "slope", 2, 0, 4, "", ""}, {Option::choice, "form", 0, 0, 1, "soft|hard", ""}};
  c.tables = [&](const Shape& s, const Options& o) {
    const double by = o["slope"] * (o.integer("form") ? 10 : 1);
    return std::make_unique<Source>(Formulas{.bias = [=](int, double d) { return by * d; }}, s, 1, &calls);
  };
  REQUIRE(!register_encoding(c));
  const Shape s = shape(2, 4, 8, 8);
  CHECK(BoundStack("own", s).plan(3).bias.row(0, 2)[0] == 4);
  BoundStack hard("own:form=hard:slope=0.5", s);
  CHECK(hard.plan(3).bias.row(0, 2)[0] == 10);
  CHECK(hard.stack.spec() == "own:slope=0.5:form=hard");
  CHECK(complaint("own:slope=5", 2) == "own:slope is \"5\"; allowed: a number from 0 to 4");
  unregister_encoding("own");
  c.options[0].name = "Slope";
  CHECK(refused(c) == "own has an option named \"Slope\"; allowed: a to z first, then a to z, 0 to 9 and _, at most 40");
}

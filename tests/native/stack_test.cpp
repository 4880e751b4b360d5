// Specs, sentences, and what every encoding of the catalogue must do.
#include <algorithm>
#include <cstring>

#include "encoding_case.h"
#include "json.h"
#include "position/text.h"

using namespace lw;
using namespace lw::test;

namespace {

const Shape plain = shape(3, 4, 12, 8);

std::string complaint(const std::string& spec, const Shape& s = plain) {
  Stack stack;
  return Stack::make(spec, s, stack).text;
}
std::string plan_complaint(const std::string& spec, std::vector<double> positions, const Shape& s = plain) {
  BoundStack bound(spec, s);
  Plan plan;
  return bound.stack.plan(positions, 0, nullptr, plan, some_text()).text;
}

// A spec of each encoding that serves any length.
std::vector<std::string> all() {
  std::vector<std::string> specs;
  for (auto& entry : catalogue()) specs.push_back(entry.descriptor->name + std::string(entry.descriptor->past == Past::refuses ? ":overflow=clamp" : ""));
  return specs;
}

std::vector<double> counted(int n, double first, double step = 1) {
  std::vector<double> p(n);
  for (int i = 0; i < n; i++) p[i] = first + i * step;
  return p;
}

}  // namespace

TEST_CASE("specs") {
  auto canonical = [](const std::string& spec) {
    Stack stack;
    Error e = Stack::make(spec, plain, stack);
    return e ? e.text : stack.spec();
  };
  CHECK(canonical("rope:base=500000+log_n") == "rope:base=500000+log_n");
  CHECK(canonical(" rope : base = 5e5 : pairing=half : fraction=1 + alibi ") == "rope:base=500000:pairing=half+alibi");
  CHECK(canonical("random_sorted:max=512+alibi") == "random_sorted:max=512+alibi");
  CHECK(canonical("longrope:long_factor= 8;2.50 :short_factor=1;1e-1") == "longrope:short_factor=1;0.1:long_factor=8;2.5");
  CHECK(canonical("sinusoidal:embedding_scale=false:sin_only=1") == "sinusoidal:sin_only=true:embedding_scale=false");
  for (auto& spec : all()) CHECK(canonical(spec) == spec);
}

TEST_CASE("what is refused, and how") {
  std::string names;
  for (auto& entry : catalogue()) names += (names.empty() ? "" : ", ") + std::string(entry.descriptor->name);
  CHECK(complaint("ropee") == "encoding is \"ropee\"; allowed: " + names);
  CHECK(complaint("") == "encoding is \"\"; allowed: " + names);
  CHECK(complaint("rope++alibi") == "encoding is \"\"; allowed: " + names);
  CHECK(complaint("rope+") == "encoding is \"rope+\"; allowed: no + at the end");
  CHECK(complaint("rope:bse=3") == "rope has no option \"bse\"; allowed: base, pairing, fraction, proportional, factor, learned");
  CHECK(complaint("nope:x=1") == "nope has no option \"x\"; allowed: none");
  CHECK(complaint("rope:base") == "rope has the setting \"base\"; allowed: option=value");
  CHECK(complaint("rope:base=x") == "rope:base is \"x\"; allowed: a number from 1 to 1000000000000");
  CHECK(complaint("rope:pairing=both") == "rope:pairing is \"both\"; allowed: interleaved, half");
  CHECK(complaint("rope:learned=maybe") == "rope:learned is \"maybe\"; allowed: true, false");
  CHECK(complaint("rope:base=2:base=3") == "rope:base is given twice; allowed: once");
  CHECK(complaint("alibi+alibi") == "encoding names alibi twice; allowed: each once");
  CHECK(complaint("rope+dynamic_ntk") == "encoding has two rotations, rope and dynamic_ntk; allowed: one");
  CHECK(complaint("rope", shape(1, 5, 5, 8)) == "headDim is 5; allowed with rope: even numbers");
  CHECK(complaint("rope:fraction=0.4") == "rope:fraction turns less than two of headDim = 4 dimensions; allowed: fraction·headDim ≥ 2");
  CHECK(complaint("longrope:long_factor=1;2;3") == "longrope:long_factor has 3 numbers; allowed: 2, one for each pair");
  CHECK(complaint("longrope:long_factor=1;0") == "longrope:long_factor is \"1;0\"; allowed: numbers from 0.001 to 1000000, with ; between them");
  CHECK(complaint("longrope:original=1") == "the original length of longrope is 1; allowed: at least 2");
  CHECK(complaint("yarn:base=1") == "yarn:base is 1; allowed: more than 1");
  CHECK(complaint("yarn:beta_fast=1:beta_slow=2") == "yarn:beta_fast is 1; allowed: at least beta_slow (2)");
  CHECK(complaint("llama3:low=4") == "llama3:low is 4; allowed: less than high (4)");
  CHECK(complaint("cope", shape(1, 4, 4, 8, false)) == "cope is asked for with causal = false; allowed: causal = true");
  CHECK(complaint("alibi:form=asymmetric") == "alibi:form is \"asymmetric\" with causal = true; allowed: symmetric");
  CHECK(complaint("t5:buckets=7", shape(1, 4, 4, 8, false)) == "t5:buckets is 7; allowed with causal = false: even numbers from 4");
  CHECK(complaint("t5:max_distance=16") == "t5:max_distance is 16; allowed with buckets=32: more than 16");
  CHECK(complaint("log_n", shape(1, 4, 4, 1)) == "trainedLength is 1; allowed with log_n: at least 2");
  CHECK(complaint("ssmax", shape(1, 4, 4, 1)) == "trainedLength is 1; allowed with ssmax: at least 2");
  CHECK(complaint("hierarchical", shape(1, 4, 4, 5000)) == "trainedLength is 5000; allowed with hierarchical:rows=0: at most 4096");
  CHECK(complaint("interpolated+transformer_xl") == "transformer_xl counts tokens and cannot follow the numbers of interpolated; allowed: one of the two");
  CHECK(complaint("random_sorted+shaw") == "shaw counts tokens and cannot follow the numbers of random_sorted; allowed: one of the two");
  CHECK(complaint("random_linspace+pope") == "pope counts tokens and cannot follow the numbers of random_linspace; allowed: one of the two");
  CHECK(complaint("pope+path") == "pope and path both set the factor on q·k; allowed: one of the two");
  CHECK(complaint("t5:scaled=false+deberta") == "t5 and deberta both set the factor on q·k; allowed: one of the two");
  CHECK(complaint("rope+path") == "path replaces q·k, which rope turns; allowed: one of the two");
  CHECK(complaint("cope+pope") == "pope replaces q·k, which cope reads; allowed: one of the two");
  CHECK(complaint("data_dependent+rope") == "data_dependent computes q·k itself and does not see what rope does to it; allowed: one of the two");
  CHECK(complaint("path+data_dependent") == "data_dependent computes q·k itself and does not see what path does to it; allowed: one of the two");
  CHECK(complaint("alibi+data_dependent") == "");
  CHECK(complaint("rope+linear_attention+random_sorted+sinusoidal") == "");
  CHECK(complaint("grid:columns=2+rope+linear_attention") == "");
  for (const char* name : {"alibi", "cope", "shaw", "window", "log_n", "path"})
    CHECK(complaint(std::string(name) + "+linear_attention") ==
          "encoding puts " + std::string(name) + " beside linear_attention, which has no scores; allowed beside it: one number a token, vectors at the input, a rotation");
  CHECK(complaint("yarn:mscale=1+linear_attention") == "");
  CHECK(complaint("linear_attention+rope+grouped").starts_with("encoding puts grouped beside linear_attention, which has one rotation for all distances; allowed"));
  CHECK(complaint("rope+deberta") == "");
  CHECK(complaint("path+forget_gate") == "");
  CHECK(complaint("learned", shape(1, 2, 1 << 14, 1 << 24)) == "learned has 274877906944 parameters; allowed: at most 400000000");
  CHECK(complaint("nope", shape(3, 4, 4, 8, true, 2)) == "kvHeads is 2; allowed: a divisor of heads (3)");
  CHECK(complaint("nope", shape(6, 4, 4, 8, true, 4)) == "kvHeads is 4; allowed: a divisor of heads (6)");
  CHECK(complaint("nope", shape(0, 4, 4, 8)) == "heads is 0; allowed: 1 to 1024");
  CHECK(complaint("nope", shape(1, 4, 4, -5)) == "trainedLength is -5; allowed: 1 to 16777216");
  CHECK(complaint(std::string(50000, 'x')) == "encoding has 50000 characters; allowed: at most 32768");

  Plan unread;
  CHECK(BoundStack("digits+alibi", plain).stack.plan(3, 0, nullptr, unread).text == "tokens are missing; \"digits+alibi\" looks at which tokens there are");
  for (const char* spec : {"sparse", "global"}) {
    CHECK(!BoundStack(spec, plain).stack.plan(3, 0, nullptr, unread));
    CHECK(BoundStack(std::string(spec) + ":at=3", plain).stack.plan(3, 0, nullptr, unread).text.starts_with("tokens are missing"));
    CHECK(complaint(std::string(spec) + ":at=-1").starts_with(std::string(spec) + ":at is \"-1\"; allowed: numbers from 0"));
  }
  CHECK(complaint("grouped+rectified") == "encoding maps positions twice, by grouped and rectified; allowed: once");
  CHECK(complaint("grid+alibi") == "grid needs a rotation; allowed: grid with rope or another one");
  CHECK(complaint("chunked:length=4:chunk=4") == "chunked:chunk is 4; allowed: less than length (4)");
  CHECK(complaint("shifted:shift=4:window=5") == "shifted:window is 5; allowed: at most the shift (4)");
  CHECK(complaint("grid:dimensions=3") == "grid:rows is 0; allowed with dimensions=3: at least 1");
  CHECK(plan_complaint("grouped+rope", {0, 2, 1}) == "positions[2] is 1 after 2; allowed with a map of distances: increasing numbers");

  CHECK(plan_complaint("nope", std::vector<double>{}) == "length is 0; allowed: 1 to 16777216");
  CHECK(plan_complaint("nope", {0, NAN}) == "positions[1] is NaN; allowed: numbers from -2^53 to 2^53");
  CHECK(plan_complaint("nope", {-1e300}) == "positions[0] is -1e+300; allowed: numbers from -2^53 to 2^53");
  CHECK(plan_complaint("learned", counted(9, 0)) ==
        "length is 9 with a position 8, but the table of learned has trainedLength = 8 rows; allowed: positions 0 to 7, or overflow=clamp or interpolate");
  CHECK(plan_complaint("xpos", {3, 1e7}) == "a position is 10000000; allowed with xpos:scale_base=512:center=0: -24521 to 24521");
  CHECK(plan_complaint("hierarchical:rows=3", counted(10, 0)) == "a position is 9; allowed with the 3 rows of hierarchical: 0 to 8, or overflow=clamp");
  CHECK(plan_complaint("hierarchical:rows=3", {-1}).starts_with("a position is -1; allowed"));
  CHECK(plan_complaint("random_sorted:max=8", counted(9, 0)) == "length is 9; allowed with random_sorted:max=8: at most 8");
  CHECK(plan_complaint("random_sorted+learned", counted(8, 0)).find("trainedLength = 8") != std::string::npos);
}

TEST_CASE("every option refuses what lies outside") {
  for (auto& entry : catalogue()) {
    for (auto& o : entry.descriptor->options) {
      const std::string name = std::string(entry.descriptor->name) + ":" + o.name;
      CAPTURE(name);
      std::vector<std::string> wrong = {"", "x", "nan", "inf", "-inf", "1e999", "0x10", "1,5", "--1", "true;", "1 2"};
      if (o.kind == Option::number || o.kind == Option::integer || o.kind == Option::numbers) {
        wrong.push_back(std::to_string(o.least - 1)), wrong.push_back(std::to_string(o.most * 2 + 1));
        Options options(entry.descriptor->options);
        CHECK(!options.set(entry.descriptor->name, o.name, number_text(o.least)));
        CHECK(!options.set(entry.descriptor->name, o.name, number_text(o.most)));
      }
      if (o.kind == Option::numbers)
        for (const char* list : {";", "1;", ";1", "1;;1", "1;x", "1; 1"}) wrong.push_back(list);
      if (o.kind == Option::integer) wrong.push_back(std::to_string(o.least + 0.5));
      for (auto& value : wrong) {
        Options options(entry.descriptor->options);
        const std::string said = options.set(entry.descriptor->name, o.name, value).text;
        CHECK(said.starts_with(name + " is \"" + value + "\"; allowed: "));
        CHECK(options[o.name] == o.initial);
        CHECK(options.numbers(o.name).empty());
      }
    }
  }
}

TEST_CASE("the catalogue as JSON") {
  const Json json = Json::parse(catalogue_json());
  REQUIRE(json.items.size() == catalogue().size());
  for (size_t n = 0; n < json.items.size(); n++) {
    const Json& entry = json.items[n];
    CHECK(entry["name"].text == catalogue()[n].descriptor->name);
    for (const char* field : {"title", "title_zh", "paper", "past_note", "past_note_zh"}) CHECK(!entry[field].text.empty());
    CHECK(entry["options"].items.size() == catalogue()[n].descriptor->options.size());
    for (auto& option : entry["options"].items) {
      CHECK(!option["meaning_zh"].text.empty());
      CHECK((option["kind"].text == "choice") == (option.find("choices") != nullptr));
      CHECK(option.find("default") != nullptr);
    }
    const double learned = entry["learned"].number;
    CHECK(learned == !BoundStack(catalogue()[n].descriptor->name, plain).values.empty());
  }
}

TEST_CASE("planning again gives the same bits in the same memory") {
  for (auto& spec : all()) {
    CAPTURE(spec);
    BoundStack bound(spec, plain);
    Plan plan = bound.plan(17), other;
    const float *input = plan.input.data(), *cosine = plan.rotation.cosine.data(), *bias = plan.bias.table.data(), *scale = plan.scale.data();
    REQUIRE(!bound.stack.plan(9, 0, nullptr, plan, some_text()));
    REQUIRE(!bound.stack.plan(17, 0, nullptr, plan, some_text()));
    REQUIRE(!bound.stack.plan(17, 0, nullptr, other, some_text()));
    CHECK(input == plan.input.data());
    CHECK(cosine == plan.rotation.cosine.data());
    CHECK(bias == plan.bias.table.data());
    CHECK(scale == plan.scale.data());
    auto same = [](const Buffer<float>& a, const Buffer<float>& b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); };
    CHECK(same(plan.input, other.input));
    CHECK(same(plan.rotation.cosine, other.rotation.cosine));
    CHECK(same(plan.bias.table, other.bias.table));
    CHECK(same(plan.scale, other.scale));
  }
  // A plan that served another stack closes the doors that this one leaves closed.
  Plan plan = BoundStack("sinusoidal+rope+alibi+window+log_n", plain).plan(9);
  REQUIRE(!BoundStack("nope", plain).stack.plan(9, 0, nullptr, plan));
  CHECK((plan.input.empty() && !plan.rotation.pairs && plan.bias.table.empty() && plan.pattern.begin.empty() && plan.scale.empty()));
  CHECK(plan.embedding_scale == 1);
}

TEST_CASE("a dense bias is zero past a causal query, whatever stood in its memory") {
  BoundStack causal("fire", shape(3, 4, 12, 8)), open("fire", shape(3, 4, 12, 8, false));
  const Plan fresh = causal.plan(17);
  Plan plan = open.plan(17);
  for (auto* bound : {&causal, &causal, &open, &causal}) {
    REQUIRE(!bound->stack.plan(17, 0, nullptr, plan));
    if (bound == &open) continue;
    CHECK(std::equal(fresh.bias.table.begin(), fresh.bias.table.end(), plan.bias.table.begin(), plan.bias.table.end()));
    for (int i = 0; i < 17; i++) CHECK(std::all_of(plan.bias.row(1, i) + i + 1, plan.bias.row(1, i) + 17, [](float b) { return b == 0; }));
  }
}

TEST_CASE("everything is finite at far positions, or refused") {
  for (auto& spec : all()) {
    CAPTURE(spec);
    BoundStack bound(spec, plain);
    for (auto positions : {counted(9, 1e7), counted(9, 9e15), std::vector<double>{-1e7, 0, 0.5, 1e7, 3, 9007199254740992}}) {
      if (bound.stack.encodings()[0]->zones()) std::sort(positions.begin(), positions.end());
      if (!plan_complaint(spec, positions).empty()) {
        CHECK(spec == "xpos");  // its gains leave the range of floats
        continue;
      }
      Plan plan = bound.plan(positions);
      const bool masks = spec == "window_penalty";
      for (auto* table : {&plan.input, &plan.rotation.cosine, &plan.rotation.sine, &plan.bias.table, &plan.scale})
        CHECK(std::all_of(table->begin(), table->end(), [&](float x) { return std::isfinite(x) || (masks && x == -INFINITY); }));
    }
  }
}

TEST_CASE("biases and rotations depend on the distance only") {
  for (auto& spec : all()) {
    CAPTURE(spec);
    BoundStack bound(spec, plain);
    if (bound.stack.encodings()[0]->bias_by_row(counted(11, 1000))) continue;
    const int N = 11;
    Plan near = bound.plan(N), far = bound.plan(counted(N, 1000));
    CHECK(std::equal(near.bias.table.begin(), near.bias.table.end(), far.bias.table.begin(), far.bias.table.end()));
    if (!near.rotation.pairs) continue;
    Inputs in(plain, N);
    const int D = plain.head_dim, stride = plain.heads * D;
    auto scores = [&](const Plan& plan) {
      std::vector<float> q = in.q, k = in.k, out;
      rotate(plan.rotation, Side::query, q.data(), stride, N, plain.heads, D, 0, false);
      rotate(plan.rotation, Side::key, k.data(), stride, N, plain.heads, D, 0, false);
      for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
          float sum = 0;
          for (int a = 0; a < D; a++) sum += q[i * stride + a] * k[j * stride + a];
          out.push_back(sum);
        }
      return out;
    };
    const auto a = scores(near), b = scores(far);
    for (size_t n = 0; n < a.size(); n++) CHECK(a[n] == doctest::Approx(b[n]).epsilon(2e-6).scale(1));
  }
}

TEST_CASE("rotations: norms up to the gain, far and fractional positions, turning back") {
  for (std::string spec : all()) {
    const Shape s = shape(1, 16, 16, 8);
    if (!BoundStack(spec, s).plan(1).rotation.pairs) continue;
    for (const char* options : {"", ":pairing=half:fraction=0.5"}) {
      const std::string with = spec + options, there = spec == "xpos" ? with + ":center=10000000" : with;
      CAPTURE(with);
      BoundStack bound(there, s);
      const std::vector<double> positions = {10000000.25, 9999990, 10000007.5};
      const Plan plan = bound.plan(positions, 20);
      const Rotation& r = plan.rotation;
      CHECK(r.pairs == (*options ? 4 : 8));
      CHECK((r.pairing == Pairing::half) == !!*options);
      std::vector<double> unit(r.pairs);
      const double one = 1;
      bound.stack.encodings()[0]->rotation({&one, 1}, 20, unit.data());
      const bool own = !r.key_cosine.empty();
      double product = 0;  // of the gains of a query and a key at the same place: the same for all places and pairs
      for (size_t n = 0; n < r.cosine.size(); n++) {
        const double angle = positions[n / r.pairs] * unit[n % r.pairs];
        const double gain = std::hypot(r.cosine[n], r.sine[n]), key = own ? std::hypot(r.key_cosine[n], r.key_sine[n]) : gain;
        CHECK(std::fabs(r.cosine[n] / gain - std::cos(angle)) < 1e-6);
        CHECK(std::fabs(r.sine[n] / gain - std::sin(angle)) < 1e-6);
        if (!product) product = gain * key;
        CHECK(gain * key == doctest::Approx(product).epsilon(1e-6));
      }
      // Turned and turned back: once more by the gain. What does not turn is left alone.
      for (Side side : {Side::query, Side::key}) {
        const std::vector<float> x = wave(16, 1.3, 0.2);
        std::vector<float> y = x;
        for (bool adjoint : {false, true}) rotate(r, side, y.data(), 16, 1, 1, 16, 1, adjoint);
        const Buffer<float> &cosine = own && side == Side::key ? r.key_cosine : r.cosine, &sine = own && side == Side::key ? r.key_sine : r.sine;
        for (int d = 0; d < 16; d++) {
          const int k = r.pairs + (d >= 2 * r.pairs ? 0 : r.pairing == Pairing::half ? d % r.pairs : d / 2);
          CHECK(y[d] == doctest::Approx(d < 2 * r.pairs ? x[d] * (cosine[k] * cosine[k] + sine[k] * sine[k]) : x[d]).epsilon(1e-5));
        }
        // Turned on from token to token: as if it had been turned there at once.
        std::vector<float> there = x, on = x;
        rotate(r, side, there.data(), 16, 1, 1, 16, 2, false);
        rotate(r, side, on.data(), 16, 1, 1, 16, 0, false);
        turn_on(r, side, on.data(), 16, 1, 1, 16, 0, 1);
        turn_on(r, side, on.data(), 16, 1, 1, 16, 1, 2);
        for (int d = 0; d < 16; d++) CHECK(on[d] == doctest::Approx(there[d]).epsilon(1e-5).scale(1));
      }
    }
  }
}

TEST_CASE("a bias by distance equals the dense one") {
  for (const char* spec : {"alibi", "t5", "alibi+t5:buckets=6:max_distance=9", "learned_bias:clip=5", "kerple_log+kerple_power",
                           "sandwich", "dynamic_bias"})
    for (bool causal : {true, false})
      for (double step : {1.0, 3.0, 0.25, 1.0 / 3, -2.0, 0.0}) {
        const bool jumps = std::strstr(spec, "t5");
        if (step == 1.0 / 3 && jumps) continue;  // rounding decides the bucket of 3·⅓
        const Shape s = shape(3, 4, 12, 8, causal);
        BoundStack bound(spec, s);
        std::vector<double> positions = counted(13, 5, step);
        Plan by_distance = bound.plan(positions);
        positions.push_back(1e6);
        Plan dense = bound.plan(positions);
        CHECK(by_distance.bias.row_stride == -1);
        CHECK(by_distance.bias.table.size() == 3 * 25 + 16);
        CHECK(dense.bias.row_stride == 14);
        for (int h = 0; h < 3; h++)
          for (int i = 0; i < 13; i++)
            for (int j = 0; j < (causal ? i + 1 : 13); j++)
              CHECK(by_distance.bias.row(h, i)[j] == doctest::Approx(dense.bias.row(h, i)[j]).epsilon(1e-6).scale(1));
      }
  Plan causal = BoundStack("alibi", plain).plan(5);
  for (int j = 3; j < 5; j++) CHECK(causal.bias.row(1, 2)[j] == 0);
}

TEST_CASE("decoding in chunks equals one pass") {
  for (auto& spec : all()) {
    CAPTURE(spec);
    for (int kv_heads : {1, 3}) {
      const Shape s = shape(3, 4, 12, 8, true, kv_heads);
      BoundStack bound(spec, s);
      const Inputs in(s, 13);
      const Plan plan = bound.plan(13);
      const auto whole = attend(in, plan, bound.stack.content(), 13);
      for (int chunk : {1, 2, 5, 12}) CHECK(attend(in, plan, bound.stack.content(), chunk) == whole);
    }
  }
}

TEST_CASE("a content term keeps its tokens when it begins again with more room") {
  for (auto& spec : all()) {
    BoundStack bound(spec, plain);
    const Terms terms = bound.stack.content();
    if (terms.empty()) continue;
    CAPTURE(spec);
    const int N = 9, stride = plain.heads * plain.head_dim;
    const Inputs in(plain, N);
    const Plan plan = bound.plan(N);
    std::vector<float> out(stride);
    for (int t = 0; t < N; t++) {
      if (t == 0 || t == 2 || t == 5) REQUIRE(terms[0]->begin(t == 5 ? N : 2 * t + 2));
      REQUIRE(terms[0]->sequence(in.sequence(t, 1)));
    }
    REQUIRE(attention_reference(in.attention(N - 1, 1), plan, terms, out.data(), stride, nullptr));
    const auto whole = attend(in, plan, bound.stack.content(), N);
    CHECK(std::equal(out.begin(), out.end(), whole.end() - stride));
  }
}

TEST_CASE("without mask and position the order of tokens does not matter") {
  const Shape s = shape(2, 4, 8, 8, false);
  Inputs in(s, 5), turned = in;
  const int order[] = {3, 0, 4, 1, 2};
  for (auto [from, to] : {std::pair(&in.q, &turned.q), {&in.k, &turned.k}, {&in.v, &turned.v}})
    for (int t = 0; t < 5; t++) std::copy_n(from->begin() + order[t] * 8, 8, to->begin() + t * 8);
  const Plan plan = BoundStack("nope", s).plan(5);
  const auto a = attend(in, plan, {}, 5), b = attend(turned, plan, {}, 5);
  for (int t = 0; t < 5; t++)
    for (int c = 0; c < 8; c++) CHECK(b[t * 8 + c] == doctest::Approx(a[order[t] * 8 + c]).epsilon(1e-6));
}

TEST_CASE("random ids") {
  BoundStack bound("random_sorted:max=50:seed=3", plain), other("random_sorted:max=50:seed=4", plain);
  const Plan a = bound.plan(20), b = bound.plan(20), c = other.plan(20);
  auto same = [](const Plan& x, const Plan& y) { return std::equal(x.positions.begin(), x.positions.end(), y.positions.begin()); };
  CHECK(same(a, b));
  CHECK(!same(a, c));
  Random random(1), again(1);
  const std::vector<double> any(20);
  const Plan first = bound.plan(any, 0, &random), second = bound.plan(any, 0, &random), repeated = bound.plan(any, 0, &again);
  CHECK(!same(first, second));
  CHECK(same(first, repeated));
  for (auto* plan : {&a, &first, &second})
    for (int i = 0; i < 20; i++) CHECK((plan->positions[i] >= (i ? plan->positions[i - 1] + 1 : 0) && plan->positions[i] < 50));
  // What wraps an encoding reaches it.
  const Plan wrapped = BoundStack("random_sorted:max=50:seed=3+alibi", plain).plan(20);
  for (int j = 0; j < 20; j++) CHECK(wrapped.bias.row(1, 19)[j] == doctest::Approx(-std::exp2(-8) * (a.positions[19] - a.positions[j])));
  // Each number is drawn equally often.
  int drawn[50] = {};
  for (int n = 0; n < 2000; n++) for (double p : bound.plan(any, 0, &random).positions) drawn[int(p)]++;
  for (int count : drawn) CHECK(std::abs(count - 800) < 6 * 22);
}

TEST_CASE("wrappers of ids work one after the other and reach what they wrap") {
  const std::vector<double> p = {0, 1, 5, -3, 1e6};
  const Plan wrapped = BoundStack("interpolated:factor=8+rope:base=500", plain).plan(p);
  std::vector<double> eighth = p;
  for (double& x : eighth) x /= 8;
  const Plan direct = BoundStack("rope:base=500", plain).plan(eighth);
  CHECK(std::equal(wrapped.rotation.sine.begin(), wrapped.rotation.sine.end(), direct.rotation.sine.begin(), direct.rotation.sine.end()));
  CHECK(std::equal(wrapped.positions.begin(), wrapped.positions.end(), eighth.begin(), eighth.end()));
  // It does not matter where in the spec the wrapper stands beside what it wraps, but it does beside another wrapper.
  const Plan after = BoundStack("rope:base=500+interpolated:factor=8", plain).plan(p);
  CHECK(std::equal(after.rotation.sine.begin(), after.rotation.sine.end(), direct.rotation.sine.begin()));
  const Plan sorted = BoundStack("random_sorted:max=90:seed=2", plain).plan(20),
             third = BoundStack("random_sorted:max=90:seed=2+interpolated:factor=3+alibi", plain).plan(20),
             replaced = BoundStack("interpolated:factor=3+random_sorted:max=90:seed=2", plain).plan(20);
  for (int i = 0; i < 20; i++) {
    CHECK(third.positions[i] == sorted.positions[i] / 3);
    CHECK(replaced.positions[i] == sorted.positions[i]);
    CHECK(third.bias.row(1, 19)[i] == doctest::Approx(-std::exp2(-8) * (sorted.positions[19] - sorted.positions[i]) / 3).epsilon(1e-6));
  }
  // A table between its rows.
  BoundStack table("interpolated:factor=2+learned", plain);
  const Plan between = table.plan(15);
  CHECK(between.input[3 * 12] == doctest::Approx((table.values[0][12] + table.values[0][2 * 12]) / 2));
}

TEST_CASE("randomly stretched ids: evenly spaced, on average as long as the sequence") {
  BoundStack bound("random_linspace", plain), uniform("random_linspace:draw=uniform:max=500", plain);
  Random random(3);
  const std::vector<double> any(21);
  double mean = 0, below = 0, mean_uniform = 0, largest = 0;
  const int draws = 4000;
  for (int n = 0; n < draws; n++) {
    const Plan plan = bound.plan(any, 0, &random), even = uniform.plan(any, 0, &random);
    for (int i = 0; i < 21; i++) CHECK(plan.positions[i] == doctest::Approx(plan.positions[20] * i / 20));
    mean += plan.positions[20] / draws, below += (plan.positions[20] < 21 * std::log(2)) / double(draws);
    mean_uniform += even.positions[20] / draws, largest = std::max(largest, even.positions[20]);
  }
  CHECK(mean == doctest::Approx(21).epsilon(0.06));    // exponential: mean and deviation 21, median 21·ln 2
  CHECK(below == doctest::Approx(0.5).epsilon(0.06));
  CHECK(mean_uniform == doctest::Approx(250).epsilon(0.04));
  CHECK((largest > 495 && largest < 500));
  const Plan evaluation = bound.plan(21);
  for (int i = 0; i < 21; i++) CHECK(evaluation.positions[i] == i);
}

TEST_CASE("the scale counts the keys that a pattern leaves") {
  const Plan dilated = BoundStack("dilated:width=3:stride=2+log_n:unclipped=true", plain).plan(40);
  for (int i = 0; i < 40; i++) CHECK(dilated.scale[i] == doctest::Approx(std::log(std::min(i / 2 + 1.0, 3.0)) / std::log(8)));
  const Plan plan = BoundStack("window:width=16+log_n:unclipped=true", plain).plan(40);
  for (int i = 0; i < 40; i++) CHECK(plan.scale[i] == doctest::Approx(std::log(std::min(i + 1.0, 16.0)) / std::log(8)));
}

// What a query adds to all of its scores, softmax takes away.
TEST_CASE("the query's part of a content bias cancels") {
  const int N = 7;
  BoundStack bound("content_bias", plain);
  const Inputs in(plain, N);
  const auto whole = attend(in, bound.plan(N), bound.stack.content(), N);
  BoundStack keys_only("nope", plain);  // c_j alone, as a dense bias
  Plan plan = keys_only.plan(N);
  REQUIRE(plan.bias.table.assign(size_t(plain.heads) * N + 16, 0));
  plan.bias.head_stride = N;
  for (int h = 0; h < plain.heads; h++)
    for (int j = 0; j < N; j++)
      for (int c = 0; c < plain.width; c++) plan.bias.table[h * N + j] += bound.values[0][h * plain.width + c] * in.x[j * plain.width + c];
  const auto part = attend(in, plan, {}, N);
  for (size_t n = 0; n < whole.size(); n++) CHECK(whole[n] == doctest::Approx(part[n]).epsilon(1e-5).scale(1));
}

TEST_CASE("a context-aware bias is a forget gate with the signs turned") {
  const int N = 9;
  BoundStack cable("cable", plain), gate("forget_gate", plain);
  for (size_t n = 0; n < gate.values.size(); n++)
    for (size_t i = 0; i < gate.values[n].size(); i++) gate.values[n][i] = -cable.values[n][i];
  const Inputs in(plain, N);
  const Plan plan = cable.plan(N);
  CHECK(attend(in, plan, cable.stack.content(), N) == attend(in, plan, gate.stack.content(), N));
}

// H_t = I where w_t = 0: what is left of a path is q·k.
TEST_CASE("a path that transforms nothing is no encoding") {
  BoundStack path("path", plain), nope("nope", plain);
  std::fill(path.values[0].begin(), path.values[0].end(), 0.f);
  const Inputs in(plain, 9);
  const auto a = attend(in, path.plan(9), path.stack.content(), 9), b = attend(in, nope.plan(9), {}, 9);
  for (size_t n = 0; n < a.size(); n++) CHECK(a[n] == doctest::Approx(b[n]).epsilon(1e-6).scale(1));
}

TEST_CASE("contextual positions survive NaN") {
  const Shape s = shape(1, 4, 4, 8);
  BoundStack bound("cope:positions=3", s);
  Inputs in(s, 6);
  in.q[9] = NAN;
  const auto out = attend(in, bound.plan(6), bound.stack.content(), 6);
  CHECK(std::isfinite(out[0]));
  CHECK(std::isnan(out[2 * 4]));
}

TEST_CASE("initial values") {
  BoundStack bound("learned+rope:learned=true+t5+cope+forget_gate", shape(3, 8, 24, 500));
  Random random(7);
  bound.stack.initialise(random);
  double square = 0;
  for (float x : bound.values[0]) square += x * x / double(bound.values[0].size());
  CHECK(std::sqrt(square) == doctest::Approx(0.02).epsilon(0.05));
  for (int k = 0; k < 4; k++) CHECK(bound.values[1][k] == float(std::pow(10000, -k / 4.0)));
  for (float x : bound.values[3]) CHECK(x == 0);
  for (float x : bound.values[5]) CHECK(x == 0);
  CHECK(bound.stack.learned());
  CHECK(bound.stack.per_layer());

  BoundStack scale("ssmax:bias=true+learned_frequency", shape(3, 8, 24, 1024));
  scale.stack.initialise(random);
  for (float x : scale.values[0]) CHECK(x == doctest::Approx(0.168).epsilon(0.003));  // as the paper has it
  for (float x : scale.values[1]) CHECK(x == 0);
  const Plan plan = scale.plan(1024);
  double mean = 0;
  for (int i = 0; i < 1024; i++) mean += plan.scale[i] / 1024;
  CHECK(mean == doctest::Approx(1));
  BoundStack fixed("sinusoidal", shape(3, 8, 24, 1024));
  const Plan sinusoids = fixed.plan(64), learned = scale.plan(64);
  for (size_t i = 0; i < sinusoids.input.size(); i++) CHECK(learned.input[i] == doctest::Approx(sinusoids.input[i]).epsilon(1e-5).scale(1));
  CHECK(!BoundStack("rope+t5", plain).stack.per_layer());
  CHECK(!BoundStack("rope", plain).stack.learned());
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("running out of memory is an error, and planning works afterwards") {
  BoundStack bound("alibi", shape(1024, 1, 1024, 8));
  std::vector<double> positions = counted(1 << 20, 0);
  positions.back() += 1;
  Plan plan;
  CHECK(bound.stack.plan(positions, 0, nullptr, plan).text.starts_with("OutOfMemory: the score bias needs "));
  REQUIRE(!bound.stack.plan(4, 0, nullptr, plan));
  CHECK(plan.bias.row(0, 3)[3] == 0);
}
#endif

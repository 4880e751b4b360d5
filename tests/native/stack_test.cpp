// What every encoding of the catalogue must do, and what only some of them promise.
#include <algorithm>
#include <cstring>

#include "encoding_case.h"

using namespace lw;
using namespace lw::test;

TEST_CASE("planning again gives the same bits in the same memory") {
  for (auto& spec : all_specs()) {
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

TEST_CASE("a bias by row holds the keys that a causal query may see, one row after the other, whatever stood in its memory") {
  BoundStack causal("fire", shape(3, 4, 12, 8)), open("fire", shape(3, 4, 12, 8, false));
  const Plan fresh = causal.plan(17);
  Plan plan = open.plan(17);
  for (auto* bound : {&causal, &causal, &open, &causal}) {
    REQUIRE(!bound->stack.plan(17, 0, nullptr, plan));
    if (bound == &open) continue;
    CHECK(std::equal(fresh.bias.table.begin(), fresh.bias.table.end(), plan.bias.table.begin(), plan.bias.table.end()));
    CHECK(plan.bias.table.size() == 3 * 17 * 18 / 2 + 16);
    for (int i = 0; i < 16; i++) CHECK(plan.bias.row(1, i + 1) == plan.bias.row(1, i) + i + 1);
  }
}

TEST_CASE("everything is finite at far positions, or refused") {
  for (auto& spec : all_specs()) {
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
  for (auto& spec : all_specs()) {
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

TEST_CASE("relative: padding on the left that no one sees changes nothing, with cached keys too") {
  int relative = 0;
  const unsigned by_distance = unsigned(Door::rotation) | unsigned(Door::bias);
  for (auto& spec : all_specs()) {
    BoundStack bound(spec, plain);
    if (bound.stack.doors() & ~by_distance || bound.stack.encodings()[0]->bias_by_row(counted(11, 0))) continue;
    CAPTURE(spec);
    const int N = 11, padding = 5, stride = plain.heads * plain.head_dim;
    const Inputs padded(plain, padding + N);
    Inputs own(plain, N);
    for (auto [from, to] : {std::pair(&padded.q, &own.q), {&padded.k, &own.k}, {&padded.v, &own.v}})
      std::copy_n(from->begin() + padding * stride, N * stride, to->begin());
    Plan plan = bound.plan(padding + N, N);  // the text is N long
    REQUIRE(plan.pattern.begin.empty());
    REQUIRE((plan.pattern.begin.resize(padding + N + 1) && plan.pattern.intervals.resize(N)));
    for (int i = 0; i <= padding + N; i++) plan.pattern.begin[i] = std::max(i - padding, 0);
    for (int n = 0; n < N; n++) plan.pattern.intervals[n] = {padding, padding + n + 1};
    const auto expected = attend(own, bound.plan(N, N), {}, N);
    for (int chunk : {1, 4, padding + N}) {
      const auto out = attend(padded, plan, {}, chunk);
      double worst = 0;
      for (int n = 0; n < N * stride; n++) worst = std::max(worst, std::fabs(double(out[padding * stride + n]) - expected[n]));
      CHECK(worst < 1e-6);
    }
    relative++;
  }
  CHECK(relative >= 15);
}

TEST_CASE("rotations: norms up to the gain, far and fractional positions, turning back") {
  for (std::string spec : all_specs()) {
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
        CHECK(dense.bias.triangular == causal);
        CHECK(dense.bias.table.size() == 3 * (causal ? 14 * 15 / 2 : 14 * 14) + 16);
        for (int h = 0; h < 3; h++)
          for (int i = 0; i < 13; i++)
            for (int j = 0; j < (causal ? i + 1 : 13); j++)
              CHECK(by_distance.bias.row(h, i)[j] == doctest::Approx(dense.bias.row(h, i)[j]).epsilon(1e-6).scale(1));
      }
  Plan causal = BoundStack("alibi", plain).plan(5);
  for (int j = 3; j < 5; j++) CHECK(causal.bias.row(1, 2)[j] == 0);
}

TEST_CASE("decoding in chunks equals one pass") {
  for (auto& spec : all_specs()) {
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
  for (auto& spec : all_specs()) {
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
  const std::string said = bound.stack.plan(positions, 0, nullptr, plan).text;
  CHECK(said.starts_with("OutOfMemory: there are no "));
  CHECK(said.find(" MB of memory for the score bias; ") != said.npos);
  REQUIRE(!bound.stack.plan(4, 0, nullptr, plan));
  CHECK(plan.bias.row(0, 3)[3] == 0);
}
#endif

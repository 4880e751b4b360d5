// Numbers of scaled rotations that public reports of faults agreed on; each case names its report.
#include "encoding_case.h"

using namespace lw;
using namespace lw::test;

namespace {

// Frequencies of all pairs, in double, while `present` tokens are there.
std::vector<double> frequencies(const std::string& spec, int head_dim, int present = 1) {
  BoundStack bound(spec, shape(1, head_dim, head_dim, 2048));
  std::vector<double> angles(bound.plan(1).rotation.pairs);
  const double one = 1;
  bound.stack.encodings()[0]->rotation({&one, 1}, present, angles.data());
  return angles;
}

struct At { int pair; double value; };
void check(const std::string& spec, int head_dim, std::vector<At> want, int present = 1) {
  CAPTURE(spec);
  const auto got = frequencies(spec, head_dim, present);
  for (At at : want) CHECK(got[at.pair] == doctest::Approx(at.value).epsilon(1e-9));
}

// The factor on turned queries (of keys it is the same).
double gain(const std::string& spec, int head_dim, double position = 3) {
  const Plan plan = BoundStack(spec, shape(1, head_dim, head_dim, 2048)).plan(std::vector<double>{position});
  CHECK(plan.rotation.key_cosine.empty());
  return std::hypot(plan.rotation.cosine[0], plan.rotation.sine[0]);
}

// q·k of a key at `at`, turned when `then` tokens were there, and the newest query, turned when `now` are.
double score(BoundStack& bound, int at, int then, int now) {
  std::vector<float> key = {0.5, -1, 1.5, 2}, query = {1, 2, 3, 4};
  const Plan old = bound.plan(std::vector<double>{double(at)}, then), latest = bound.plan(std::vector<double>{now - 1.0}, now);
  rotate(old.rotation, Side::key, key.data(), 4, 1, 1, 4, 0, false);
  rotate(latest.rotation, Side::query, query.data(), 4, 1, 1, 4, 0, false);
  double sum = 0;
  for (int a = 0; a < 4; a++) sum += double(key[a]) * query[a];
  return sum;
}

}  // namespace

TEST_CASE("linear scaling: per layer, of global layers only (lablup/mlxcel#1340)") {
  check("rope:base=1000000:factor=8", 256, {{0, 0.125}, {1, 0.1122108916}, {64, 0.000125}, {127, 1.392467325e-07}});
  check("rope:base=10000", 256, {{0, 1}, {1, 0.9305720409}, {64, 0.01}, {127, 0.0001074607828}});
  for (auto [spec, angle] : {std::pair("rope:base=1000000:factor=8", 500.0), {"rope:base=10000", 4000.0}}) {
    const Plan plan = BoundStack(spec, shape(1, 256, 256, 2048)).plan(std::vector<double>{4000});
    CHECK(plan.rotation.cosine[0] == doctest::Approx(std::cos(angle)).epsilon(1e-6));
  }
}

TEST_CASE("YaRN: borders rounded or not, the original base, the factor on the frequency (vllm-project/vllm#27722)") {
  const std::string spec = "yarn:base=150000:factor=32:original=4096";
  check(spec + ":truncate=false", 64, {{0, 1}, {8, 0.05081327482}, {9, 0.03170569618}, {12, 0.00679495949}, {15, 0.001052602101},
                                       {17, 0.0001293187012}, {18, 3.830881237e-05}, {31, 3.023511428e-07}});
  check(spec, 64, {{0, 1}, {8, 0.05081327482}, {9, 0.03162075228}, {12, 0.007015713911}, {15, 0.001206130969}, {17, 0.0002279477958},
                   {18, 3.830881237e-05}, {31, 3.023511428e-07}});
  CHECK(gain(spec, 64) == doctest::Approx(1.34657359).epsilon(1e-7));
}

TEST_CASE("YaRN: the upper border may lie past the last pair; borders that coincide (keras-team/keras-hub#2981)") {
  check("yarn:original=131072", 64, {{0, 1}, {20, 0.00316227766}, {25, 0.0006201048269}, {30, 9.575350669e-05}, {31, 6.411160732e-05}});
  check("yarn:original=4096:beta_fast=1:truncate=false", 64, {{0, 1}, {22, 0.00177827941}, {23, 0.000333380358}, {31, 3.33380358e-05}});
}

TEST_CASE("YaRN: mscale and mscale_all_dim, with and without the correction of scores (vllm-project/vllm#48623)") {
  const struct { const char* spec; double correction; } rows[] = {
      {"yarn:factor=16:mscale=1:mscale_all_dim=1", 1},
      {"yarn:factor=40:mscale=0.707:mscale_all_dim=0.707:score_correction=true", 1.589626165},
      {"yarn:factor=40:mscale=1:mscale_all_dim=1:score_correction=true", 1.873854207}};
  for (auto& row : rows) {
    CAPTURE(row.spec);
    for (double position : {0.0, 3.0}) CHECK(gain(row.spec, 64, position) == doctest::Approx(1).epsilon(1e-7));
    CHECK(BoundStack(row.spec, shape(1, 64, 64, 8)).plan(1).score_scale * 8 == doctest::Approx(row.correction).epsilon(1e-7));
  }
  CHECK(gain("yarn:factor=16", 64) == doctest::Approx(1.277258872).epsilon(1e-7));
}

TEST_CASE("LongRoPE: short factors up to the original length, long ones past it (unslothai/unsloth#10681)") {
  const std::string spec = "longrope:short_factor=1;1.02:long_factor=1.5;8:original=4096:factor=32";
  for (int present : {4095, 4096}) check(spec, 4, {{0, 1}, {1, 0.009803921569}}, present);
  check(spec, 4, {{0, 0.6666666667}, {1, 0.00125}}, 4097);
  CHECK(gain(spec, 4) == doctest::Approx(1.190238071).epsilon(1e-7));
  Stack none;
  CHECK(Stack::make(spec, shape(1, 8, 8, 8), none).text == "longrope:short_factor has 2 numbers; allowed: 4, one for each pair");
  // One for each pair that turns, not for each of the head (mlc-ai/mlc-llm#3268).
  CHECK(!Stack::make(spec + ":fraction=0.5", shape(1, 8, 8, 8), none));
}

TEST_CASE("LongRoPE: crossing the original length turns every key anew (huggingface/transformers#33129)") {
  BoundStack bound("longrope:short_factor=1;1.02:long_factor=1.5;8:original=4096:attention_factor=1:pairing=half", shape(1, 4, 4, 8));
  CHECK(bound.stack.length_dependent());  // so that caches keep keys unrotated
  CHECK(score(bound, 100, 4097, 4097) == doctest::Approx(-1.021905748).epsilon(1e-4));
  CHECK(score(bound, 100, 101, 4097) == doctest::Approx(-12.00092674).epsilon(1e-4));
}

TEST_CASE("xPos: a score carries the relative factor; what would overflow is refused (lucidrains/local-attention#14)") {
  BoundStack bound("xpos:scale_base=64:center=9995", shape(1, 64, 64, 512));
  const Rotation r = bound.plan(std::vector<double>{9999, 9990}).rotation;
  for (At at : {At{0, 0.8384756044}, {1, 0.8473923242}, {15, 0.9350995085}, {31, 0.9968305194}}) {
    const int key = 32 + at.pair;
    CHECK(std::hypot(r.cosine[at.pair], r.sine[at.pair]) * std::hypot(r.key_cosine[key], r.key_sine[key]) == doctest::Approx(at.value).epsilon(1e-6));
  }
  Plan plan;
  BoundStack long_one("xpos:scale_base=64:center=5000", shape(1, 64, 64, 512));
  CHECK(long_one.stack.plan(10000, 0, nullptr, plan).text.starts_with("a position is 0; allowed with xpos:scale_base=64:center=5000: "));
}

// The five requirements, where arithmetic says what the numbers are.
#include <cmath>
#include <limits>

#include "encoding_case.h"
#include "lab/audit.h"

using namespace lw;
using namespace lw::test;

namespace {

const Shape usual = shape(2, 8, 16, 32);

Audit measure(const std::string& spec, const Shape& s = usual) {
  Audit a;
  Error e = audit(spec, s, a);
  CAPTURE(spec);
  REQUIRE_MESSAGE(!e, e.text);
  return a;
}
doctest::Approx about(double x) { return doctest::Approx(x).epsilon(1e-6); }

}  // namespace

TEST_CASE("audit: unique") {
  for (bool causal : {true, false}) {
    const Audit a = measure("nope", shape(2, 8, 16, 32, causal));
    CHECK(a.unique.distance == 0);
    CHECK(a.unique.first == 0);
    CHECK(a.unique.second == 1);
  }
  for (const char* spec : {"sinusoidal", "rope", "learned", "forget_gate", "window:width=32+alibi"}) CHECK(measure(spec).unique.distance > 1e-3);
  // ALiBi's slopes of two heads are 1/16 and 1/256; neighbours differ by one distance.
  CHECK(measure("alibi").unique.distance == about(std::sqrt((std::pow(16, -2) + std::pow(256, -2)) / 2)));
  // At distance d a pair turns by a chord of 2 sin(dθ/2), θ = 1, 0.1, 0.01, 0.001. After 6 the first is nearly back.
  double least = 10;
  for (int d = 1; d < 32; d++) {
    double square = 0;
    for (double angle : {1.0, 0.1, 0.01, 0.001}) square += std::pow(2 * std::sin(d * angle / 2), 2) / 4;
    least = std::min(least, std::sqrt(square));
  }
  CHECK(measure("rope").unique.distance == doctest::Approx(least).epsilon(1e-5));
  CHECK(measure("rope").unique.second - measure("rope").unique.first == 6);
  // Far keys share a bucket or a row: from distance 16 and 2 on.
  CHECK(measure("t5").unique.distance == 0);
  CHECK(measure("shaw:clip=2").unique.distance == 0);
  // Two tokens out of the window look alike, whatever the bias of what is in it.
  CHECK(measure("window:width=8+alibi").unique.distance == 0);
  CHECK(measure("random_sorted").unique.distance == 0);  // numbers that no other door reads
  CHECK(measure("random_sorted+alibi").unique.distance > 0);
}

TEST_CASE("audit: what differs by rounding is equal") {
  // Distances 21 … 36 are seen as 5 … 20, by sums of other numbers.
  const Audit shifted = measure("shifted:shift=21:window=5+rope", shape(2, 8, 16, 64));
  CHECK(shifted.unique.distance == 0);
  CHECK(measure("shifted+rope", shape(2, 32, 64, 64)).unique.distance == 0);
  CHECK(measure("interpolated:factor=3+rope:base=1e6", shape(2, 32, 64, 64)).unique.distance > 1e-3);
  // A bias of the distance alone, made by an MLP for twice as many distances.
  for (int length : {64, 256}) CHECK(measure("fire", shape(4, 32, 64, length, false)).deterministic.longer == 0);
}

TEST_CASE("audit: deterministic") {
  for (const char* spec : {"nope", "sinusoidal", "rope", "alibi", "t5", "window:width=8", "log_n"}) {
    const Audit a = measure(spec);
    CHECK(a.deterministic.again == 0);
    CHECK(a.deterministic.training == 0);
    CHECK(a.deterministic.longer == 0);
  }
  const Audit random = measure("random_sorted+alibi");
  CHECK(random.deterministic.again == 0);
  CHECK(random.deterministic.training > 1);
  CHECK(random.deterministic.longer > 1);
  CHECK(random.deterministic.door == std::string("ids"));
  CHECK(measure("rope").deterministic.door == std::string());
  CHECK(measure("dynamic_ntk").deterministic.longer > 0.01);
  CHECK(measure("dynamic_ntk").deterministic.door == std::string("rotation"));
  CHECK(measure("dynamic_ntk").deterministic.again == 0);
  CHECK(std::isnan(measure("learned").deterministic.longer));
  CHECK(measure("learned:overflow=clamp").deterministic.longer == 0);
}

TEST_CASE("audit: past the trained length") {
  const Audit learned = measure("learned");
  CHECK(learned.past.refused.find("128") != std::string::npos);
  CHECK(std::isnan(learned.past.rows));
  CHECK(measure("learned:overflow=clamp").past.rows == 0);  // the last row again and again
  const Audit sinusoidal = measure("sinusoidal");
  CHECK(sinusoidal.past.refused.empty());
  CHECK(sinusoidal.past.rows == 0.75);
  CHECK(std::isnan(sinusoidal.past.distances));
  CHECK(std::isnan(sinusoidal.past.angles));
  CHECK(std::isnan(sinusoidal.past.weight));

  const Audit alibi = measure("alibi");
  CHECK(alibi.past.distances == 0.75);
  double weight = 0;  // slopes m: the far part of a geometric series
  for (double m : {1.0 / 16, 1.0 / 256}) weight += (std::exp(-32 * m) - std::exp(-128 * m)) / (1 - std::exp(-128 * m)) / 2;
  CHECK(alibi.past.weight == about(weight));
  const Audit window = measure("window:width=8+alibi");
  CHECK(window.past.distances == 0);
  CHECK(window.past.weight == 0);
  CHECK(measure("random_sorted:max=128+alibi").past.distances < 0.2);

  // FIRE divides distances by ψ(max(i, L)): those at the far end come nearer to 1 than ψ(31)/ψ(32), and few others are new.
  const Audit fire = measure("fire");
  CHECK(fire.past.distances > 0);
  CHECK(fire.past.distances < 0.15);
  CHECK(fire.past.weight < 0.15);
  for (const char* other : {"alibi", "shaw", "transformer_xl", "deberta"})  // by distance, as without FIRE
    CHECK(measure(("fire+" + std::string(other)).c_str()).past.distances >= measure(other).past.distances);

  // ReRoPE knows no distance beyond its window.
  CHECK(measure("rectified:window=16+rope").past.angles == 0);

  // The fastest pair has gone all around, angles of the others come back modulo 2π.
  double outside = 0;
  for (double angle : {1.0, 0.1, 0.01, 0.001})
    for (int d = 0; d < 128; d++) outside += 31 * angle < 2 * M_PI && std::fmod(d * angle, 2 * M_PI) > 31 * angle + 1e-9;
  CHECK(measure("rope").past.angles == about(outside / 4 / 128));
  CHECK(outside > 200);
}

TEST_CASE("audit: factors on scores") {
  // ln i / ln 32 from the 33rd of 128 queries on; ⌊(p + 1)/16⌋ is at most 2 up to p = 31, more from p = 47 on.
  CHECK(measure("log_n").past.factors == 0.75);
  CHECK(measure("ssmax").past.factors == 0.75);
  CHECK(measure("temperature:floor=16").past.factors == about((128 - 47) / 128.0));
  CHECK(measure("temperature").past.factors == 0);  // 1 up to position 8190
  CHECK(measure("window:width=8+log_n").past.factors == 0);
  CHECK(std::isnan(measure("alibi").past.factors));
}

TEST_CASE("audit: distances across a pattern") {
  CHECK(measure("window:width=8").past.distances == 0);
  CHECK(measure("global:count=4+window:width=8").past.distances == about(4 / 12.0));
  CHECK(measure("random:count=16").past.distances > 0.5);
  // The window as a bias is the window as a pattern.
  CHECK(measure("window_penalty:width=8").past.distances == 0);
  CHECK(measure("window_penalty:width=8+alibi").past.weight == 0);
  CHECK(measure("window_penalty:width=8+alibi").unique.distance == measure("window:width=8+alibi").unique.distance);
  CHECK(std::isnan(measure("nope").past.distances));
}

TEST_CASE("audit: what is put on a trained model was not met in training") {
  CHECK(measure("interpolated+rope:base=500").past.trained == "rope:base=500");
  CHECK(measure("alibi+grouped:window=8+log_n").past.trained == "alibi+log_n");
  CHECK(measure("yarn:factor=8:base=500:pairing=half:beta_fast=16").past.trained == "rope:base=500:pairing=half");
  CHECK(measure("interpolated").past.trained == "nope");
  CHECK(measure("rope:base=500:factor=4").past.trained == "rope:base=500");  // interpolated by itself
  CHECK(measure("rope").past.trained.empty());
  CHECK(measure("dynamic_ntk").past.trained.empty());  // plain up to the trained length
  // Of distances 0 … 127 four times closer three are beyond 31: new to all pairs but the fastest, which went all around.
  CHECK(measure("interpolated:factor=4+rope").past.angles == about(3 * 3 / (4 * 128.0)));
  CHECK(measure("interpolated:factor=4+alibi").past.distances == about(3 / 128.0));
  CHECK(measure("grouped:group=8:window=16+rope").past.angles == 0);  // (32 − 16)·8 + 16 tokens
  CHECK(measure("chunked+rope").past.angles == 0);
  const double plain = measure("rope").past.angles;
  for (const char* spec : {"interpolated+rope", "ntk", "yarn", "llama3", "grouped:group=4:window=16+rope", "shifted+rope"}) {
    CAPTURE(spec);
    CHECK(measure(spec).past.angles < plain);
  }
}

TEST_CASE("audit: what it does to the content") {
  CHECK(measure("sinusoidal").content.input == about(std::sqrt(0.5)));  // √(d/2) beside √d
  CHECK(measure("sinusoidal:embedding_scale=false").content.input == about(std::sqrt(8.0)));
  CHECK(std::isnan(measure("sinusoidal").content.bias));
  // Distances 0 … 31 spread by √((32² − 1)/12).
  CHECK(measure("alibi").content.bias == about(std::sqrt((32 * 32 - 1) / 12.0 * (std::pow(16, -2) + std::pow(256, -2)) / 2)));
  CHECK(std::isnan(measure("alibi").content.input));
  CHECK(std::isnan(measure("rope").content.bias));
}

// A convolution over tokens that are all alike gives the same everywhere but beside an end, where one of its three weights is
// missing: under a causal mask at tokens 0 and 1, without one at the first and the last.
TEST_CASE("audit: what is mixed from neighbours") {
  const Audit causal = measure("conditional"), both = measure("conditional", shape(2, 8, 16, 32, false));
  CHECK(causal.unique.distance == 0);
  CHECK(causal.unique.first == 2);
  CHECK(causal.unique.second == 3);
  CHECK(both.unique.distance == 0);
  CHECK(both.unique.first == 1);
  CHECK(both.unique.second == 2);
  CHECK(causal.deterministic.longer == 0);
  CHECK(both.deterministic.longer > 0.01);  // the last of n has a neighbour among 2n
  for (const Audit* a : {&causal, &both}) {
    CHECK(a->past.rows == 0);
    CHECK(a->content.input > 0.3);  // three weights of variance 1/9: about √(1/3)
    CHECK(a->content.input < 0.9);
    CHECK(a->cost.bytes == 32 * 8);  // no table
  }
  CHECK(measure("conditional+alibi").unique.distance > 0);
}

TEST_CASE("audit: cost") {
  const Audit nope = measure("nope"), learned = measure("learned"), rope = measure("rope"), alibi = measure("alibi");
  CHECK(nope.cost.parameters == 0);
  CHECK(learned.cost.parameters == 32 * 16);
  CHECK(nope.cost.bytes == 32 * 8);
  CHECK(rope.cost.bytes == 32 * 8 + 2 * 4 * 32 * 4);
  CHECK(alibi.cost.bytes == 32 * 8 + 4 * (2 * 63 + 16));
  for (const Audit* a : {&nope, &learned, &rope, &alibi}) {
    CHECK(a->cost.planning >= 0);
    CHECK(a->cost.attention > 0);
  }
}

TEST_CASE("audit: all encodings, and what cannot be audited") {
  for (auto& entry : catalogue()) {
    const Audit a = measure(entry.descriptor->name);
    CHECK(a.length == 32);
    CHECK(a.deterministic.again == 0);
    if (!a.past.refused.empty()) CHECK(entry.descriptor->past == Past::refuses);
  }
  CHECK(measure("alibi", shape(1, 2, 2, 5000)).length == 512);
  Audit a;
  CHECK(audit("ropee", usual, a).text.starts_with("encoding is \"ropee\""));
  CHECK(bool(audit("random_sorted:max=8", usual, a)));
}

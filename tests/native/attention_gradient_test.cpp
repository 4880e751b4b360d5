// The gradients of attention against central differences, for every door.
#include <doctest/doctest.h>

#include "attention_case.h"
#include "gradient.h"

using namespace lw;
using namespace lw::test;

namespace {

// A content term that uses everything: the query, raw scores of other keys (a running sum, as gates do), and the value door.
//   scores_j += 0.3·tanh(Σ_{l ≤ j} raw_l / 4) + 0.2·cos(j)·q_0,   out_d += Σ_j w_j·sin(j + d)
struct Running final : ContentTerm {
  int head_dim;
  explicit Running(int head_dim) : head_dim(head_dim) {}
  bool begin(int) override { return true; }
  bool sequence(const Sequence&) override { return true; }
  void row(const Row& row, const float* raw, float* scores) override {
    float sum = 0;
    for (int j = row.first; j < row.last; j++) {
      sum += raw[j] / 4;
      scores[j] += 0.3f * std::tanh(sum) + 0.2f * std::cos(float(j)) * row.q[0];
    }
  }
  void read(const Row& row, const float* weights, float* out) override {
    for (int j = row.first; j < row.last; j++)
      for (int d = 0; d < head_dim; d++) out[d] += weights[j] * std::sin(float(j + d));
  }
  void read_backward(const Row& row, const float*, const float* dout, float* dweights) override {
    for (int j = row.first; j < row.last; j++)
      for (int d = 0; d < head_dim; d++) dweights[j] += dout[d] * std::sin(float(j + d));
  }
  void row_backward(const Row& row, const float* raw, const float* dscores, float* draw, float* dq) override {
    std::vector<float> dsum(row.last);
    float sum = 0;
    for (int j = row.first; j < row.last; j++) {
      sum += raw[j] / 4;
      dsum[j] = dscores[j] * 0.3f * (1 - std::tanh(sum) * std::tanh(sum));
      dq[0] += dscores[j] * 0.2f * std::cos(float(j));
    }
    float later = 0;
    for (int j = row.last - 1; j >= row.first; j--) later += dsum[j], draw[j] += later / 4;
  }
  void sequence_backward(const Sequence&, float*, float*, float*) override {}
  void end_backward() override {}
};

struct Gradients {
  std::vector<float> dq, dk, dv;
  PlanGradient plan;
};

bool backward(const AttentionCase& c, Contents contents, const std::vector<float>& dout, Gradients& g) {
  auto forward = run(c, false, contents);
  g.dq.assign(c.q_store.size(), 0), g.dk.assign(c.k_store.size(), 0), g.dv.assign(c.v_store.size(), 0);
  AttentionScratch scratch;
  return attention_backward(c.input(), c.plan, contents, forward.out.data() + 1, dout.data() + 1, c.out_stride, forward.lse.data(),
                            {g.dq.data() + 1, g.dk.data() + 1, g.dv.data() + 1, &g.plan}, scratch);
}

// every: of how many numbers one is moved.
void check(AttentionCase& c, Contents contents = {}, size_t every = 1) {
  Random random(77);
  const auto dout = AttentionCase::normals(random, size_t(c.queries) * c.out_stride + 1);
  Buffer<float> angles;  // the rotation as angles, so that they can be moved
  Rotation& rotation = c.plan.rotation;
  REQUIRE(angles.resize(rotation.cosine.size()));
  std::vector<float> gain, key_gain;
  for (size_t n = 0; n < angles.size(); n++) {
    angles[n] = std::atan2(rotation.sine[n], rotation.cosine[n]);
    gain.push_back(std::hypot(rotation.sine[n], rotation.cosine[n]));
    if (!rotation.key_sine.empty()) key_gain.push_back(std::hypot(rotation.key_sine[n], rotation.key_cosine[n]));
  }
  auto loss = [&] {
    for (size_t n = 0; n < angles.size(); n++) {
      const float cosine = std::cos(angles[n]), sine = std::sin(angles[n]);
      rotation.cosine[n] = gain[n] * cosine, rotation.sine[n] = gain[n] * sine;
      if (!key_gain.empty()) rotation.key_cosine[n] = key_gain[n] * cosine, rotation.key_sine[n] = key_gain[n] * sine;
    }
    const auto out = run(c, true, contents).out;
    double sum = 0;
    for (int r = 0; r < c.queries; r++)
      for (int d = 0; d < c.heads * c.head_dim; d++) sum += double(out[r * c.out_stride + 1 + d]) * dout[r * c.out_stride + 1 + d];
    return sum;
  };
  const double tolerance = 5e-3;  // the loss sums float outputs, whose rounding shows in the differences
  Gradients g;
  REQUIRE(g.plan.angle.assign(angles.size(), 0));
  REQUIRE(g.plan.bias.assign(c.plan.bias.table.size(), 0));
  REQUIRE(g.plan.scale.assign(c.plan.scale.size(), 0));
  loss();
  REQUIRE(backward(c, contents, dout, g));
  check_gradient("q", c.q_store.size(), c.q_store.data(), g.dq.data(), loss, tolerance, 1e-12, every);
  check_gradient("k", c.k_store.size(), c.k_store.data(), g.dk.data(), loss, tolerance, 1e-12, every);
  check_gradient("v", c.v_store.size(), c.v_store.data(), g.dv.data(), loss, tolerance, 1e-12, every);
  check_gradient("angle", angles.size(), angles.data(), g.plan.angle.data(), loss, tolerance, 1e-12, every);
  check_gradient("bias", c.plan.bias.table.size(), c.plan.bias.table.data(), g.plan.bias.data(), loss, tolerance, 1e-12, every);
  check_gradient("scale", c.plan.scale.size(), c.plan.scale.data(), g.plan.scale.data(), loss, tolerance, 1e-12, every);
}

void holes(int i, int, std::vector<Interval>& out) {
  if (i == 2) return;
  out.push_back({0, 1});
  if (i > 1) out.push_back({std::max(2, i - 3), i + 1});
}

}  // namespace

TEST_CASE("gradients of attention, every door") {
  for (int choice = 0; choice < 16; choice++)
    for (int D : {1, 4, 5}) {
      const int T = 5 + choice % 4 * 2;
      AttentionCase c(T, T, 0, 2, choice % 3 ? 2 : 1, D, choice % 5 != 0, 40 + choice);
      if (choice & 1 && D > 1) REQUIRE(c.open_rotation(D / 2, choice & 8 ? Pairing::half : Pairing::interleaved));
      if (choice & 1 && choice & 2 && D > 1) REQUIRE(c.open_gain());
      if (choice & 2) REQUIRE(c.open_bias(choice & 8));
      if (choice & 4) REQUIRE(c.open_scale());
      if (choice & 8) c.open_pattern(holes);
      CAPTURE(choice);
      CAPTURE(D);
      check(c);
      std::vector<std::unique_ptr<ContentTerm>> terms;
      terms.push_back(std::make_unique<Running>(D)), terms.push_back(std::make_unique<Running>(D));
      check(c, terms);
    }
}

TEST_CASE("gradients of linear attention") {
  for (int choice = 0; choice < 8; choice++)
    for (int D : {2, 3, 8}) {  // in one dimension φ(q) cancels
      const int T = 3 + choice * 2;
      AttentionCase c(T, T, 0, 2, choice % 3 ? 2 : 1, D, choice % 5 != 0, 60 + choice);
      c.plan.linear = true;
      if (choice & 1) REQUIRE(c.open_rotation(D / 2, choice & 4 ? Pairing::half : Pairing::interleaved));
      if (choice & 1 && choice & 2) REQUIRE(c.open_gain());
      CAPTURE(choice);
      CAPTURE(D);
      check(c);
    }
}

TEST_CASE("gradients of attention over several blocks and tiles") {
  AttentionCase c(205, 205, 0, 1, 1, 2, true, 3);
  REQUIRE(c.open_rotation(1, Pairing::interleaved));
  REQUIRE(c.open_bias(true));
  check(c, {}, 11);
  c.open_pattern(holes);
  check(c, {}, 11);
}

TEST_CASE("a bias of −∞ with a row scale gives finite gradients") {
  AttentionCase c(6, 6, 0, 1, 1, 4, true, 3);
  REQUIRE(c.open_bias(false));
  REQUIRE(c.open_scale());
  for (int i = 0; i < 6; i++) c.plan.bias.table[i * 6 + i / 2] = -infinity;
  Random random(1);
  Gradients g;
  REQUIRE(g.plan.bias.assign(c.plan.bias.table.size(), 0));
  REQUIRE(g.plan.scale.assign(c.plan.scale.size(), 0));
  REQUIRE(backward(c, {}, AttentionCase::normals(random, 6 * c.out_stride + 1), g));
  for (float x : g.plan.scale) CHECK(std::isfinite(x));
  for (float x : g.plan.bias) CHECK(std::isfinite(x));
  for (float x : g.dq) CHECK(std::isfinite(x));
}

// Gradients of every learned encoding against central differences, through attention, past the trained length.
#include "encoding_case.h"
#include "gradient.h"

using namespace lw;
using namespace lw::test;

namespace {

constexpr int trained = 3, longer = 5;
// The outputs are rounded to float: a difference of two losses over 2h is off by some 10⁻⁵.
constexpr double tolerance = 5e-3, smallest = 1e-2;

// loss = fixed numbers · attention's output + fixed numbers · what enters at the input door
struct Problem {
  BoundStack bound;
  Inputs in;
  Plan plan;
  Terms terms;
  std::vector<float> out_weight, input_weight;

  Problem(const std::string& spec, const Shape& s, int length)
      : bound(spec, s), in(s, length), plan(bound.plan(length)), terms(bound.stack.content()),
        out_weight(wave(in.q.size(), 1.1, 0.7)), input_weight(wave(plan.input.size(), 0.9, 0.5)) {
    // The score of CoPE has a kink wherever a position is a whole number. With nearly equal raw scores, about −0.6, all
    // positions keep away from these.
    if (spec.find("cope") != spec.npos) {
      for (float& x : in.q) x = 1 + 0.02f * x;
      for (float& x : in.k) x = -0.3f + 0.02f * x;
    }
    // A leaky ReLU has one where its sum is 0: the units' biases, ±6, outweigh their inputs.
    if (spec.starts_with("data_dependent"))
      for (size_t unit = 0; unit < bound.values[1].size(); unit++) bound.values[1][unit] = unit % 2 ? 6 : -6;
    // A ReLU has one where its sum is 0. FIRE's units begin at 0.2, far from all inputs: these are 0, or 0.36 and more.
    if (spec == "fire")
      for (size_t unit = 0; unit < bound.values[0].size(); unit++) {
        float& weight = bound.values[0][unit];
        weight += std::copysign(0.3f, weight), bound.values[1][unit] = -0.2f * weight;
      }
  }
  double loss() {
    Error e = bound.stack.plan(in.N, 0, nullptr, plan, some_text());
    REQUIRE_MESSAGE(!e, e.text);
    const std::vector<float> out = attend(in, plan, terms, in.N);
    double sum = 0;
    for (size_t i = 0; i < out.size(); i++) sum += double(out_weight[i]) * out[i];
    for (size_t i = 0; i < input_weight.size(); i++) sum += double(input_weight[i]) * plan.input[i];
    return sum;
  }

  std::vector<float> dq, dk, dv, dx;
  void backward() {
    loss();
    const AttentionInput input = in.attention(0, in.N);
    const Sequence tokens = in.sequence(0, in.N);
    const ptrdiff_t stride = in.s.heads * in.s.head_dim;
    std::vector<float> out(in.q.size()), lse(size_t(in.N) * in.s.heads);
    dq.assign(in.q.size(), 0), dk.assign(in.k.size(), 0), dv.assign(in.v.size(), 0), dx.assign(in.x.size(), 0);
    AttentionScratch scratch;
    PlanGradient gradient;
    REQUIRE(!bound.stack.size_gradient(plan, gradient));
    for (size_t i = 0; i < gradient.input.size(); i++) gradient.input[i] += input_weight[i];
    for (auto& term : terms) {
      REQUIRE(term->begin(in.N));
      REQUIRE(term->sequence(tokens));
    }
    REQUIRE(attention(input, plan, terms, out.data(), stride, lse.data(), scratch));
    REQUIRE(attention_backward(input, plan, terms, out.data(), out_weight.data(), stride, lse.data(),
                               {dq.data(), dk.data(), dv.data(), &gradient}, scratch));
    for (auto& term : terms) term->sequence_backward(tokens, dx.data(), dq.data(), dk.data()), term->end_backward();
    REQUIRE(!bound.stack.plan_backward(plan, 0, gradient));
  }

  void check() {
    backward();
    auto compare = [&](const char* name, std::vector<float>& p, const std::vector<float>& gradient) {
      check_gradient(name, p.size(), p.data(), gradient.data(), [&] { return loss(); }, tolerance, smallest);
    };
    for (size_t n = 0; n < bound.values.size(); n++) compare(bound.stack.parameters()[n]->name, bound.values[n], bound.gradients[n]);
    compare("q", in.q, dq), compare("k", in.k, dk), compare("v", in.v, dv);
    if (!terms.empty()) compare("x", in.x, dx);
  }
};

void check(const std::string& spec) {
  CAPTURE(spec);
  int possible = 0;
  for (bool causal : {true, false}) {
    CAPTURE(causal);
    const Shape s = shape(3, 4, 5, trained, causal, causal ? 1 : 3);
    Stack stack;
    if (Stack::make(spec, s, stack)) continue;
    possible++;
    if (stack.parameters().empty()) continue;
    // A table without rows past the trained length is checked on the length that it has.
    const bool table = can_overflow(stack.encodings()[0]->descriptor()) && spec.find("clamp") == spec.npos && spec.find("interpolate") == spec.npos;
    Problem(spec, s, table ? trained : longer).check();
  }
  CHECK(possible);
}

// The encoding as it is, and with each of its flags and choices.
std::vector<std::string> variants(const Descriptor& d) {
  std::vector<std::string> specs = {d.name};
  for (auto& option : d.options) {
    const std::string with = std::string(d.name) + ":" + option.name + "=";
    if (option.kind == Option::flag) specs.push_back(with + (option.initial ? "false" : "true"));
    if (option.kind != Option::choice) continue;
    std::string choice;
    for (const char* c = option.choices;; c++) {
      if (*c && *c != '|') { choice += *c; continue; }
      specs.push_back(with + choice);
      choice.clear();
      if (!*c) break;
    }
  }
  return specs;
}

}  // namespace

TEST_CASE("gradients of every learned encoding") {
  for (auto& entry : catalogue())
    for (auto& spec : variants(*entry.descriptor)) check(spec);
}

TEST_CASE("gradients where tables end, and of stacks") {
  for (const char* spec : {"cope:positions=2", "shaw:clip=2", "transformer_xl:clamp_len=2", "t5:buckets=4:max_distance=5",
                           "rope:learned=true:fraction=0.5", "learned:overflow=interpolate:normalize=true", "rope+cope",
                           "learned_bias:clip=2", "rope:learned=true+t5+forget_gate+log_n", "shaw+window:width=3", "transformer_xl+window:width=2",
                           "sinusoidal+learned:overflow=clamp+alibi+t5", "random_sorted:max=9+t5:buckets=4:max_distance=5",
                           "random_sorted:max=9+rope:learned=true", "deberta:clip=2+rope", "pope:base=20+forget_gate+log_n", "path+window:width=3",
                           "path+window:width=2+sinks:count=1", "content_bias+cable+alibi", "data_dependent:hidden=3+window:width=3+forget_gate", "hierarchical:rows=2", "hierarchical:rows=2:overflow=clamp:alpha=0.7",
                           "ssmax:bias=true+log_n:unclipped=true+temperature:floor=2", "ssmax+dilated:width=2+sinks:count=1",
                           "random_sorted:max=9+learned_bias:clip=3", "interpolated:factor=1.5+learned_bias:clip=2",
                           "kerple_log+kerple_power+alibi", "rope:learned=true+linear_attention", "sinusoidal+learned_frequency+linear_attention",
                           "interpolated:factor=1.5+learned_frequency+hierarchical",
                           "grouped:group=2:window=3+rope:learned=true+t5:buckets=4:max_distance=5",
                           "chunked:length=6:chunk=3+rope:learned=true+cope", "grid:columns=3:rows=2:text=2+rope:learned=true"})
    check(spec);
}

TEST_CASE("FIRE within the length trained on goes by distance alone, with the same biases and gradients") {
  const Shape s = shape(3, 4, 5, 24);  // m·L is 6.2
  Problem near("fire", s, longer);
  CHECK(near.plan.bias.row_stride == -1);
  near.check();
  std::vector<double> positions(longer + 1);
  for (int i = 0; i < longer; i++) positions[i] = i;
  positions[longer] = 1000;
  const Plan far = near.bound.plan(positions);
  REQUIRE(far.bias.triangular);
  for (int h = 0; h < 3; h++)
    for (int i = 0; i < longer; i++)
      for (int j = 0; j <= i; j++) CHECK(near.plan.bias.row(h, i)[j] == doctest::Approx(far.bias.row(h, i)[j]).epsilon(1e-6));
}

// One pass forward and backward with each, in the kernels and in decoding.
TEST_CASE("the window as a bias equals the window as a pattern") {
  for (bool causal : {true, false})
    for (int length : {5, 67, 130})
      for (int width : {1, 2, 3, 33, 500}) {
        CAPTURE(causal);
        CAPTURE(length);
        CAPTURE(width);
        const Shape s = shape(3, 4, 5, trained, causal);
        Problem bias("window_penalty:width=" + std::to_string(width), s, length), pattern("window:width=" + std::to_string(width), s, length);
        bias.backward(), pattern.backward();
        auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
          for (size_t n = 0; n < a.size(); n++) CHECK(a[n] == doctest::Approx(b[n]).epsilon(1e-5).scale(1));
        };
        same(bias.dq, pattern.dq), same(bias.dk, pattern.dk), same(bias.dv, pattern.dv);
        same(attend(bias.in, bias.plan, {}, length), attend(pattern.in, pattern.plan, {}, length));
        if (causal) same(attend(bias.in, bias.plan, {}, 3), attend(pattern.in, pattern.plan, {}, 3));
        int different = 0;  // keys
        for (int i = 0; i < length; i++) {
          const Interval keys = pattern.plan.pattern.intervals[i];
          for (int j = 0; j < (causal ? i + 1 : length); j++)
            different += (bias.plan.bias.row(2, i)[j] == 0) != (keys.first <= j && j < keys.last);
        }
        CHECK(different == 0);
      }
}

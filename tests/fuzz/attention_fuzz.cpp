// Text → stack → plan → attention and its way back: specs of any kind, small shapes, any numbers on the tokens.
#include "compare.h"

using namespace lw;
using namespace lw::fuzz;

static void go_back(Stack& stack, const Problem& problem, const Plan& plan, Contents contents, const std::string& spec) {
  const AttentionInput in = problem.input(0, problem.length);
  std::vector<float> out(problem.q.size()), lse(size_t(in.queries) * in.heads), dq(out.size()), dk(problem.k.size()), dv(dk.size()), dx(problem.x.size());
  AttentionScratch scratch;
  PlanGradient gradient;
  if (refused(stack.size_gradient(plan, gradient))) return;
  const bool fits = attention(in, plan, contents, out.data(), in.q_stride, lse.data(), scratch) &&
                    attention_backward(in, plan, contents, out.data(), problem.q.data(), in.q_stride, lse.data(), {dq.data(), dk.data(), dv.data(), &gradient}, scratch);
  expect(fits, spec + ": out of memory");
  for (auto& term : contents) term->sequence_backward(problem.sequence(), dx.data(), dq.data(), dk.data()), term->end_backward();
  refused(stack.plan_backward(plan, 0, gradient));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  const Shape s = shape(in);
  const std::string text = spec(in);
  Stack stack;
  if (refused(Stack::make(text, s, stack)) || parameter_count(stack) > 1 << 18) return 0;
  Stack again;
  expect(!Stack::make(stack.spec(), s, again) && again.spec() == stack.spec(), text + " is not " + stack.spec());

  Random random(in.seed());
  std::vector<float> values(parameter_count(stack)), gradients(values.size());
  float *value = values.data(), *g = gradients.data();
  for (Parameter* p : stack.parameters()) p->value = value, p->gradient = g, value += p->size(), g += p->size();
  stack.initialise(random);
  const double spread = in.below(3);
  for (float& v : values) v += float(spread * random.normal());
  stack.project();

  const int length = in.from(1, 40), present = in.below(4) ? 0 : in.from(length, 4 * length);
  std::vector<int> tokens(length);
  for (int& t : tokens) t = in.below(3) ? in.below(256) : int(in.word() & INT_MAX);
  const std::vector<double> numbers = positions(in, length);
  Plan plan;
  Random draws(3);
  if (refused(stack.plan(numbers, present, in.below(4) ? nullptr : &draws, plan, tokens.data()))) return 0;
  check_plan(plan, s, stack.spec());

  const Problem problem(s, length, random, in.below(4) ? 1 : 8);
  auto contents = stack.content();
  for (auto& term : contents) expect(term->begin(length) && term->sequence(problem.sequence()), text + ": out of memory");
  const int first = in.below(2) ? 0 : in.below(length);
  compare(problem, plan, contents, first, in.from(1, length - first), stack.spec());
  compare(problem, plan, contents, 0, length, stack.spec());
  go_back(stack, problem, plan, contents, stack.spec());
  return 0;
}

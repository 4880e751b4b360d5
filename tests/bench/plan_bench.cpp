// What a plan costs beside one attention pass: every encoding of the catalogue, T 1024, 8 heads of 64, causal, into the
// same memory again and again, as a model does. Plan and attention take turns; medians of many, in processor time, so that
// a busy machine is no excuse (in WebAssembly that is the time on the wall).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "../native/attention_case.h"
#include "position/stack.h"

using namespace lw;
using namespace lw::test;

namespace {

constexpr int length = 1024, heads = 8, head_dim = 64, rounds = 9;

template <class F>
double microseconds(F f) {
#if defined(__wasm__)
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  if (!f()) std::abort();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
#else
  const std::clock_t start = std::clock();
  if (!f()) std::abort();
  return 1e6 * double(std::clock() - start) / CLOCKS_PER_SEC;
#endif
}
double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The pass is one without positions, so that the ratio is against the same time for all.
void measure(const AttentionCase& c, const std::string& spec, int trained_length) {
  Shape shape;
  shape.heads = shape.kv_heads = heads, shape.head_dim = head_dim, shape.width = heads * head_dim, shape.trained_length = trained_length;
  Stack stack;
  if (Error e = Stack::make(spec, shape, stack)) return void(std::printf("%-18s %s\n", spec.c_str(), e.text.c_str()));
  std::vector<std::vector<float>> values;
  for (Parameter* p : stack.parameters()) values.emplace_back(p->size()), p->value = values.back().data();
  Random random(1);
  stack.initialise(random);

  Plan plan;
  AttentionScratch scratch;
  std::vector<float> out(size_t(length) * heads * head_dim);
  std::vector<int> tokens(length);  // for encodings that look at them
  for (int i = 0; i < length; i++) tokens[i] = 44 + i * 5 % 14;
  std::vector<double> planning, attending;
  for (int round = 0; round < rounds + 1; round++) {
    Error error;
    const double planned = microseconds([&] { return !(error = stack.plan(length, 0, nullptr, plan, tokens.data())); });
    const double attended = microseconds([&] { return attention(c.input(), c.plan, {}, out.data(), heads * head_dim, nullptr, scratch); });
    if (round) planning.push_back(planned), attending.push_back(attended);  // the first one finds its memory
  }
  const double p = median(planning), a = median(attending);
  std::printf("%-18s L %5d   plan %9.1f us   attention %9.1f us   %6.2f %%\n", spec.c_str(), trained_length, p, a, 100 * p / a);
}

}  // namespace

int main(int count, char** specs) {  // all of them, or those that are named
  AttentionCase c(length, length, 0, heads, heads, head_dim, true, 1);
  for (int n = 1; n < count; n++) measure(c, specs[n], length), measure(c, specs[n], length / 2);
  if (count > 1) return 0;
  for (auto& entry : catalogue()) measure(c, entry.descriptor->name, length);
  for (const char* spec : {"fire", "learned:overflow=interpolate"}) measure(c, spec, length / 2);
}

// Encodings from outside: definitions that may be wrong, tables of any numbers, faults in the midst of a plan.
#include "compare.h"
#include "position/custom.h"

using namespace lw;
using namespace lw::fuzz;

namespace {

// Fills tables from a generator: most often mild numbers, sometimes anything a double can be, sometimes a fault.
class Noise final : public TableSource {
 public:
  Noise(uint64_t seed, int wildness, const Shape& s, int pairs) : random_(seed), wildness_(wildness), heads_(s.heads), width_(s.width), pairs_(pairs) {}
  Error ids(std::span<double> p) override { return fill(p.data(), p.size()); }
  Error input(std::span<const double> p, double* out) override { return fill(out, p.size() * width_); }
  Error rotation(std::span<const double> p, double* out) override { return fill(out, p.size() * pairs_); }
  Error bias(double, std::span<const double> d, double* out) override { return fill(out, d.size() * heads_); }
  Error scale(std::span<const int> seen, double* out) override { return fill(out, seen.size() * heads_); }
  Error pattern(int, std::span<unsigned char> seen) override {
    for (auto& each : seen) each = random_.below(3) == 0;
    return fault();
  }

 private:
  Error fault() { return wildness_ > 1 && random_.below(8) == 0 ? Error{"Encoding: noise threw"} : Error{}; }
  Error fill(double* out, size_t n) {
    for (size_t i = 0; i < n; i++) {
      out[i] = 2 * random_.normal();
      if (wildness_ && random_.below(64) == 0) out[i] *= std::exp2(double(random_.below(2200)) - 1100);
      if (wildness_ > 1 && random_.below(64) == 0) out[i] /= 0.0;
    }
    return fault();
  }
  Random random_;
  int wildness_, heads_, width_, pairs_;
};

CustomEncoding definition(Input& in) {
  CustomEncoding c;
  c.name = in.below(8) ? "noise" : in.text(44);
  if (in.once_in(16)) c.name = catalogue()[in.below(int(catalogue().size()))].descriptor->name;
  c.title = c.title_zh = in.text(5);
  c.doors = in.below(8) ? unsigned(in.below(128)) & ~unsigned(Door::content) : in.word();
  c.bias_by_row = in.below(2);
  const int some[] = {0, 0, 0, 1, 2, 4, 1 << 30, INT_MAX};
  c.pairs = some[in.below(8)], c.pairing = in.below(2) ? Pairing::half : Pairing::interleaved;
  for (int n = in.below(4); n > 0; n--) {
    CustomOption o;
    o.kind = Option::Kind(in.below(4)), o.name = in.below(8) ? std::string(1, char('a' + n)) : in.text(4);
    if (o.kind == Option::choice) o.choices = "left|right", o.most = 1;
    else o.least = in.number(-1e300, 0), o.most = in.number(0, 1e300);
    o.meaning = in.text(3);
    c.options.push_back(std::move(o));
  }
  const uint64_t seed = in.seed();
  const int wildness = in.below(4);
  c.tables = [seed, wildness, pairs = c.pairs](const Shape& s, const Options&) {
    return std::make_unique<Noise>(seed, wildness, s, pairs ? pairs : s.head_dim / 2);
  };
  return c;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  const CustomEncoding c = definition(in);
  if (refused(register_encoding(c))) return 0;
  expect(refused(register_encoding(c)) && !register_encoding(c, true), "registered twice");
  const Shape s = shape(in);
  std::string text = c.name;
  for (auto& o : c.options)
    if (in.below(2)) text += ":" + o.name + "=" + option_text(in, {o.kind, o.name.c_str(), o.initial, o.least, o.most, o.choices.c_str(), "", ""});
  const char* beside[] = {"", "+alibi", "+rope", "+window:width=3", "+log_n", "+shaw:clip=2", "+random_sorted:max=64", "+grouped:window=3:group=2"};
  text += beside[in.below(8)];
  Stack stack;
  const bool made = !refused(Stack::make(text, s, stack));
  expect(unregister_encoding(c.name) && !unregister_encoding(c.name), "not unregistered");
  if (!made || parameter_count(stack) > 4096) return 0;
  std::vector<float> values(parameter_count(stack), 0.1f);
  for (float* value = values.data(); Parameter* p : stack.parameters()) p->value = value, value += p->size();

  const int length = in.from(1, 24);
  const std::vector<double> numbers = positions(in, length);
  Random random(in.seed());
  const Problem problem(s, length, random, 1);
  for (int time = 0; time < 2; time++) {  // what failed once must not stay behind
    Plan plan;
    if (refused(stack.plan(numbers, 0, nullptr, plan))) continue;
    check_plan(plan, s, text);
    auto contents = stack.content();
    for (auto& term : contents) expect(term->begin(length) && term->sequence(problem.sequence()), text + ": out of memory");
    const int first = in.below(length);
    compare(problem, plan, contents, first, in.from(1, length - first), text);
  }
  return 0;
}

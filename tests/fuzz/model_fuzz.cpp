// Models and what files hold of them: any configuration, any bits for weights and for the state of training. Each is refused
// in a sentence, or computes.
#include <cstring>

#include "compare.h"
#include "model/trainer.h"

using namespace lw;
using namespace lw::fuzz;

namespace {

ModelConfig configuration(Input& in) {
  ModelConfig c;
  const Shape s = shape(in);
  c.vocabulary = in.from(2, 40), c.heads = s.heads, c.kv_heads = s.kv_heads, c.width = s.heads * std::min(s.head_dim, 6), c.layers = in.from(1, 4);
  c.hidden = in.from(1, 20), c.trained_length = s.trained_length, c.causal = s.causal;
  c.norm = in.below(2) ? Norm::rms : Norm::layer, c.activation = in.below(2) ? Activation::gelu : Activation::swiglu, c.tied = in.below(2);
  c.encoding = spec(in);
  if (in.once_in(4)) c.encoding += "|" + spec(in);
  int* const sizes[] = {&c.vocabulary, &c.heads, &c.kv_heads, &c.width, &c.layers, &c.hidden, &c.trained_length};
  const int wrong[] = {0, -1, INT_MAX, INT_MIN, 7, 1 << 20};
  if (in.once_in(8)) *sizes[in.below(7)] = wrong[in.below(6)];
  return c;
}

// How many numbers the encodings of the layers learn.
double learned(const ModelConfig& c) {
  double all = 0;
  for (std::string_view rest = c.encoding; !rest.empty();) {
    Stack stack;
    if (!refused(Stack::make(take_until(rest, '|'), c.shape(), stack))) all += double(parameter_count(stack)) * (stack.per_layer() ? c.layers : 1);
  }
  return all;
}

float any_float(Input& in) {
  const uint32_t bits = in.word();
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

std::vector<int> tokens(Input& in, int count, int vocabulary) {
  std::vector<int> out(count);
  for (int& t : out) t = in.below(vocabulary);
  if (in.once_in(16)) out[in.below(count)] = int(in.word());
  return out;
}

// What the TypeScript lets through of a file (checkState): a step, two generators, three doubles, then finite moments, squares not below 0.
void restore(Input& in, Trainer& trainer) {
  struct { int64_t step; uint64_t generators[4]; double latest[3]; } header;
  header.step = int64_t(in.seed() >> (in.below(2) ? 11 : 50));
  for (int n = 0; n < 4; n++) header.generators[n] = in.seed() | (n & 1);
  for (double& x : header.latest) x = in.number(-1e300, 1e300);
  std::memcpy(trainer.state(), &header, sizeof header);
  const size_t moments = (trainer.state_bytes() - sizeof header) / 4;
  for (int n = in.below(20); n > 0; n--) {
    const size_t at = in.word() % moments;
    float x = any_float(in);
    if (!std::isfinite(x)) x = 1e38f;
    if (at >= moments / 2) x = std::fabs(x);
    std::memcpy(trainer.state() + sizeof header + 4 * at, &x, 4);
  }
  trainer.restore();
}

void train(Input& in, Transformer& model) {
  TrainConfig config;
  config.optimiser.steps = 1 + int64_t(in.number(0, 1e9)), config.optimiser.warm_up = int64_t(in.number(0, 1e9)), config.optimiser.clip = float(in.number(0, 1e9));
  std::unique_ptr<Trainer> trainer;
  if (refused(Trainer::make(model, config, 1, trainer))) return;
  if (in.below(2)) restore(in, *trainer);
  const int batch = in.from(1, 3), length = in.from(1, 12);
  for (int steps = in.from(1, 2); steps > 0; steps--) refused(trainer->step(tokens(in, batch * (length + 1), model.config().vocabulary).data(), nullptr, batch, length));
  trainer->save();
}

// In one pass and in pieces: the same logits where nothing depends on how many tokens there are.
void run(Input& in, Transformer& model, bool comparable) {
  const int count = in.from(1, 20), vocabulary = model.config().vocabulary;
  const std::vector<int> text = tokens(in, count, vocabulary);
  std::vector<float> all(size_t(count) * vocabulary), last(vocabulary);
  const bool whole = !refused(model.logits_of(text.data(), count, all.data()));
  if (!model.config().causal) return;
  for (int done = 0, n; done < count; done += n) {
    n = in.from(1, count - done);
    if (refused(model.feed(text.data() + done, n, last.data()))) return;
  }
  for (auto& stack : model.stacks()) comparable = comparable && !stack.length_dependent();
  for (const char* name : {"random_", "interpolate"}) comparable = comparable && model.config().encoding.find(name) == std::string::npos;
  const float* wanted = all.data() + size_t(count - 1) * vocabulary;
  for (int v = 0; v < vocabulary && whole && comparable; v++)
    if (!(std::fabs(last[v] - wanted[v]) <= 1e-3 * (1 + std::fabs(wanted[v]))))
      fail(model.config().encoding + ": decoded logits[" + std::to_string(v) + "] are " + number_text(last[v]) + ", in one pass " + number_text(wanted[v]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  const ModelConfig config = configuration(in);
  if (refused(check(config))) return 0;
  if (double(config.vocabulary) * config.width > 1 << 16 || config.layers > 8 || learned(config) > 1 << 16) return 0;  // large ones are for other tests
  std::unique_ptr<Transformer> model, packed;
  if (refused(Transformer::make(config, in.seed(), model))) return 0;
  const bool spoilt = in.below(3) == 0;
  if (spoilt) {
    for (int n = in.from(1, 20); n > 0; n--) model->parameters()[in.word() % model->parameter_count()] = any_float(in);
    model->parameters_changed();
  }
  run(in, *model, !spoilt);
  if (in.below(2)) train(in, *model);
  run(in, *model, false);
  if (!refused(model->quantised(in.below(2) ? Precision::f16 : Precision::int8, packed))) run(in, *packed, false);
  return 0;
}

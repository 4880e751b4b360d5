// The whole model, for every encoding of the catalogue: gradients, decoding, resuming.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "lab/run.h"
#include "model/sampling.h"
#include "nn/loss.h"

using namespace lw;

namespace {

ModelConfig small(const std::string& encoding) {
  ModelConfig c;
  c.vocabulary = 11, c.width = 12, c.layers = 2, c.heads = 3, c.kv_heads = 3, c.hidden = 10, c.trained_length = 9, c.encoding = encoding;
  return c;
}

std::vector<int> some_tokens(int count, int vocabulary) {
  std::vector<int> t(count);
  Random r(5);
  for (int& x : t) x = int(r.below(vocabulary));
  return t;
}

std::unique_ptr<Transformer> make(const ModelConfig& c, uint64_t seed = 3) {
  std::unique_ptr<Transformer> model;
  Error e = Transformer::make(c, seed, model);
  REQUIRE_MESSAGE(!e, e.text);
  // Parameters that start at zero or at a symmetric point would hide faults.
  Random r(seed, 99);
  for (size_t i = 0; i < model->parameter_count(); i++) model->parameters()[i] += float(0.05 * r.normal());
  for (auto& stack : model->stacks()) stack.project();
  return model;
}

// What an encoding needs to be seen at its best in a stack with nothing else.
std::vector<std::string> specs() {
  std::vector<std::string> all;
  for (auto& entry : catalogue()) all.push_back(entry.descriptor->name);
  for (const char* s : {"rope:learned=true", "random_sorted:max=40+alibi", "forget_gate+rope:pairing=half", "window:width=3|rope+log_n",
                        "learned:normalize=true+shaw", "learned:overflow=interpolate", "transformer_xl:clamp_len=4",
                        "grouped:group=2:window=3+rope:learned=true",
                        "rectified:window=4:leaky=true+alibi", "chunked:length=8:chunk=5+rope+t5", "shifted:shift=5:window=2+rope:pairing=half",
                        "digits:digit=1;2;5:offset=3+sinusoidal", "bilevel:separator=3:rows=4+rope:learned=true", "bilevel:separator=2+alibi|cope",
                        "conditional+rope", "sparse:at=2;5+alibi", "global:at=3;7+window:width=2", "rope|global:at=1", "rope+linear_attention", "linear_attention+sinusoidal|rope", "dynamic_ntk+linear_attention",
                        "grid:columns=3:rows=2:text=2+rope",
                        "random_sorted+rope", "random_sorted:evaluation=evenly+sinusoidal", "random_linspace:evaluation=fresh+alibi"})
    all.push_back(s);
  return all;
}

// tokens [batch][length + 1] without the last of each row.
std::vector<int> inputs_of(const std::vector<int>& tokens, int batch, int length) {
  std::vector<int> inputs;
  for (int b = 0; b < batch; b++) inputs.insert(inputs.end(), &tokens[b * (length + 1)], &tokens[b * (length + 1)] + length);
  return inputs;
}

double loss_of(Transformer& model, const std::vector<int>& tokens, int batch, int length) {
  model.parameters_changed();
  Error e = model.forward(inputs_of(tokens, batch, length).data(), batch, length, true, nullptr);
  REQUIRE_MESSAGE(!e, e.text);
  int rows = batch * length, V = model.config().vocabulary;
  std::vector<float> logits(size_t(rows) * V);
  model.logits(0, rows, logits.data());
  double total = 0;
  for (int r = 0; r < rows; r++) {  // in double, so that differences are clean
    const float* x = &logits[size_t(r) * V];
    double sum = 0;
    for (int i = 0; i < V; i++) sum += std::exp(double(x[i]));
    total += std::log(sum) - x[tokens[size_t(r) / length * (length + 1) + r % length + 1]];
  }
  return total / rows;
}

// Gradient of loss_of, through backward.
std::vector<float> gradient_of(Transformer& model, const std::vector<int>& tokens, int batch, int length) {
  int rows = batch * length, V = model.config().vocabulary, d = model.config().width;
  std::vector<float> g(model.parameter_count()), logits(size_t(rows) * V), dnorm(size_t(rows) * d), weights(rows, 1.f / rows);
  model.bind(g.data());
  auto inputs = inputs_of(tokens, batch, length);
  REQUIRE(!model.forward(inputs.data(), batch, length, true, nullptr));
  std::vector<int> targets(rows);
  for (int r = 0; r < rows; r++) targets[r] = tokens[size_t(r) / length * (length + 1) + r % length + 1];
  model.logits(0, rows, logits.data());
  cross_entropy_backward(logits.data(), nullptr, targets.data(), weights.data(), rows, V);
  const float* head = model.parameters() + model.head_offset();
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < V; v++)
      for (int i = 0; i < d; i++) {
        dnorm[size_t(r) * d + i] += logits[size_t(r) * V + v] * head[v * d + i];
        g[model.head_offset() + v * d + i] += logits[size_t(r) * V + v] * model.activations().norm[size_t(r) * d + i];
      }
  Error e = model.backward(inputs.data(), batch, length, dnorm.data(), g.data());
  REQUIRE_MESSAGE(!e, e.text);
  return g;
}

}  // namespace

// Directional derivatives: for each tensor a random direction u, (L(p + εu) − L(p − εu)) / 2ε against g·u.
static void check_gradients(const ModelConfig& config) {
  auto model = make(config);
  const int batch = 2, length = 7;
  auto tokens = some_tokens(batch * (length + 1), config.vocabulary);
  auto g = gradient_of(*model, tokens, batch, length);
  Random r(17);
  for (auto& t : model->tensors()) {
    CAPTURE(config.encoding);
    CAPTURE(t.name);
    float* p = model->parameters() + t.offset;
    std::vector<float> kept(p, p + t.size());
    double best = 1e30, size = 0;
    // A difference is exact only up to rounding (small ε) and curvature or kinks (large ε): some ε must agree.
    for (double epsilon : {0.02, 0.005, 0.00125}) {
      double analytic = 0, norm = 0;
      std::vector<double> u(t.size());
      for (auto& x : u) x = r.normal(), norm += x * x;
      for (size_t i = 0; i < u.size(); i++) u[i] /= std::sqrt(norm);
      for (size_t i = 0; i < u.size(); i++) p[i] = float(kept[i] + epsilon * u[i]), u[i] = (double(p[i]) - kept[i]) / epsilon;
      double up = loss_of(*model, tokens, batch, length);
      for (size_t i = 0; i < u.size(); i++) p[i] = float(kept[i] - epsilon * u[i]);
      double down = loss_of(*model, tokens, batch, length);
      for (size_t i = 0; i < u.size(); i++) p[i] = kept[i], analytic += u[i] * g[t.offset + i];
      double numeric = (up - down) / (2 * epsilon);
      if (std::abs(numeric - analytic) < best) best = std::abs(numeric - analytic), size = std::abs(numeric);
    }
    CHECK(best < 2e-4 + 2e-2 * size);
  }
}

TEST_CASE("model: gradients equal central differences for every encoding") {
  for (auto& spec : specs()) check_gradients(small(spec));
}

TEST_CASE("model: gradients of every kind of layer") {
  ModelConfig c = small("rope");
  c.heads = 2, c.kv_heads = 1, c.activation = Activation::swiglu, c.tied = false;
  check_gradients(c);
  c.norm = Norm::layer, c.causal = false, c.encoding = "alibi";
  check_gradients(c);
}

TEST_CASE("model: decoding with a cache equals one pass, in any chunking, for every encoding") {
  for (auto& spec : specs()) for (int trained : {24, 13}) {
    CAPTURE(spec);
    ModelConfig c = small(spec);
    c.trained_length = trained;
    // Its later layers keep what they made of a token when there were fewer, unless all is computed again for each token.
    if (spec.starts_with("dynamic_ntk") && trained < 21) c.layers = 1;
    auto model = make(c);
    auto tokens = some_tokens(21, c.vocabulary);
    std::vector<float> whole(21 * c.vocabulary), last(c.vocabulary);
    // Numbers, frequencies or vectors that depend on the length: each prefix has logits of its own.
    bool per_length = model->stack(0).counts_tokens() || model->stack(0).length_dependent() || spec.find("interpolate") != spec.npos;
    const Error refused = model->logits_of(tokens.data(), 21, whole.data());
    if (refused && trained < 21 && spec.starts_with("learned")) continue;
    REQUIRE_MESSAGE(!refused, refused.text);
    for (std::vector<int> chunks : {std::vector<int>(21, 1), {21}, {5, 1, 1, 9, 2, 3}, {20, 1}}) {
      model->reset_cache();
      int at = 0;
      for (int n : chunks) {
        Error e = model->feed(tokens.data() + at, n, last.data());
        REQUIRE_MESSAGE(!e, e.text);
        at += n;
        if (per_length) REQUIRE(!model->logits_of(tokens.data(), at, whole.data()));
        for (int v = 0; v < c.vocabulary; v++) CHECK(last[v] == doctest::Approx(whole[(at - 1) * c.vocabulary + v]).epsilon(2e-4));
      }
    }
  }
}

TEST_CASE("model: tokens that are refused leave the cache as it was") {
  for (const char* spec : {"random_sorted:max=40+rope", "learned+rope", "random_sorted:max=40+sinusoidal|rope"}) {
    CAPTURE(spec);
    ModelConfig c = small(spec);
    c.trained_length = 40;
    auto model = make(c);
    const auto tokens = some_tokens(60, c.vocabulary);
    std::vector<float> whole(60 * c.vocabulary), last(c.vocabulary);
    REQUIRE(!model->feed(tokens.data(), 20, last.data()));
    for (int again = 0; again < 2; again++) CHECK(bool(model->feed(tokens.data() + 20, 30, last.data())));
    REQUIRE(!model->feed(tokens.data() + 20, 3, last.data()));
    REQUIRE(!model->logits_of(tokens.data(), 23, whole.data()));
    for (int v = 0; v < c.vocabulary; v++) CHECK(last[v] == doctest::Approx(whole[22 * c.vocabulary + v]).epsilon(2e-4));
  }
}

TEST_CASE("model: no causal leak: a later token changes nothing before it, for every encoding") {
  for (auto& spec : specs()) {
    CAPTURE(spec);
    ModelConfig c = small(spec);
    auto model = make(c);
    auto tokens = some_tokens(9, c.vocabulary);
    std::vector<float> before(9 * c.vocabulary), after(9 * c.vocabulary);
    REQUIRE(!model->logits_of(tokens.data(), 9, before.data()));
    tokens[6] = (tokens[6] + 1) % c.vocabulary;
    REQUIRE(!model->logits_of(tokens.data(), 9, after.data()));
    CHECK(std::memcmp(before.data(), after.data(), 6 * c.vocabulary * sizeof(float)) == 0);
    CHECK(std::memcmp(before.data() + 6 * c.vocabulary, after.data() + 6 * c.vocabulary, c.vocabulary * sizeof(float)) != 0);
  }
}

TEST_CASE("model: a plan stands until length or parameters change") {
  for (auto& spec : specs()) {
    CAPTURE(spec);
    const ModelConfig c = small(spec);
    auto model = make(c), fresh = make(c);
    const auto tokens = some_tokens(9, c.vocabulary);
    auto logits = [&](Transformer& m, int count) {
      std::vector<float> out(size_t(count) * c.vocabulary);
      Error e = m.logits_of(tokens.data(), count, out.data());
      REQUIRE_MESSAGE(!e, e.text);
      return out;
    };
    const auto nine = logits(*model, 9), seven = logits(*model, 7);
    CHECK(logits(*model, 9) == nine);
    CHECK(logits(*fresh, 7) == seven);
    // A training pass may draw ids of its own, which must not stay.
    Random random(1);
    REQUIRE(!model->forward(tokens.data(), 1, 9, true, &random));
    CHECK(logits(*model, 9) == nine);
    for (auto* m : {model.get(), fresh.get()}) {
      for (auto& t : m->tensors()) if (t.position) for (size_t i = 0; i < t.size(); i++) m->parameters()[t.offset + i] += 0.25f;
      if (m == model.get()) m->parameters_changed();
    }
    CHECK(logits(*model, 9) == logits(*fresh, 9));
  }
}

static RunConfig quick(Task task) {
  RunConfig r;
  r.task = task, r.batch = 8, r.length = 16;
  r.train.optimiser.rate = 5e-3f, r.train.optimiser.warm_up = 10, r.train.optimiser.steps = 60;
  return r;
}

TEST_CASE("run: the loss falls on text for every encoding; training resumes to the same bits") {
  std::string text;
  for (int i = 0; i < 300; i++) text += "the cat sat on mat " + std::to_string(i % 10) + ". ";
  auto bytes = reinterpret_cast<const unsigned char*>(text.data());
  for (auto& spec : specs()) {
    CAPTURE(spec);
    ModelConfig c = small(spec);
    c.trained_length = 16;
    std::unique_ptr<Run> a, b;
    for (auto* run : {&a, &b}) {
      REQUIRE(!Run::make(c, quick(Task::text), *run));
      REQUIRE(!(*run)->source().set_text(bytes, text.size() / 2, bytes + text.size() / 2, text.size() / 2));
    }
    Error e = a->train(40);
    REQUIRE_MESSAGE(!e, e.text);
    CHECK(a->losses().back() < a->losses().front() * 0.7);
    // b takes over from a's parameters and state
    std::memcpy(b->model().parameters(), a->model().parameters(), a->model().parameter_count() * sizeof(float));
    a->trainer().save();
    std::memcpy(b->trainer().state(), a->trainer().state(), a->trainer().state_bytes());
    b->trainer().restore();
    REQUIRE(!a->train(5));
    REQUIRE(!b->train(5));
    CHECK(std::memcmp(a->model().parameters(), b->model().parameters(), a->model().parameter_count() * sizeof(float)) == 0);
    TestResult result;
    bool refuses = spec == "learned" || spec == "learned:normalize=true+shaw";
    e = a->test(32, 64, result);
    CHECK(bool(e) == refuses);  // a table ends at the trained length unless told to clamp or interpolate
    if (!e) CHECK(std::isfinite(result.loss));
  }
}

TEST_CASE("trainer: a batch of several sequences learns what one sequence would") {
  // A stream of period 8 is certain after its first token; inputs and targets that are not of the same sequence would
  // leave it at ln 8.
  for (int batch : {1, 2, 8}) {
    CAPTURE(batch);
    ModelConfig c = small("rope");
    c.width = 16, c.heads = 2, c.kv_heads = 2;
    auto model = make(c);
    TrainConfig config;
    config.optimiser.rate = 1e-2f, config.optimiser.warm_up = 5, config.optimiser.steps = 200;
    std::unique_ptr<Trainer> trainer;
    REQUIRE(!Trainer::make(*model, config, 1, trainer));
    const int length = 12;
    std::vector<int> tokens(batch * (length + 1));
    Random r(2);
    for (int step = 0; step < 150; step++) {
      for (int b = 0; b < batch; b++)
        for (int t = 0, start = int(r.below(8)); t <= length; t++) tokens[b * (length + 1) + t] = (start + t) * 3 % 8;
      REQUIRE(!trainer->step(tokens.data(), nullptr, batch, length));
    }
    CHECK(trainer->info().loss < 0.1);
  }
}

TEST_CASE("trainer: gradients gathered over parts of a batch are those of the whole batch") {
  for (const char* spec : {"rope", "sinusoidal+t5", "cope", "rope|alibi", "random_sorted+rope"})
    for (int at_once : {1, 2, 3, 5}) {
      CAPTURE(spec);
      CAPTURE(at_once);
      const int batch = 5, length = 7;
      auto whole = make(small(spec)), parts = make(small(spec));
      std::unique_ptr<Trainer> first, second;
      REQUIRE((!Trainer::make(*whole, {}, 1, first) && !Trainer::make(*parts, {}, 1, second)));
      const auto tokens = some_tokens(batch * (length + 1), whole->config().vocabulary);
      std::vector<float> weights(batch * length);  // uneven: a mean of the parts' means would be another number
      for (size_t r = 0; r < weights.size(); r++) weights[r] = float(r * r % 7);
      for (int step = 0; step < 3; step++) {
        REQUIRE(!first->step(tokens.data(), weights.data(), batch, length));
        REQUIRE(!second->step(tokens.data(), weights.data(), batch, length, at_once));
        CHECK(second->info().loss == doctest::Approx(first->info().loss).epsilon(1e-5));
        CHECK(second->info().gradient_norm == doctest::Approx(first->info().gradient_norm).epsilon(1e-4));
      }
    }
}

TEST_CASE("trainer: a step that is refused leaves nothing behind, not even what it reports") {
  auto model = make(small("rope"));
  std::unique_ptr<Trainer> trainer;
  REQUIRE(!Trainer::make(*model, {}, 1, trainer));
  const auto tokens = some_tokens(9, model->config().vocabulary);
  REQUIRE(!trainer->step(tokens.data(), nullptr, 1, 8));
  trainer->save();
  const std::string before(trainer->state(), trainer->state_bytes());
  model->parameters()[0] = 3e38f, model->parameters()[1] = INFINITY;
  model->parameters_changed();
  CHECK(trainer->step(tokens.data(), nullptr, 1, 8).text.find("not finite") != std::string::npos);
  trainer->save();
  CHECK(before == std::string(trainer->state(), trainer->state_bytes()));
}

TEST_CASE("tasks: copy and recall hold what they say") {
  for (Task task : {Task::copy, Task::recall}) {
    TaskSource source(task);
    for (int length : {8, 9, 16, 33, 64, 512}) {
      Batch b;
      source.test_sequence(3, 10, length, b);
      REQUIRE(int(b.tokens.size()) == length + 1);
      int answers = 0;
      for (int t = 0; t < length; t++) {
        CHECK(b.tokens[t] >= 0);
        CHECK(b.tokens[t] < source.vocabulary());
        if (b.weights[t] == 0) continue;
        answers++;
        int target = b.tokens[t + 1];
        if (task == Task::copy) CHECK(target == b.tokens[t - length / 2]);
        else {  // the key at t stands once before the separator, followed by the target
          int found = 0;
          for (int i = 0; i + 1 < t && b.tokens[i] != 48; i++) found += b.tokens[i] == b.tokens[t] && b.tokens[i + 1] == target;
          CHECK(found == 1);
        }
      }
      CHECK(answers == (task == Task::copy ? length / 2 : std::min(8, length / 4)));
    }
  }
}

TEST_CASE("tasks: the same bytes are tested at every length that divides a stretch") {
  std::vector<unsigned char> text(50000);
  Random r(4);
  for (auto& byte : text) byte = (unsigned char)r.below(256);
  TaskSource source(Task::text);
  REQUIRE(!source.set_text(text.data(), 100, text.data(), text.size()));
  auto targets = [&](int length) {
    std::vector<int> all;
    Batch b;
    for (int i = 0; i < 16384 / length; i++) {
      source.test_sequence(i, 16384 / length, length, b);
      all.insert(all.end(), b.tokens.begin() + 1, b.tokens.end());
    }
    return all;
  };
  auto expected = targets(1024);
  for (int length : {1, 64, 128, 512}) CHECK(targets(length) == expected);
  CHECK(targets(2048).size() == expected.size());
  CHECK(source.check_length("test length", 50000).text.find("50000") != std::string::npos);
  Batch b;
  source.test_sequence(0, 1, 49999, b);  // the longest there is
  CHECK(b.tokens[49999] == text[49999]);
}

TEST_CASE("sampling: greedy, top-k, top-p and temperature follow the distribution") {
  float logits[] = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  Random r(1);
  CHECK(sample(logits, 4, {0}, r) == 0);
  auto shares = [&](SamplingOptions o) {
    std::vector<double> n(4);
    for (int i = 0; i < 20000; i++) n[sample(logits, 4, o, r)] += 1 / 20000.0;
    return n;
  };
  auto all = shares({1});
  for (int i = 0; i < 4; i++) CHECK(all[i] == doctest::Approx(std::exp(logits[i])).epsilon(0.12));
  auto two = shares({1, 2});
  CHECK(two[0] == doctest::Approx(0.625).epsilon(0.05));
  CHECK(two[2] == 0);
  auto nucleus = shares({1, 0, 0.79f});  // 0.5 + 0.3 reach it
  CHECK(nucleus[1] == doctest::Approx(0.375).epsilon(0.06));
  CHECK(nucleus[2] == 0);
  auto sharp = shares({0.5});  // weights 25 : 9 : 2.25 : 0.25
  CHECK(sharp[0] == doctest::Approx(25 / 36.5).epsilon(0.05));
  float broken[] = {NAN, 0}, none[] = {-INFINITY, -INFINITY};
  CHECK(sample(broken, 2, {}, r) == -1);
  CHECK(sample(none, 2, {}, r) == -1);
}

TEST_CASE("model: bad configurations are refused with a sentence that names the parameter") {
  auto refused = [](auto change, const char* name) {
    ModelConfig c = small("rope");
    change(c);
    std::unique_ptr<Transformer> model;
    Error e = Transformer::make(c, 1, model);
    CAPTURE(e.text);
    CHECK(e.text.find(name) != std::string::npos);
    CHECK(!model);
  };
  refused([](auto& c) { c.heads = 5; }, "width");
  refused([](auto& c) { c.kv_heads = 2; }, "kvHeads");
  refused([](auto& c) { c.layers = 0; }, "layers");
  refused([](auto& c) { c.vocabulary = -1; }, "vocabulary");
  refused([](auto& c) { c.encoding = "rope+rope"; }, "twice");
  refused([](auto& c) { c.encoding = "rope+dynamic_ntk"; }, "rot");
  refused([](auto& c) { c.encoding = "rape"; }, "rape");
  refused([](auto& c) { c.encoding = "rope|rope|rope"; }, "encoding");
  refused([](auto& c) { c.encoding = "rope|sinusoidal"; }, "layer 1");
  refused([](auto& c) { c.width = 9, c.heads = 3; }, "head");  // odd head width cannot be rotated in pairs
  refused([](auto& c) { c.hidden = 65536, c.width = 16383, c.layers = 256; }, "parameters");
  // More of them than 32 bits count, in the encodings of layers (ggml-org/llama.cpp#25401).
  refused([](auto& c) {
    c.width = c.heads = c.kv_heads = 1024, c.layers = 11, c.hidden = 1, c.encoding = "learned_bias:clip=390000";
    for (int l = 1; l < c.layers; l++) c.encoding += "|learned_bias:clip=390000";
  }, "the model has 44");
}

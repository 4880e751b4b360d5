// Encodings that are put on a model after it was trained with another.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "lab/run.h"

using namespace lw;

static ModelConfig small(const char* encoding) {
  ModelConfig c;
  c.vocabulary = 33, c.width = 16, c.layers = 2, c.heads = 2, c.kv_heads = 2, c.hidden = 24, c.trained_length = 16;
  c.encoding = encoding;
  return c;
}

static std::vector<float> logits(Transformer& model, int length) {
  std::vector<int> tokens(length);
  for (int t = 0; t < length; t++) tokens[t] = (7 * t + t * t % 5) % 33;
  std::vector<float> out(size_t(length) * 33);
  Error e = model.logits_of(tokens.data(), length, out.data());
  REQUIRE_MESSAGE(!e, e.text);
  return out;
}

TEST_CASE("a model under another encoding is one that was made with it and has the same weights") {
  const struct { const char *trained, *put_on; } pairs[] = {
      {"rope", "yarn:factor=4"}, {"rope", "ntk:factor=8"}, {"rope", "llama3:factor=8"}, {"rope", "grouped:group=4:window=4+rope"},
      {"rope", "rectified:window=8+rope"}, {"rope", "rope+window:width=4"}, {"rope", "rope|nope"}, {"rope", "nope"},
      {"t5", "t5+log_n"}, {"learned:overflow=clamp", "learned:overflow=interpolate"}, {"learned", "nope"}, {"shaw|t5", "shaw|nope"}, {"t5", "t5|t5+window:width=4"}, {"t5", "nope|t5"}};
  for (auto& [trained, put_on] : pairs)
    for (bool tied : {true, false}) {
      CAPTURE(trained);
    CAPTURE(put_on);
      std::unique_ptr<Transformer> model, other, made;
      ModelConfig config = small(trained);
      config.tied = tied;
      REQUIRE(!Transformer::make(config, 1, model));
      for (size_t i = 0; i < model->parameter_count(); i++) model->parameters()[i] += 0.01f * float(i % 7);
      model->parameters_changed();
      const int length = std::string(trained) == "learned" ? 16 : 40;  // the table ends there
      const auto before = logits(*model, length);
      Error e = model->with_encoding(put_on, other);
      REQUIRE_MESSAGE(!e, e.text);
      config.encoding = put_on;
      REQUIRE(!Transformer::make(config, 2, made));
      for (auto& to : made->tensors())
        for (auto& from : model->tensors())
          if (from.name == to.name || (from.name == "encoding.0.t5.table" && to.name == "encoding.1.t5.table")) model->values_of(from, made->parameters() + to.offset);
      made->parameters_changed();
      CHECK(other->config().encoding == put_on);
      CHECK(logits(*other, length) == logits(*made, length));
      CHECK(logits(*other, length) != before);
      CHECK(logits(*model, length) == before);
    }
}

TEST_CASE("what an encoding learns cannot be put on a model that has not learned it") {
  const struct { const char *trained, *put_on, *error; } cases[] = {
      {"rope", "t5", "\"t5\" learns encoding.0.t5."},
      {"t5:buckets=32", "t5:buckets=16", "of another shape, which a model trained with \"t5:buckets=32\" has not learned; allowed after training: encodings that learn nothing new"},
      {"t5|t5", "t5", "\"t5\" learns encoding.0.t5.table for all layers, which a model trained with \"t5|t5\" has not learned"},
      {"t5|nope", "t5", "for all layers"}, {"nope|t5", "t5|t5", "learns encoding.0.t5.table, which"}, {"rope", "yarn:factor=0", "factor"}, {"rope", "banana", "banana"}, {"rope", "", "allowed: "}, {"rope", "rope|rope|rope", "|"}, {"rope", "yarn>rope", ">"}};
  for (auto& [trained, put_on, error] : cases) {
    CAPTURE(trained);
    CAPTURE(put_on);
    std::unique_ptr<Transformer> model, other;
    REQUIRE(!Transformer::make(small(trained), 1, model));
    const Error e = model->with_encoding(put_on, other);
    CAPTURE(e.text);
    CHECK(e.text.find(error) != std::string::npos);
    CHECK(!other);
  }
}

TEST_CASE("a run can be tested with another encoding than it is trained with") {
  RunConfig config;
  config.task = Task::copy, config.batch = 4, config.length = 16;
  auto run = [&](const char* encoding) {
    std::unique_ptr<Run> out;
    Error e = Run::make(small(encoding), config, out);
    REQUIRE_MESSAGE(!e, e.text);
    REQUIRE(!out->train(20));
    return out;
  };
  auto plain = run("rope");
  const char* narrow = "window:width=4+rope";
  TestResult a, b, c;
  auto under = [&](const char* encoding) {
    std::unique_ptr<Run> out;
    Error e = plain->with_encoding(encoding, config, out);
    REQUIRE_MESSAGE(!e, e.text);
    return out;
  };
  for (int length : {16, 48}) {
    REQUIRE(!plain->test(length, 200, a));
    REQUIRE(!under("rope")->test(length, 200, b));
    REQUIRE(!under(narrow)->test(length, 200, c));
    CHECK(a.loss == b.loss);
    CHECK(a.loss != c.loss);
    // The second half counts: its first token follows the mark.
    std::unique_ptr<Transformer> other;
    REQUIRE(!plain->model().with_encoding(narrow, other));
    Batch batch;
    double sum = 0, count = 0;
    for (int s = 0; s < c.sequences; s++) {
      plain->source().test_sequence(s, c.sequences, length, batch);
      std::vector<float> losses(length);
      REQUIRE(!other->losses_of(batch.tokens.data(), length + 1, losses.data(), nullptr));
      for (int t = 0; t < length; t++) if (batch.weights[t] > 0) sum += losses[t], count++;
    }
    CHECK(c.loss == doctest::Approx(sum / count).epsilon(1e-12));
  }
  // Trained on: the tests follow.
  REQUIRE(!under(narrow)->test(16, 200, b));
  REQUIRE(!plain->train(5));
  REQUIRE(!under(narrow)->test(16, 200, c));
  CHECK(c.loss != b.loss);
  std::unique_ptr<Run> none;
  CHECK(plain->with_encoding("t5", config, none).text.find("learns encoding.0.t5.") != std::string::npos);
  CHECK(!none);
}

TEST_CASE("a run under another encoding is fine-tuned by itself, on sequences of its own length") {
  RunConfig config, longer;
  config.task = longer.task = Task::copy;
  config.batch = 4, config.length = 16;
  longer.batch = 2, longer.length = 40, longer.seed = 3, longer.train.optimiser.rate = 1e-3f, longer.train.optimiser.steps = 6;
  std::unique_ptr<Run> plain, tuned;
  REQUIRE(!Run::make(small("rope"), config, plain));
  REQUIRE(!plain->train(20));
  const std::vector<float> weights(plain->model().parameters(), plain->model().parameters() + plain->model().parameter_count());
  // The same by hand, beside it.
  std::unique_ptr<Transformer> model;
  std::unique_ptr<Trainer> trainer;
  REQUIRE(!plain->model().with_encoding("ntk:factor=4", model));
  REQUIRE(!Trainer::make(*model, longer.train, longer.seed, trainer));
  REQUIRE(!plain->with_encoding("ntk:factor=4", longer, tuned));
  CHECK(tuned->losses().empty());
  REQUIRE(!tuned->train(6));
  Batch batch;
  for (int i = 0; i < 6; i++) {
    plain->source().train_batch(2, 40, trainer->batches(), batch);
    CHECK((batch.length >= 20 && batch.length <= 40));
    REQUIRE(!trainer->step(batch.tokens.data(), batch.weights.data(), batch.sequences, batch.length));
    CHECK(tuned->losses()[i] == float(trainer->info().loss));
  }
  CHECK(logits(tuned->model(), 40) == logits(*model, 40));
  CHECK(std::memcmp(plain->model().parameters(), weights.data(), weights.size() * sizeof(float)) == 0);
  CHECK(plain->losses().size() == 20);
  longer.batch = 0;
  CHECK(plain->with_encoding("rope", longer, tuned).text == "batch is 0; allowed: 1 to 65536");
}

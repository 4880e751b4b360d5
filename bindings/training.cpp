// Training steps and whole runs: what the module for inference leaves out.
#include <emscripten/bind.h>

#include "handles.h"
#include "json.h"
#include "requests.h"

using namespace lw;
using emscripten::allow_raw_pointers;
using emscripten::class_;
using emscripten::function;
using emscripten::value_object;

namespace {

// The trainer of a model, which must outlive it and stay unquantised.
class ModelTrainer {
 public:
  static ModelTrainer* make(double transformer, TrainRequest request, double seed) {
    auto trainer = std::make_unique<ModelTrainer>();
    TrainConfig config;
    Error e = read(request, config);
    if (!e) e = Trainer::make(*at<Transformer>(transformer), config, uint64_t(seed), trainer->trainer_);
    return made(std::move(e), std::move(trainer));
  }
  std::string step(double tokens, double mask, double batch, double length, double at_once) {
    Reader in;
    int sequences, n, part;
    in.integer("batch", batch, 1, 1 << 16, sequences);
    in.integer("length", length, 1, 1 << 20, n);
    in.integer("microBatch", at_once, 1, sequences, part);
    if (in.error()) return in.error().text;
    return trainer_->step(at<int>(tokens), mask ? at<float>(mask) : nullptr, sequences, n, part).text;
  }
  std::string info() {
    const TrainInfo& info = trainer_->info();
    Json json;
    json.open('{').field("step", double(info.step)).field("loss", info.loss).field("gradientNorm", info.gradient_norm);
    return json.field("learningRate", info.learning_rate).close('}').text();
  }
  double state() { return trainer_->save(), address_of(trainer_->state()); }
  double state_bytes() { return double(trainer_->state_bytes()); }
  void state_changed() { trainer_->restore(); }

 private:
  std::unique_ptr<Trainer> trainer_;
};

class TrainingRun {
 public:
  static TrainingRun* make(ModelRequest model, RunRequest request) {
    auto run = std::make_unique<TrainingRun>();
    ModelConfig config;
    RunConfig run_config;
    model.vocabulary = 256;  // the task decides
    Error e = read(model, config);
    if (!e) e = read(request, run_config);
    if (!e) e = Run::make(config, run_config, run->run_);
    return made(std::move(e), std::move(run));
  }
  std::string set_text(double train, double train_bytes, double test, double test_bytes) {
    return run_->source().set_text(at<uint8_t>(train), size_t(train_bytes), at<uint8_t>(test), size_t(test_bytes)).text;
  }
  std::string train(double steps) { return run_->train(int(steps)).text; }
  double losses() { return address_of(run_->losses().data()); }
  TrainingRun* with_encoding(std::string encoding, RunRequest request) {
    auto run = std::make_unique<TrainingRun>();
    RunConfig config;
    Error e = read(request, config);
    if (!e) e = run_->with_encoding(encoding, config, run->run_);
    return made(std::move(e), std::move(run));
  }
  std::string test(double length, double tokens) {
    Reader in;
    int n, total;
    in.integer("test length", length, 1, 1 << 24, n);
    in.integer("tokens", tokens, 1, 1 << 30, total);
    if (in.error()) return in.error().text;
    return run_->test(n, total, result_).text;
  }
  std::string test_info() {
    Json json;
    json.open('{').field("length", double(result_.length)).field("sequences", double(result_.sequences)).field("tokens", result_.tokens);
    json.field("loss", result_.loss).field("perplexity", std::exp(result_.loss)).field("bitsPerToken", result_.loss / std::log(2.0));
    return json.field("accuracy", result_.accuracy).close('}').text();
  }
  double by_position() { return address_of(result_.by_position.data()); }
  double by_position_count() { return double(result_.by_position.size()); }
  double parameter_count() { return double(run_->model().parameter_count()); }

 private:
  std::unique_ptr<Run> run_;
  TestResult result_;
};

void describe_training() {
  value_object<TrainRequest>("TrainRequest")
      .field("learningRate", &TrainRequest::learningRate).field("warmup", &TrainRequest::warmup).field("steps", &TrainRequest::steps)
      .field("minimumRatio", &TrainRequest::minimumRatio).field("beta1", &TrainRequest::beta1).field("beta2", &TrainRequest::beta2)
      .field("epsilon", &TrainRequest::epsilon).field("weightDecay", &TrainRequest::weightDecay).field("clip", &TrainRequest::clip)
      .field("encodingRate", &TrainRequest::encodingRate);
  value_object<RunRequest>("RunRequest")
      .field("train", &RunRequest::train).field("task", &RunRequest::task).field("batch", &RunRequest::batch)
      .field("length", &RunRequest::length).field("seed", &RunRequest::seed);
  class_<ModelTrainer>("Trainer")
      .class_function("make", &ModelTrainer::make, allow_raw_pointers())
      .function("step", &ModelTrainer::step).function("info", &ModelTrainer::info).function("state", &ModelTrainer::state)
      .function("stateBytes", &ModelTrainer::state_bytes).function("stateChanged", &ModelTrainer::state_changed);
  class_<TrainingRun>("Run")
      .class_function("make", &TrainingRun::make, allow_raw_pointers())
      .function("setText", &TrainingRun::set_text).function("train", &TrainingRun::train).function("losses", &TrainingRun::losses)
      .function("withEncoding", &TrainingRun::with_encoding, allow_raw_pointers()).function("test", &TrainingRun::test).function("testInfo", &TrainingRun::test_info)
      .function("testByPosition", &TrainingRun::by_position).function("testByPositionCount", &TrainingRun::by_position_count)
      .function("parameterCount", &TrainingRun::parameter_count);
}

}  // namespace

EMSCRIPTEN_BINDINGS(lengthwise_training) {
  function("describeTraining", &describe_training);
}

// Train short, test long: one encoding, one seed.
#pragma once
#include "lab/tasks.h"
#include "model/trainer.h"

namespace lw {

struct RunConfig {
  Task task = Task::text;
  TrainConfig train;
  int batch = 16;    // sequences in a step
  int length = 64;   // tokens in a training sequence, at most
  uint64_t seed = 1; // first parameters, batches and drawn ids; the same seed gives every encoding the same batches
};

struct TestResult {
  int length = 0, sequences = 0;
  double tokens = 0;                // targets that counted
  double loss = 0;                  // mean negative log-likelihood of those targets, nats
  double accuracy = 0;              // share of them that were the likeliest token
  std::vector<float> by_position;   // mean loss at each position [length]; NaN where no target counted
};

class Run {
 public:
  // model.vocabulary is set by the task.
  static Error make(ModelConfig model, const RunConfig& config, std::unique_ptr<Run>& out);
  // A run that begins with these weights under another encoding (Transformer::with_encoding), on the same task and text:
  // for a test, or for fine-tuning. This one does not see what that one trains. config.task is not read.
  Error with_encoding(const std::string& encoding, const RunConfig& config, std::unique_ptr<Run>& out) const;

  TaskSource& source() { return source_; }
  Error train(int steps);
  // About `tokens` tokens in sequences of `length`, one pass each, every target weighed alike; at least one sequence.
  Error test(int length, int tokens, TestResult& out);
  const std::vector<float>& losses() const { return losses_; }  // one for each step so far
  Trainer& trainer() { return *trainer_; }
  Transformer& model() { return *model_; }
  const RunConfig& config() const { return config_; }

 private:
  explicit Run(const RunConfig& config) : config_(config), source_(config.task) {}
  RunConfig config_;
  TaskSource source_;
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<float> losses_;
  Batch batch_;
};

}  // namespace lw

#include "lab/run.h"

#include <algorithm>
#include <cmath>

namespace lw {

static Error check(const RunConfig& config) {
  if (config.batch < 1 || config.batch > 1 << 16) return {"batch is " + std::to_string(config.batch) + "; allowed: 1 to 65536"};
  if (config.length < 1 || config.length > 1 << 20) return {"length is " + std::to_string(config.length) + "; allowed: 1 to 1048576"};
  if (double(config.batch) * config.length > 1 << 24)
    return {"batch × length is " + std::to_string(int64_t(config.batch) * config.length) + "; allowed: at most 16777216 tokens in a step"};
  return {};
}

Error Run::make(ModelConfig model, const RunConfig& config, std::unique_ptr<Run>& out) {
  if (Error e = check(config)) return e;
  std::unique_ptr<Run> run(new Run(config));
  model.vocabulary = run->source_.vocabulary();
  if (Error e = Transformer::make(model, config.seed, run->model_)) return e;
  if (Error e = Trainer::make(*run->model_, config.train, config.seed, run->trainer_)) return e;
  out = std::move(run);
  return {};
}

Error Run::with_encoding(const std::string& encoding, const RunConfig& config, std::unique_ptr<Run>& out) const {
  if (Error e = check(config)) return e;
  std::unique_ptr<Run> run(new Run(config));
  run->source_ = source_;
  if (Error e = model_->with_encoding(encoding, run->model_)) return e;
  if (Error e = Trainer::make(*run->model_, config.train, config.seed, run->trainer_)) return e;
  out = std::move(run);
  return {};
}

Error Run::train(int steps) {
  if (Error e = source_.check_length("length", config_.length)) return e;
  for (int i = 0; i < steps; i++) {
    source_.train_batch(config_.batch, config_.length, trainer_->batches(), batch_);
    if (Error e = trainer_->step(batch_.tokens.data(), batch_.weights.data(), batch_.sequences, batch_.length)) return e;
    losses_.push_back(float(trainer_->info().loss));
  }
  return {};
}

Error Run::test(int length, int tokens, TestResult& out) {
  if (Error e = source_.check_length("test length", length)) return e;
  out = {};
  out.length = length, out.sequences = std::max(1, tokens / length);
  std::vector<double> sums(length), counts(length);
  Buffer<float> losses;
  std::vector<unsigned char> correct(length);
  if (!losses.resize(length)) return out_of_memory("the losses", 4.0 * length);
  double right = 0;
  for (int s = 0; s < out.sequences; s++) {
    source_.test_sequence(s, out.sequences, length, batch_);
    if (Error e = model_->losses_of(batch_.tokens.data(), length + 1, losses.data(), correct.data())) return e;
    for (int t = 0; t < length; t++)
      if (batch_.weights[t] > 0) sums[t] += losses[t], counts[t]++, right += correct[t];
  }
  for (int t = 0; t < length; t++) {
    out.loss += sums[t], out.tokens += counts[t];
    out.by_position.push_back(counts[t] > 0 ? float(sums[t] / counts[t]) : NAN);
  }
  out.loss /= out.tokens, out.accuracy = right / out.tokens;
  return {};
}

}  // namespace lw

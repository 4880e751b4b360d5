// Training steps: forward, loss, backward, clip, AdamW.
#pragma once
#include "model/optimiser.h"
#include "model/transformer.h"

namespace lw {

struct TrainConfig {
  OptimiserConfig optimiser;
  float encoding_rate = 1;  // factor on the learning rate of position parameters, 0 … 10⁴
};

struct TrainInfo { int64_t step = 0; double loss = 0, gradient_norm = 0, learning_rate = 0; };

class Trainer {
 public:
  // The model must outlive the trainer.
  static Error make(Transformer& model, const TrainConfig& config, uint64_t seed, std::unique_ptr<Trainer>& out);

  // tokens [batch][length + 1]; weights [batch][length] ≥ 0 on each target, nullptr: all 1. The loss is the weighted mean
  // negative log-likelihood, in nats. If the gradient is not finite nothing changes and the error says so. Gradients are
  // gathered over parts of `at_once` sequences, which is all that needs memory (0: the whole batch); the mean is over all.
  Error step(const int* tokens, const float* weights, int batch, int length, int at_once = 0);
  const TrainInfo& info() const { return info_; }
  Random& batches() { return batches_; }  // for drawing training batches; part of the saved state

  // All that a bit-exact resume needs beside the parameters. `save` refreshes the block, `restore` reads it back.
  char* state() { return reinterpret_cast<char*>(state_.data()); }
  size_t state_bytes() const { return state_.size() * sizeof(float); }
  void save();
  void restore();

 private:
  Trainer(Transformer& model, const TrainConfig& config, uint64_t seed);
  void set_targets(const int* tokens, const float* weights, int batch, int length);
  // What the last forward, of rows first … first + rows − 1, adds to the loss; its gradient goes to dnorm_ and to the head's
  // part of gradients_.
  double loss_and_gradient(size_t first, int rows);

  Transformer& model_;
  TrainConfig config_;
  std::vector<Segment> segments_;
  TrainInfo info_;
  Random batches_, ids_;
  OptimiserState optimiser_;
  Buffer<float> gradients_, dnorm_, logits_;
  Buffer<float> losses_, weights_;  // [rows]
  Buffer<int> inputs_, targets_;    // [rows]
  Buffer<float> state_;  // header, then first and second moments
};

}  // namespace lw

#include "model/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "nn/linear.h"
#include "nn/loss.h"
#include "position/text.h"

namespace lw {

// The head of the state block.
struct Header { int64_t step; uint64_t batches, batches_increment, ids, ids_increment; double loss, gradient_norm, learning_rate; };
static constexpr size_t header_floats = sizeof(Header) / sizeof(float);
static constexpr int chunk = 256;  // rows of logits at once

Trainer::Trainer(Transformer& model, const TrainConfig& config, uint64_t seed)
    : model_(model), config_(config), batches_(seed, 11), ids_(seed, 13) {
  for (auto& t : model.tensors())
    segments_.push_back({t.offset, t.size(), t.decay, t.position ? config.encoding_rate : 1.f});
}

Error Trainer::make(Transformer& model, const TrainConfig& config, uint64_t seed, std::unique_ptr<Trainer>& out) {
  if (model.precision() != Precision::f32) return {"the model is quantised; allowed: train the one that it was made from"};
  std::unique_ptr<Trainer> trainer(new Trainer(model, config, seed));
  size_t count = model.parameter_count();
  size_t logits = size_t(chunk) * model.config().vocabulary;
  if (!trainer->gradients_.resize(count) || !trainer->state_.assign(header_floats + 2 * count, 0) || !trainer->logits_.resize(logits))
    return out_of_memory("the trainer", 4.0 * (3 * count + logits));
  trainer->optimiser_ = {trainer->state_.data() + header_floats, trainer->state_.data() + header_floats + count, 0};
  out = std::move(trainer);
  return {};
}

// Inputs, targets and weights that add up to 1. The model takes sequences without their last target.
void Trainer::set_targets(const int* tokens, const float* weights, int batch, int length) {
  const size_t rows = size_t(batch) * length;
  double total = 0;
  for (size_t r = 0; r < rows; r++) {
    const int* token = tokens + r / length * (length + 1) + r % length;
    inputs_[r] = token[0], targets_[r] = token[1];
    weights_[r] = weights ? weights[r] : 1;
    total += weights_[r];
  }
  for (float& w : weights_) w = total > 0 ? float(w / total) : 0;
}

double Trainer::loss_and_gradient(size_t first, int rows) {
  const int d = model_.config().width, vocabulary = model_.config().vocabulary;
  const float* head = model_.parameters() + model_.head_offset();
  for (int r = 0; r < rows; r += chunk) {
    const int n = std::min(chunk, rows - r);
    model_.logits(r, n, logits_.data());
    cross_entropy_backward(logits_.data(), &losses_[first + r], &targets_[first + r], &weights_[first + r], n, vocabulary);
    linear_backward(dnorm_.data() + size_t(r) * d, gradients_.data() + model_.head_offset(), logits_.data(),
                    model_.activations().norm + size_t(r) * d, head, n, d, vocabulary, model_.activations().scratch, false);
  }
  double loss = 0;
  for (size_t r = first; r < first + rows; r++) if (weights_[r] != 0) loss += double(losses_[r]) * weights_[r];
  return loss;
}

Error Trainer::step(const int* tokens, const float* weights, int batch, int length, int at_once) {
  const size_t rows = size_t(batch) * length;
  at_once = at_once > 0 ? std::min(at_once, batch) : batch;
  if (Error e = model_.check_tokens(tokens, long(batch) * (length + 1))) return e;
  if (!dnorm_.resize(size_t(at_once) * length * model_.config().width) || !losses_.resize(rows) || !weights_.resize(rows) || !targets_.resize(rows) || !inputs_.resize(rows))
    return out_of_memory("the training step", 4.0 * rows * (model_.config().width + 4));
  set_targets(tokens, weights, batch, length);
  gradients_.fill(0);
  model_.bind(gradients_.data());
  TrainInfo now;
  const Random drawn = ids_;  // one draw for the whole batch, whatever its parts
  for (int b = 0, n; b < batch; b += n) {
    n = std::min(at_once, batch - b);
    const size_t first = size_t(b) * length;
    ids_ = drawn;
    if (Error e = model_.forward(&inputs_[first], n, length, true, &ids_)) return e;
    now.loss += loss_and_gradient(first, n * length);
    if (Error e = model_.backward(&inputs_[first], n, length, dnorm_.data(), gradients_.data())) return e;
  }
  now.learning_rate = learning_rate(optimiser_.step, config_.optimiser);
  bool finite = std::isfinite(now.loss) && optimiser_step(model_.parameters(), gradients_.data(), gradients_.size(), segments_, optimiser_, config_.optimiser,
                               &now.gradient_norm);
  if (!finite)
    return {"the loss or the gradient of step " + std::to_string(optimiser_.step + 1) + " is not finite or above 1e18, so nothing was changed; a smaller learningRate (now " +
            number_text(config_.optimiser.rate) + ") may help"};
  now.step = optimiser_.step;
  info_ = now;
  for (auto& stack : model_.stacks()) stack.project();
  model_.parameters_changed();
  return {};
}

void Trainer::save() {
  Header h{optimiser_.step, batches_.state(), batches_.increment(), ids_.state(), ids_.increment(), info_.loss, info_.gradient_norm, info_.learning_rate};
  std::memcpy(state_.data(), &h, sizeof h);
}

void Trainer::restore() {
  Header h;
  std::memcpy(&h, state_.data(), sizeof h);
  optimiser_.step = info_.step = h.step;
  batches_.restore(h.batches, h.batches_increment), ids_.restore(h.ids, h.ids_increment);
  info_.loss = h.loss, info_.gradient_norm = h.gradient_norm, info_.learning_rate = h.learning_rate;
}

}  // namespace lw

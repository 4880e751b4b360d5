// What JavaScript asks for: every number arrives as a double and is checked here, once, so that −1, NaN, 3.7 or 2³² + 5
// become a sentence instead of another number.
#pragma once
#include <cmath>
#include <string>

#include "lab/run.h"
#include "position/text.h"

namespace lw {

struct ShapeRequest { double heads, kvHeads, headDim, width, trainedLength; bool causal; };

struct ModelRequest {
  double vocabulary, width, layers, heads, kvHeads, hidden, trainedLength, normEpsilon;
  std::string norm, activation, encoding;
  bool tied, causal;
};

struct TrainRequest {
  double learningRate, warmup, steps, minimumRatio, beta1, beta2, epsilon, weightDecay, clip, encodingRate;
};

struct RunRequest {
  TrainRequest train;
  std::string task;
  double batch, length, seed;
};

// Reads doubles into the types of the core; remembers the first fault.
class Reader {
 public:
  template <class T>
  void integer(const char* name, double value, double least, double most, T& out) {
    if (!(value >= least && value <= most && value == std::floor(value)))
      return fail(name, number_text(value), "whole numbers from " + number_text(least) + " to " + number_text(most));
    out = T(value);
  }
  template <class T>
  void number(const char* name, double value, double least, double most, T& out) {
    if (!(value >= least && value <= most)) return fail(name, number_text(value), number_text(least) + " to " + number_text(most));
    out = T(value);
  }
  void fail(const char* name, const std::string& value, const std::string& allowed) {
    if (!error_) error_ = {std::string(name) + " is " + value + "; allowed: " + allowed};
  }
  Error error() const { return error_; }

 private:
  Error error_;
};

inline Error read(const ShapeRequest& r, Shape& s) {
  Reader in;
  in.integer("heads", r.heads, 1, 1024, s.heads);
  in.integer("kvHeads", r.kvHeads, 1, 1024, s.kv_heads);
  in.integer("headDim", r.headDim, 1, 4096, s.head_dim);
  in.integer("width", r.width, 1, 65536, s.width);
  in.integer("trainedLength", r.trainedLength, 1, 1 << 24, s.trained_length);
  s.causal = r.causal;
  if (!in.error() && s.heads % s.kv_heads) in.fail("kvHeads", number_text(r.kvHeads), "a divisor of heads (" + number_text(r.heads) + ")");
  return in.error();
}

inline Error read(const ModelRequest& r, ModelConfig& c) {
  Reader in;
  in.integer("vocabulary", r.vocabulary, 2, 1 << 20, c.vocabulary);
  in.integer("width", r.width, 1, 1 << 14, c.width);
  in.integer("layers", r.layers, 1, 256, c.layers);
  in.integer("heads", r.heads, 1, 1024, c.heads);
  in.integer("kvHeads", r.kvHeads, 1, 1024, c.kv_heads);
  in.integer("hidden", r.hidden, 1, 1 << 16, c.hidden);
  in.integer("trainedLength", r.trainedLength, 1, 1 << 24, c.trained_length);
  in.number("normEpsilon", r.normEpsilon, 1e-12, 1, c.norm_epsilon);
  if (r.norm == "rms") c.norm = Norm::rms;
  else if (r.norm == "layer") c.norm = Norm::layer;
  else in.fail("norm", "\"" + r.norm + "\"", "rms, layer");
  if (r.activation == "gelu") c.activation = Activation::gelu;
  else if (r.activation == "swiglu") c.activation = Activation::swiglu;
  else in.fail("activation", "\"" + r.activation + "\"", "gelu, swiglu");
  c.encoding = r.encoding, c.tied = r.tied, c.causal = r.causal;
  return in.error();
}

inline Error read(const TrainRequest& r, TrainConfig& c) {
  Reader in;
  in.number("learningRate", r.learningRate, 0, 1, c.optimiser.rate);
  in.integer("warmup", r.warmup, 0, 1e9, c.optimiser.warm_up);
  in.integer("steps", r.steps, 1, 1e9, c.optimiser.steps);
  in.number("minimumRatio", r.minimumRatio, 0, 1, c.optimiser.minimum_ratio);
  in.number("beta1", r.beta1, 0, 0.999999, c.optimiser.beta1);
  in.number("beta2", r.beta2, 0, 0.999999, c.optimiser.beta2);
  in.number("epsilon", r.epsilon, 1e-30, 1, c.optimiser.epsilon);
  in.number("weightDecay", r.weightDecay, 0, 10, c.optimiser.weight_decay);
  in.number("clip", r.clip, 0, 1e9, c.optimiser.clip);
  in.number("encodingRate", r.encodingRate, 0, 1e4, c.encoding_rate);
  return in.error();
}

inline Error read(const RunRequest& r, RunConfig& c) {
  if (Error e = TaskSource::parse(r.task, c.task)) return e;
  if (Error e = read(r.train, c.train)) return e;
  Reader in;
  in.integer("batch", r.batch, 1, 1 << 16, c.batch);
  in.integer("length", r.length, 1, 1 << 20, c.length);
  in.integer("seed", r.seed, 0, 9007199254740991.0, c.seed);
  return in.error();
}

}  // namespace lw

// A stack: the encodings of one layer, from a spec such as "rope:base=500000+log_n" or "random_sorted:max=512+alibi".
//   spec := term ('+' term)*      term := name (':' option '=' value)*
// Biases add, scales multiply, patterns unite, ids wrap everything; two encodings that both rotate are an error.
#pragma once
#include <string_view>

#include "position/catalogue.h"

namespace lw {

class Stack {
 public:
  // Parses, checks every option and the shape, makes the encodings. Parameters are not bound yet.
  static Error make(std::string_view spec, const Shape& shape, Stack& out);

  // The plan for tokens 0 … positions.size() − 1 that carry these numbers (finite; any real), or 0 … length − 1.
  // `present`: how many tokens exist now, for encodings whose frequencies depend on it (0: all of them).
  // `random`: non-null while training. `tokens`: which tokens they are, for stacks that read them. Out of memory is an error too.
  Error plan(std::span<const double> positions, int present, Random* random, Plan& out, const int* tokens = nullptr);
  Error plan(int length, int present, Random* random, Plan& out, const int* tokens = nullptr);
  // Sizes a gradient for the learned doors of this plan and zeroes it.
  Error size_gradient(const Plan& plan, PlanGradient& out);
  // Gradient of the plan's tables → gradient of the parameters (accumulated).
  Error plan_backward(const Plan& plan, int present, const PlanGradient& gradient);
  // Angles [n][pairs] of tokens that carry these numbers, by coordinate where there is a map. False: out of memory.
  bool angles(Encoding& rotary, std::span<const double> positions, int present, Buffer<double>& out);
  // Fresh content terms, in the order of the stack; empty when the content door is closed.
  std::vector<std::unique_ptr<ContentTerm>> content();

  std::span<const std::unique_ptr<Encoding>> encodings() const { return encodings_; }
  std::vector<Parameter*> parameters();
  void initialise(Random& random);   // every bound parameter
  void project();
  unsigned doors() const;
  bool learned() const { return learned_; }
  bool per_layer() const;            // some encoding wants its own parameters in each layer
  bool length_dependent() const;     // some plan depends on how many tokens are present
  bool keys_turn_once() const;       // a cache may keep rotated keys
  bool jumps(int before, int now) const;  // what is cached must be made anew
  bool linear() const;               // attention is linear
  bool reads_tokens() const;         // each sequence has a plan of its own
  bool counts_tokens() const;        // ids depend on how many tokens there are
  Encoding* mixer() const;           // the encoding that mixes neighbours into the input, or nullptr
  bool draws() const;                // in training the numbers of tokens are drawn anew each time
  const Shape& shape() const { return shape_; }
  const std::string& spec() const { return spec_; }  // canonical

 private:
  Error add(std::string_view term);
  Error check() const;                       // what concerns the encodings together
  Error check_scores() const;
  Error check_linear() const;
  Error fill(int present, Random* random, const int* tokens, Plan& out);  // positions → the other parts
  Error plan_input(Plan& out);
  Error plan_zones(Plan& out);
  Error plan_rotation(int present, Plan& out);
  Error turn(Encoding& rotary, std::span<const double> query, std::span<const double> key, int present, Rotation& out);
  void turn_backward(Encoding& rotary, std::span<const double> positions, int present, const float* gradient);
  Error plan_bias(Plan& out);
  Error plan_pattern(Plan& out);
  Error plan_scale(Plan& out);
  bool learns(Door door) const;
  template <class F> bool each_stretch(const Plan& plan, F f);
  bool count_seen(const Plan& plan);  // false: out of memory

  Shape shape_;
  std::string spec_;
  bool learned_ = false;
  std::vector<std::unique_ptr<Encoding>> encodings_;
  // Scratch, kept so that planning again allocates nothing.
  Buffer<double> numbers_;         // angles, distances
  Buffer<double> gains_, coordinates_;
  Buffer<float> floats_;           // a stretch of the bias, or of a gradient
  Buffer<int> seen_;               // [length]
  std::vector<Interval> row_;
};

}  // namespace lw

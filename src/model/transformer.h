// A decoder-only pre-norm transformer whose layers get their positions from stacks of encodings.
//   x ← E[token]·s + input;  x ← x + Wo·attention(norm(x));  x ← x + W2·act(W1·norm(x));  logits = Eᵀ·norm(x)
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "attention/cache.h"
#include "nn/weights.h"
#include "position/stack.h"

namespace lw {

enum class Norm { rms, layer };
enum class Activation { gelu, swiglu };

struct ModelConfig {
  int vocabulary = 256;      // V, 2 … 1,000,000
  int width = 64;            // d, a multiple of heads
  int layers = 2;            // 1 … 256
  int heads = 4;             // H
  int kv_heads = 4;          // divides heads
  int hidden = 256;          // width of the feed-forward part
  int trained_length = 64;   // L
  Norm norm = Norm::rms;
  float norm_epsilon = 1e-5f;
  Activation activation = Activation::gelu;
  bool tied = true;          // the head is the embedding
  bool causal = true;
  std::string encoding = "rope";  // a spec, or one for each layer separated by '|'

  int head_dim() const { return width / heads; }
  int qkv_width() const { return (heads + 2 * kv_heads) * head_dim(); }
  int up_width() const { return activation == Activation::swiglu ? 2 * hidden : hidden; }
  Shape shape() const { return {heads, kv_heads, head_dim(), width, trained_length, causal}; }
};
// A sentence, or nothing: sizes in range and fitting each other. Encodings are checked by Transformer::make.
Error check(const ModelConfig& config);

// A tensor of the model in the flat array of parameters. Linear maps are [out][in].
struct Tensor {
  std::string name;
  int rows, columns;  // columns 0: a vector
  size_t offset;      // in floats; packed: in bytes of the packed weights
  bool decay;         // weight decay applies
  bool position;      // belongs to an encoding
  bool packed;        // stored in fewer bits
  size_t size() const { return size_t(rows) * (columns ? columns : 1); }
};

// Offsets of one layer's tensors; wq wk wv lie together, and so do w1 w3, so each group is one product.
struct LayerTensors { size_t attention_norm, attention_norm_bias, wq, wo, ffn_norm, ffn_norm_bias, w1, w2; };

// What a forward pass leaves for the backward pass; one arena, described once by `lay_out`.
struct Activations {
  struct Layer { float *x, *norm1, *statistics1, *qkv, *read, *lse, *middle, *norm2, *statistics2, *up, *active; };
  std::vector<Layer> layers;  // one for all when nothing is kept
  float *last, *norm, *statistics;  // [rows][d], [rows][d], [2][rows]
  float* unmixed;  // [rows][d], behind the first block, where an encoding mixes neighbours into it
  float* scratch;
  Buffer<float> arena;
};

// The cached keys and values of one sequence.
struct DecodingState {
  std::vector<KeyValueCache> layers;
  std::vector<std::vector<std::unique_ptr<ContentTerm>>> contents;  // [layer]
  std::vector<Plan> plans;                                          // [stack]
  std::vector<int> tokens;
  int planned = 0;  // tokens the plans cover
  Buffer<float> tail;  // [reach][d]: rows of the latest tokens behind the first block, where neighbours are mixed
};

class Transformer {
 public:
  static Error make(const ModelConfig& config, uint64_t seed, std::unique_ptr<Transformer>& out);

  // The same model for inference alone, its linear maps and embeddings in fewer bits (not f32); vectors and what belongs to
  // encodings stay f32.
  Error quantised(Precision precision, std::unique_ptr<Transformer>& out) const;

  // The same weights under another encoding, as when YaRN or a window is put on a model that was trained with rope. What the
  // new one learns must be among what was learned, for the same layer or for all; what it has no use for is left out. Options
  // are not inherited. Refused once quantised.
  Error with_encoding(const std::string& encoding, std::unique_ptr<Transformer>& out) const;

  const ModelConfig& config() const { return config_; }
  Precision precision() const { return precision_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  float* parameters() { return parameters_.data(); }
  size_t parameter_count() const;
  void values_of(const Tensor& tensor, float* out) const;  // [size]
  std::vector<Stack>& stacks() { return stacks_; }
  Stack& stack(int layer) { return stacks_[stacks_.size() > 1 ? layer : 0]; }
  void parameters_changed();  // call after writing parameters: cached keys and plans are stale

  // One pass over `batch` sequences of `length` tokens [batch][length]. keep: leave what backward needs.
  // random: non-null while training (the ids door draws). Result: activations().norm, [batch·length][d].
  Error forward(const int* tokens, int batch, int length, bool keep, Random* random);
  // logits [rows][V] of rows first … first + rows − 1 of the last forward.
  void logits(int first, int rows, float* out);
  // After forward(keep): dnorm [batch·length][d] is the gradient at activations().norm. Adds to gradients (same layout as
  // parameters).
  Error backward(const int* tokens, int batch, int length, const float* dnorm, float* gradients);

  // Whole-sequence conveniences. Tokens must be in [0, V).
  Error logits_of(const int* tokens, int count, float* out);  // [count][V]
  // Negative log-likelihood (nats) of token t + 1 given tokens 0 … t, [count − 1]; correct [count − 1] may be null.
  Error losses_of(const int* tokens, int count, float* out, unsigned char* correct);

  // Decoding with a cache: any chunking gives what one pass gives. out [V]: logits of the last token.
  Error feed(const int* tokens, int count, float* out);
  void reset_cache();
  int cached() const { return int(decoding_.tokens.size()); }

  Activations& activations() { return activations_; }
  size_t head_offset() const { return head_; }
  Error check_tokens(const int* tokens, long count) const;
  // Points the encodings at the gradients (nullptr: none).
  void bind(float* gradients);

 private:
  struct Pass { int batch, length, rows, offset; DecodingState* decoding; };

  static Error build(const ModelConfig& config, Precision precision, std::unique_ptr<Transformer>& out);
  Error lay_out_parameters();
  Weights weights(size_t offset) const;
  void initialise(uint64_t seed);
  Error plan(const int* tokens, int batch, int length, Random* random);
  const Plan& plan_of(int stack, int sequence) const { return plans_[stack * sequences_planned_ + sequence % sequences_planned_]; }
  PlanGradient& gradient_of(int stack, int sequence) { return plan_gradients_[stack * sequences_planned_ + sequence % sequences_planned_]; }
  Error mix(const Pass& pass, float* y);
  Error reserve(int rows, int lse_rows, bool keep);
  void normalise(const float* x, size_t gain, size_t bias, float* y, float* statistics, int rows);
  void normalise_backward(const float* dy, const float* x, size_t gain, size_t bias, const float* statistics, float* dx,
                          float* gradients, int rows);
  Error block(int layer, const Activations::Layer& a, float* next, const Pass& pass);
  Error attend(int layer, const Activations::Layer& a, const Pass& pass);
  void embed(const int* tokens, const Pass& pass, float* x);
  AttentionInput attention_input(const Activations::Layer& a, int first_row, int length) const;
  Error grow_cache(const int* tokens, int count, bool& moved);
  bool jumps(int before, int now) const;

  ModelConfig config_;
  std::vector<Tensor> tensors_;
  std::vector<LayerTensors> layers_;
  size_t embedding_ = 0, final_norm_ = 0, final_norm_bias_ = 0, head_ = 0;
  Precision precision_ = Precision::f32;
  Buffer<float> parameters_;       // those that are not packed
  Buffer<unsigned char> packed_;
  std::vector<Stack> stacks_;
  std::vector<Plan> plans_;                                         // [stack][sequences_planned_]
  int sequences_planned_ = 1;                                       // more than 1 where encodings read tokens
  std::vector<std::vector<std::unique_ptr<ContentTerm>>> contents_; // [stack], for whole sequences
  std::vector<PlanGradient> plan_gradients_;
  std::vector<int> planned_;                                        // [stack], the length its plan stands for; 0: none
  Activations activations_;
  Buffer<float> backward_arena_;
  AttentionScratch attention_scratch_;
  DecodingState decoding_;
};

Error out_of_memory(const char* what, double bytes);

}  // namespace lw

// The backward pass: forward.cpp read from its end, through what forward(keep) left.
#include <algorithm>

#include "model/transformer.h"
#include "nn/activation.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace lw {

void Transformer::normalise_backward(const float* dy, const float* x, size_t gain, size_t bias, const float* statistics,
                                     float* dx, float* g, int rows) {
  const float* p = parameters_.data();
  if (config_.norm == Norm::rms) rms_norm_backward(dx, g + gain, dy, x, p + gain, statistics, rows, config_.width);
  else layer_norm_backward(dx, g + gain, g + bias, dy, x, p + gain, statistics, statistics + rows, rows, config_.width);
}

Error Transformer::backward(const int* tokens, int batch, int length, const float* dnorm, float* g) {
  const ModelConfig& c = config_;
  const float* p = parameters_.data();
  const size_t rows = size_t(batch) * length, d = c.width;
  const size_t sizes[] = {rows * d, rows * d, rows * d, rows * c.qkv_width(), rows * c.up_width(), rows * c.hidden};
  size_t total = 0;
  for (size_t n : sizes) total += n;
  if (!backward_arena_.resize(total)) return out_of_memory("the backward pass", 4.0 * total);
  float* at[6];
  float* next = backward_arena_.data();
  for (int i = 0; i < 6; i++) at[i] = next, next += sizes[i];
  auto [dx, dn, dread, dqkv, dup, dactive] = at;  // dx: gradient of the residual stream

  for (size_t s = 0; s < stacks_.size(); s++) {
    for (int b = 0; b < sequences_planned_; b++)
      if (Error e = stacks_[s].size_gradient(plan_of(int(s), b), plan_gradients_[s * sequences_planned_ + b])) return e;
    for (auto& term : contents_[s]) if (!term->begin(length)) return out_of_memory("the content term", 8.0 * length);
  }
  const Activations& a = activations_;
  std::fill_n(dx, rows * d, 0.f);
  normalise_backward(dnorm, a.last, final_norm_, final_norm_bias_, a.statistics, dx, g, int(rows));
  for (int l = c.layers - 1; l >= 0; l--) {
    const Activations::Layer& kept = a.layers[l];
    const LayerTensors& t = layers_[l];
    const int s = stacks_.size() > 1 ? l : 0, r = int(rows);
    if (Encoding* mixer = l == 0 ? stacks_[0].mixer() : nullptr) {
      std::copy_n(dx, rows * d, dn);  // the gradient behind the mixing
      for (int b = 0; b < batch; b++) {
        const size_t at = size_t(b) * length * d;
        mixer->mix_backward(a.unmixed + at, length, dn + at, dx + at);
      }
    }
    linear_backward(dactive, g + t.w2, dx, kept.active, p + t.w2, r, c.hidden, c.width, a.scratch, false);
    if (c.activation == Activation::swiglu) swiglu_backward(dup, dactive, kept.up, r, c.hidden);
    else gelu_backward(dup, dactive, kept.up, rows * c.hidden);
    linear_backward(dn, g + t.w1, dup, kept.norm2, p + t.w1, r, c.width, c.up_width(), a.scratch, false);
    normalise_backward(dn, kept.middle, t.ffn_norm, t.ffn_norm_bias, kept.statistics2, dx, g, r);

    linear_backward(dread, g + t.wo, dx, kept.read, p + t.wo, r, c.width, c.width, a.scratch, false);
    std::fill_n(dn, rows * d, 0.f);
    for (int b = 0; b < batch; b++) {
      const size_t row = size_t(b) * length;
      AttentionInput in = attention_input(kept, int(row), length);
      float* dq = dqkv + row * c.qkv_width();
      float *dk = dq + c.width, *dv = dk + c.kv_heads * c.head_dim();
      Sequence sequence{0, length, kept.norm1 + row * d, in.q, in.k, in.q_stride, in.k_stride};
      bool fits = true;
      for (auto& term : contents_[s]) fits = fits && term->sequence(sequence);
      fits = fits && attention_backward(in, plan_of(s, b), contents_[s], kept.read + row * d, dread + row * d, c.width,
                                        kept.lse + row * c.heads, {dq, dk, dv, &gradient_of(s, b)}, attention_scratch_);
      if (!fits) return out_of_memory("the backward pass of attention", 16.0 * rows * d);
      for (auto& term : contents_[s]) term->sequence_backward(sequence, dn + row * d, dq, dk);
    }
    linear_backward(dn, g + t.wq, dqkv, kept.norm1, p + t.wq, r, c.width, c.qkv_width(), a.scratch, true);
    normalise_backward(dn, kept.x, t.attention_norm, t.attention_norm_bias, kept.statistics1, dx, g, r);
  }
  embedding_backward(g + embedding_, dx, tokens, int(rows), c.width, plan_of(0, 0).embedding_scale);
  if (!gradient_of(0, 0).input.empty())
    for (size_t r = 0; r < rows; r++)
      for (size_t i = 0; i < d; i++) gradient_of(0, int(r / length)).input[(r % length) * d + i] += dx[r * d + i];
  for (size_t s = 0; s < stacks_.size(); s++) {
    for (auto& term : contents_[s]) term->end_backward();
    for (int b = 0; b < sequences_planned_; b++)
      if (Error e = stacks_[s].plan_backward(plan_of(int(s), b), 0, gradient_of(int(s), b))) return e;
  }
  return {};
}

}  // namespace lw

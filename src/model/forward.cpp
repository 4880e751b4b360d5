// The forward pass, for whole sequences (training, evaluation) and for new tokens on top of a cache.
#include <algorithm>
#include <cmath>

#include "model/transformer.h"
#include "nn/activation.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "parallel/threads.h"

namespace lw {

// Every activation once: first pass counts, second pass places.
template <class Take>
static void lay_out(const ModelConfig& c, Precision precision, size_t rows, size_t lse_rows, bool keep, bool mixes, Activations& a, Take take) {
  size_t d = c.width, up = c.up_width();
  a.layers.resize(keep ? c.layers : 1);
  for (auto& l : a.layers) {
    take(l.x, rows * d), take(l.norm1, rows * d), take(l.statistics1, 2 * rows), take(l.qkv, rows * c.qkv_width());
    take(l.read, rows * d), take(l.lse, lse_rows * c.heads), take(l.middle, rows * d);
    take(l.norm2, rows * d), take(l.statistics2, 2 * rows), take(l.up, rows * up), take(l.active, rows * c.hidden);
  }
  take(a.last, rows * d), take(a.norm, rows * d), take(a.statistics, 2 * rows), take(a.unmixed, mixes ? rows * d : 0);
  size_t scratch = 0;
  for (auto [in, out] : {std::pair<int, int>{c.width, c.qkv_width()}, {c.width, c.width}, {c.width, c.up_width()},
                         {c.hidden, c.width}, {c.width, c.vocabulary}})
    scratch = std::max({scratch, linear_scratch(int(rows), in, out), linear_scratch(precision, int(rows), in, out)});
  take(a.scratch, scratch);
}

Error Transformer::reserve(int rows, int lse_rows, bool keep) {
  auto rounded = [](size_t n) { return (n + 15) / 16 * 16; };
  double bytes = 0;
  size_t total = 0;
  const bool mixes = stacks_[0].mixer();
  lay_out(config_, precision_, rows, lse_rows, keep, mixes, activations_, [&](float*&, size_t n) { total += rounded(n), bytes += 4.0 * n; });
  if (bytes > 3.9e9 || !activations_.arena.resize(total)) return out_of_memory("the activations", bytes);
  float* next = activations_.arena.data();
  lay_out(config_, precision_, rows, lse_rows, keep, mixes, activations_, [&](float*& p, size_t n) { p = next, next += rounded(n); });
  return {};
}

void Transformer::normalise(const float* x, size_t gain, size_t bias, float* y, float* statistics, int rows) {
  const float* p = parameters_.data();
  const ptrdiff_t d = config_.width;
  parallel_ranges(rows, 1, 4.0 * d, [&](ptrdiff_t first, ptrdiff_t last) {
    const float* from = x + first * d;
    float *to = y + first * d, *kept = statistics + first;
    const int count = int(last - first);
    if (config_.norm == Norm::rms) rms_norm(to, kept, from, p + gain, count, int(d), config_.norm_epsilon);
    else layer_norm(to, kept, kept + rows, from, p + gain, p + bias, count, int(d), config_.norm_epsilon);
  });
}

// A plan stands until its length, its parameters or, in training, its ids are others; one that looks at tokens never does.
Error Transformer::plan(const int* tokens, int batch, int length, Random* random) {
  Random* draw = nullptr;
  Random copy;
  bool reads = false;
  for (auto& stack : stacks_) reads = reads || stack.reads_tokens();
  sequences_planned_ = reads ? batch : 1;
  plans_.resize(stacks_.size() * sequences_planned_), plan_gradients_.resize(plans_.size());
  for (size_t s = 0; s < stacks_.size(); s++) {
    const bool draws = random && stacks_[s].draws();
    if (draws || planned_[s] != length) {
      planned_[s] = 0;
      for (int b = 0; b < sequences_planned_; b++) {
        if (draws) copy = *random, draw = &copy;  // every layer and sequence draws the same ids
        Plan& plan = plans_[s * sequences_planned_ + b];
        if (Error e = stacks_[s].plan(length, 0, draws ? draw : nullptr, plan, tokens + size_t(b) * length)) return e;
      }
      planned_[s] = draws || reads ? 0 : length;
    }
    for (auto& term : contents_[s]) if (!term->begin(length)) return out_of_memory("the content term", 8.0 * length);
  }
  if (draw) *random = copy;
  return {};
}

void Transformer::parameters_changed() {
  reset_cache();
  for (size_t s = 0; s < stacks_.size(); s++) if (stacks_[s].learned()) planned_[s] = 0;
}

void Transformer::embed(const int* tokens, const Pass& pass, float* x) {
  int d = config_.width;
  const Plan& first = pass.decoding ? pass.decoding->plans[0] : plan_of(0, 0);
  embedding(x, weights(embedding_), tokens, pass.rows, d, first.embedding_scale);
  if (first.input.empty()) return;
  for (int r = 0; r < pass.rows; r++) {
    const Plan& plan = pass.decoding ? first : plan_of(0, r / pass.length);
    const float* vector = plan.input.data() + size_t(pass.offset + r % pass.length) * d;
    for (int i = 0; i < d; i++) x[size_t(r) * d + i] += vector[i];
  }
}

// y = unmixed + what an encoding mixes into it from neighbours, sequence by sequence.
Error Transformer::mix(const Pass& pass, float* y) {
  Encoding& mixer = *stacks_[0].mixer();
  const size_t d = config_.width;
  const float* x = activations_.unmixed;
  std::copy_n(x, pass.rows * d, y);
  if (!pass.decoding) {
    for (int b = 0; b < pass.batch; b++) mixer.mix(x + b * pass.length * d, 0, pass.length, y + b * pass.length * d);
    return {};
  }
  Buffer<float>& tail = pass.decoding->tail;  // earlier rows, then the new ones
  const size_t before = tail.size();
  if (!tail.resize(before + pass.rows * d)) return out_of_memory("the input mixed from neighbours", 4.0 * pass.rows * d);
  std::copy_n(x, pass.rows * d, tail.data() + before);
  mixer.mix(tail.data(), int(before / d), pass.rows, y);
  const size_t kept = std::min(tail.size(), mixer.reach() * d);
  std::memmove(tail.data(), tail.end() - kept, kept * sizeof(float));
  return tail.resize(kept) ? Error{} : out_of_memory("the input mixed from neighbours", 4.0 * kept);
}

AttentionInput Transformer::attention_input(const Activations::Layer& a, int first_row, int length) const {
  const ModelConfig& c = config_;
  AttentionInput in;
  in.queries = in.keys = length;
  in.heads = c.heads, in.kv_heads = c.kv_heads, in.head_dim = c.head_dim();
  in.q_stride = in.k_stride = in.v_stride = c.qkv_width();
  in.q = a.qkv + size_t(first_row) * c.qkv_width();
  in.k = in.q + c.width;
  in.v = in.k + c.kv_heads * c.head_dim();
  return in;
}

static Sequence sequence_of(const AttentionInput& in, int offset, const float* x) {
  return {offset, in.queries, x, in.q, in.k, in.q_stride, in.k_stride};
}

Error Transformer::attend(int layer, const Activations::Layer& a, const Pass& pass) {
  int s = stacks_.size() > 1 ? layer : 0, d = config_.width;
  bool fits = true;
  if (pass.decoding) {
    DecodingState& state = *pass.decoding;
    AttentionInput in = attention_input(a, 0, pass.rows);
    for (auto& term : state.contents[layer]) fits = fits && term->sequence(sequence_of(in, pass.offset, a.norm1));
    KeyValueCache& cache = state.layers[layer];
    fits = fits && cache.append(state.plans[s].rotation, in.k, in.k_stride, in.v, in.v_stride, pass.rows);
    if (fits) cache.serve(in, pass.rows);
    if (stack(layer).length_dependent()) in.state = nullptr;  // all keys turn anew
    fits = fits && attention(in, state.plans[s], state.contents[layer], a.read, d, nullptr, attention_scratch_);
  } else {
    for (int b = 0; b < pass.batch && fits; b++) {
      int row = b * pass.length;
      AttentionInput in = attention_input(a, row, pass.length);
      for (auto& term : contents_[s]) fits = fits && term->sequence(sequence_of(in, 0, a.norm1 + size_t(row) * d));
      fits = fits && attention(in, plan_of(s, b), contents_[s], a.read + size_t(row) * d, d, a.lse + size_t(row) * config_.heads, attention_scratch_);
    }
  }
  if (!fits) return out_of_memory("attention", 16.0 * (pass.offset + pass.length) * config_.width);
  return {};
}

Error Transformer::block(int layer, const Activations::Layer& a, float* next, const Pass& pass) {
  const ModelConfig& c = config_;
  const LayerTensors& t = layers_[layer];
  int rows = pass.rows, d = c.width;
  normalise(a.x, t.attention_norm, t.attention_norm_bias, a.norm1, a.statistics1, rows);
  linear(a.qkv, a.norm1, weights(t.wq), rows, d, c.qkv_width(), false, activations_.scratch);
  if (Error e = attend(layer, a, pass)) return e;
  std::copy_n(a.x, size_t(rows) * d, a.middle);
  linear(a.middle, a.read, weights(t.wo), rows, d, d, true, activations_.scratch);
  normalise(a.middle, t.ffn_norm, t.ffn_norm_bias, a.norm2, a.statistics2, rows);
  linear(a.up, a.norm2, weights(t.w1), rows, d, c.up_width(), false, activations_.scratch);
  if (c.activation == Activation::swiglu) swiglu(a.active, a.up, rows, c.hidden);
  else gelu(a.active, a.up, size_t(rows) * c.hidden);
  std::copy_n(a.middle, size_t(rows) * d, next);
  linear(next, a.active, weights(t.w2), rows, c.hidden, d, true, activations_.scratch);
  return {};
}

Error Transformer::forward(const int* tokens, int batch, int length, bool keep, Random* random) {
  Pass pass{batch, length, batch * length, 0, nullptr};
  if (Error e = reserve(pass.rows, pass.rows, keep)) return e;
  if (Error e = plan(tokens, batch, length, random)) return e;
  Activations& a = activations_;
  embed(tokens, pass, a.layers[0].x);
  for (int l = 0; l < config_.layers; l++) {
    float* next = l + 1 == config_.layers ? a.last : a.layers[keep ? l + 1 : 0].x;
    const bool mixes = l == 0 && stacks_[0].mixer();
    if (Error e = block(l, a.layers[keep ? l : 0], mixes ? a.unmixed : next, pass)) return e;
    if (mixes) if (Error e = mix(pass, next)) return e;
  }
  normalise(a.last, final_norm_, final_norm_bias_, a.norm, a.statistics, pass.rows);
  return {};
}

void Transformer::logits(int first, int rows, float* out) {
  linear(out, activations_.norm + size_t(first) * config_.width, weights(head_), rows, config_.width, config_.vocabulary, false, activations_.scratch);
}

static Error check_count(int count, int least) {
  if (count >= least && count <= 1 << 24) return {};
  return {"tokens has " + std::to_string(count) + " entries; allowed: " + std::to_string(least) + " to 16777216"};
}

Error Transformer::logits_of(const int* tokens, int count, float* out) {
  if (Error e = check_count(count, 1)) return e;
  if (Error e = check_tokens(tokens, count)) return e;
  if (Error e = forward(tokens, 1, count, false, nullptr)) return e;
  logits(0, count, out);
  return {};
}

Error Transformer::losses_of(const int* tokens, int count, float* out, unsigned char* correct) {
  if (Error e = check_count(count, 2)) return e;
  if (Error e = check_tokens(tokens, count)) return e;
  if (Error e = forward(tokens, 1, count - 1, false, nullptr)) return e;
  const int chunk = 128, vocabulary = config_.vocabulary;  // logits of all rows at once would be the largest array of all
  Buffer<float> scores;
  if (!scores.resize(size_t(chunk) * vocabulary)) return out_of_memory("the logits", 4.0 * chunk * vocabulary);
  for (int first = 0; first < count - 1; first += chunk) {
    int rows = std::min(chunk, count - 1 - first);
    logits(first, rows, scores.data());
    cross_entropy(out + first, scores.data(), tokens + first + 1, rows, vocabulary);
    for (int r = 0; correct && r < rows; r++) {
      const float* row = scores.data() + size_t(r) * vocabulary;
      correct[first + r] = std::max_element(row, row + vocabulary) - row == tokens[first + r + 1];
    }
  }
  return {};
}

void Transformer::reset_cache() {
  decoding_ = {};
}

// The plans cover a capacity that doubles; where tokens are read or counted, the tokens that there are. moved: cached tokens
// have other numbers now.
Error Transformer::grow_cache(const int* tokens, int count, bool& moved) {
  DecodingState& state = decoding_;
  const int cached = this->cached(), total = cached + count, planned = state.planned;
  bool per_step = false, reads = false, counts = false;
  for (auto& stack : stacks_)
    per_step = per_step || stack.length_dependent(), reads = reads || stack.reads_tokens(), counts = counts || stack.counts_tokens();
  int capacity = reads || counts ? total : total > planned ? std::max({total, 2 * planned, 64}) : planned;
  if (capacity == planned && !per_step) return {};
  std::vector<int> all;
  if (reads) all = state.tokens, all.insert(all.end(), tokens, tokens + count);
  state.plans.resize(stacks_.size()), state.planned = 0;  // should a plan fail, none is to be trusted
  moved = cached && !planned;
  for (size_t s = 0; s < stacks_.size(); s++) {
    Plan& plan = state.plans[s];
    std::vector<double> before;
    if (opens(stacks_[s].doors(), Door::ids) && cached && planned) before.assign(plan.positions.begin(), plan.positions.begin() + cached);
    Error e = stacks_[s].plan(capacity, total, nullptr, plan, all.data());
    if (e && capacity > total) e = stacks_[s].plan(capacity = total, total, nullptr, plan, all.data());  // a table may end here
    if (e) return e;
    moved = moved || !std::equal(before.begin(), before.end(), plan.positions.begin());
  }
  state.planned = capacity;
  if (state.layers.empty()) {
    for (int l = 0; l < config_.layers; l++) {
      state.layers.emplace_back(config_.kv_heads, config_.head_dim(), stack(l).keys_turn_once());
      state.contents.push_back(stack(l).content());
    }
  }
  if (capacity == planned) return {};
  for (auto& terms : state.contents)
    for (auto& term : terms) if (!term->begin(capacity)) return out_of_memory("the content term", 8.0 * capacity);
  return {};
}

bool Transformer::jumps(int before, int now) const {
  for (auto& stack : stacks_) if (stack.jumps(before, now)) return true;
  return false;
}

Error Transformer::feed(const int* tokens, int count, float* out) {
  if (Error e = check_count(count, 1)) return e;
  if (Error e = check_tokens(tokens, count)) return e;
  const int before = cached();
  bool moved = before && jumps(before, before + count);
  if (!moved) if (Error e = grow_cache(tokens, count, moved)) return e;
  if (moved) {  // all that is cached is made anew, together with what comes
    std::vector<int> all = std::move(decoding_.tokens);
    all.insert(all.end(), tokens, tokens + count);
    reset_cache();
    const Error e = feed(all.data(), int(all.size()), out);
    if (e) decoding_.tokens.assign(all.begin(), all.begin() + before), decoding_.planned = 0;  // next time
    return e;
  }
  Pass pass{1, count, count, cached(), &decoding_};
  if (Error e = reserve(count, 0, false)) return e;
  Activations& a = activations_;
  embed(tokens, pass, a.layers[0].x);
  for (int l = 0; l < config_.layers; l++) {
    float* next = l + 1 == config_.layers ? a.last : a.layers[0].x;
    const bool mixes = l == 0 && stacks_[0].mixer();
    Error e = block(l, a.layers[0], mixes ? a.unmixed : next, pass);
    if (!e && mixes) e = mix(pass, next);
    if (!e) continue;
    for (auto& cache : decoding_.layers) cache.truncate(cached());
    if (stacks_[0].mixer()) decoding_.planned = 0;  // its rows are ahead of the tokens: all is made anew next time
    return e;
  }
  decoding_.tokens.insert(decoding_.tokens.end(), tokens, tokens + count);
  if (!out) return {};
  size_t last = size_t(count - 1) * config_.width;
  normalise(a.last + last, final_norm_, final_norm_bias_, a.norm + last, a.statistics, 1);
  logits(count - 1, 1, out);
  return {};
}

}  // namespace lw

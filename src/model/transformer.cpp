// Configuration, the layout of parameters, and their first values.
#include "model/transformer.h"

#include <algorithm>
#include <cmath>

#include "position/text.h"

namespace lw {

Error out_of_memory(const char* what, double bytes) {
  return {"OutOfMemory: there are no " + std::to_string(int64_t(bytes / 1e6) + 1) + " MB of memory for " + what +
          "; use a shorter length, a smaller batch (or microBatch) or a smaller model"};
}

static Error in_range(const char* name, int value, int least, int most) {
  if (value >= least && value <= most) return {};
  return {std::string(name) + " is " + std::to_string(value) + "; allowed: " + std::to_string(least) + " to " + std::to_string(most)};
}

static Error too_many(double parameters) {
  if (parameters <= 4e8) return {};
  return {"the model has " + std::to_string(int64_t(parameters)) + " parameters; allowed: at most 400,000,000"};
}

Error check(const ModelConfig& c) {
  struct { const char* name; int value, least, most; } sizes[] = {
      {"vocabulary", c.vocabulary, 2, 1 << 20}, {"width", c.width, 1, 1 << 14}, {"layers", c.layers, 1, 256},
      {"heads", c.heads, 1, 1024}, {"kvHeads", c.kv_heads, 1, 1024}, {"hidden", c.hidden, 1, 1 << 16},
      {"trainedLength", c.trained_length, 1, 1 << 24}};
  for (auto& s : sizes) if (Error e = in_range(s.name, s.value, s.least, s.most)) return e;
  if (c.width % c.heads)
    return {"width is " + std::to_string(c.width) + "; allowed: a multiple of heads (" + std::to_string(c.heads) + ")"};
  if (c.heads % c.kv_heads)
    return {"kvHeads is " + std::to_string(c.kv_heads) + "; allowed: a divisor of heads (" + std::to_string(c.heads) + ")"};
  if (!(c.norm_epsilon > 0 && c.norm_epsilon <= 1)) return {"normEpsilon is " + number_text(c.norm_epsilon) + "; allowed: above 0 up to 1"};
  double per_layer = double(c.width) * (c.qkv_width() + c.width) + double(c.width) * (c.up_width() + c.hidden) + 2.0 * c.width;
  return too_many(c.layers * per_layer + double(c.vocabulary) * c.width * (c.tied ? 1 : 2));
}

static std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) if (c == separator) parts.emplace_back(); else parts.back() += c;
  return parts;
}

// A spec repeated in every layer adds its vectors once, at the input: later copies go without those encodings.
static std::string without_input(const std::string& spec) {
  std::string rest;
  for (auto& term : split(spec, '+')) {
    const Entry* entry = find_encoding(split(term, ':')[0]);
    if (entry && entry->descriptor->doors == unsigned(Door::input)) continue;
    rest += (rest.empty() ? "" : "+") + term;
  }
  return rest.empty() ? "nope" : rest;
}

static Error make_stacks(const ModelConfig& c, std::vector<Stack>& stacks) {
  auto specs = split(c.encoding, '|');
  if (c.layers % specs.size())
    return {"encoding has " + std::to_string(specs.size()) + " specs separated by |; allowed: one for each of the " +
            std::to_string(c.layers) + " layers, or fewer that are repeated to make as many"};
  bool each_layer = specs.size() > 1;
  stacks.resize(1);
  if (Error e = Stack::make(specs[0], c.shape(), stacks[0])) return e;
  if (!each_layer && !stacks[0].per_layer()) return {};
  stacks.resize(c.layers);
  for (int l = 1; l < c.layers; l++) {
    if (Error e = Stack::make(each_layer ? specs[l % specs.size()] : without_input(specs[0]), c.shape(), stacks[l])) return e;
    if (each_layer && opens(stacks[l].doors(), Door::input))
      return {"encoding of layer " + std::to_string(l) + " is \"" + specs[l % specs.size()] + "\", which opens the input door; allowed: only the first layer has that door"};
  }
  return {};
}

Error Transformer::make(const ModelConfig& config, uint64_t seed, std::unique_ptr<Transformer>& out) {
  if (Error e = build(config, Precision::f32, out)) return e;
  out->initialise(seed);
  return {};
}

Error Transformer::quantised(Precision precision, std::unique_ptr<Transformer>& out) const {
  if (precision_ != Precision::f32) return {"the model is quantised already; allowed: quantise the one that it was made from"};
  std::unique_ptr<Transformer> model;
  if (Error e = build(config_, precision, model)) return e;
  for (size_t i = 0; i < tensors_.size(); i++) {
    const Tensor& to = model->tensors_[i];
    const float* from = parameters_.data() + tensors_[i].offset;
    float most = 0;
    bool finite = true;
    for (const float* w = from; w != from + to.size(); w++) most = std::max(most, std::fabs(*w)), finite = finite && std::isfinite(*w);
    if (!finite) return {"the weights of " + to.name + " are not all finite; allowed in a model to be quantised: finite ones"};
    if (to.packed && precision == Precision::f16 && most > 65504)
      return {"a weight of " + to.name + " has the size " + number_text(most) + "; allowed in f16: at most 65504"};
    if (!to.packed) std::copy_n(from, to.size(), model->parameters_.data() + to.offset);
    for (int r = 0; r < to.rows && to.packed; r++)
      pack_row(precision, from + size_t(r) * to.columns, to.columns, model->packed_.data() + to.offset + r * row_bytes(precision, to.columns));
  }
  out = std::move(model);
  return {};
}

Error Transformer::with_encoding(const std::string& encoding, std::unique_ptr<Transformer>& out) const {
  if (precision_ != Precision::f32) return {"the model is quantised; allowed: put the encoding on the one that it was made from"};
  ModelConfig config = config_;
  config.encoding = encoding;
  std::unique_ptr<Transformer> model;
  if (Error e = build(config, Precision::f32, model)) return e;
  for (const Tensor& to : model->tensors_) {
    // What one stack learned for all layers each layer may have; not the other way round.
    std::string name = to.name;
    if (to.position && model->stacks_.size() > 1 && stacks_.size() == 1) name = "encoding.0" + name.substr(name.find('.', sizeof("encoding")));
    auto from = std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& t) { return t.name == name; });
    const bool many = to.position && stacks_.size() > model->stacks_.size();
    if (from == tensors_.end() || many || from->rows != to.rows || from->columns != to.columns)
      return {quoted(encoding) + " learns " + to.name + (from == tensors_.end() ? "" : many ? " for all layers" : " of another shape") +
              ", which a model trained with " + quoted(config_.encoding) + " has not learned; allowed after training: encodings that learn nothing new"};
    std::copy_n(parameters_.data() + from->offset, to.size(), model->parameters_.data() + to.offset);
  }
  out = std::move(model);
  return {};
}

Error Transformer::build(const ModelConfig& config, Precision precision, std::unique_ptr<Transformer>& out) {
  if (Error e = check(config)) return e;
  auto model = std::make_unique<Transformer>();
  model->config_ = config, model->precision_ = precision;
  if (Error e = make_stacks(config, model->stacks_)) return e;
  if (Error e = model->lay_out_parameters()) return e;
  model->planned_.resize(model->stacks_.size());
  for (auto& stack : model->stacks_) model->contents_.push_back(stack.content());
  model->bind(nullptr);
  out = std::move(model);
  return {};
}

Error Transformer::lay_out_parameters() {
  const ModelConfig& c = config_;
  size_t floats = 0, bytes = 0;
  auto add = [&](std::string name, int rows, int columns, bool decay, bool position = false) {
    const bool packed = precision_ != Precision::f32 && columns && !position;
    tensors_.push_back({std::move(name), rows, columns, packed ? bytes : floats, decay, position, packed});
    if (packed) bytes += rows * row_bytes(precision_, columns);
    else floats += tensors_.back().size();
    return tensors_.back().offset;
  };
  auto add_norm = [&](const std::string& name, size_t& gain, size_t& bias) {
    gain = add(name, c.width, 0, false);
    bias = c.norm == Norm::layer ? add(name + "_bias", c.width, 0, false) : 0;
  };
  int d = c.width, kv = c.kv_heads * c.head_dim();
  embedding_ = add("embedding", c.vocabulary, d, true);
  for (int l = 0; l < c.layers; l++) {
    std::string layer = "layers." + std::to_string(l) + ".";
    LayerTensors t{};
    add_norm(layer + "attention_norm", t.attention_norm, t.attention_norm_bias);
    t.wq = add(layer + "wq", d, d, true);
    add(layer + "wk", kv, d, true), add(layer + "wv", kv, d, true);
    t.wo = add(layer + "wo", d, d, true);
    add_norm(layer + "ffn_norm", t.ffn_norm, t.ffn_norm_bias);
    t.w1 = add(layer + "w1", c.hidden, d, true);
    if (c.activation == Activation::swiglu) add(layer + "w3", c.hidden, d, true);
    t.w2 = add(layer + "w2", d, c.hidden, true);
    layers_.push_back(t);
  }
  add_norm("final_norm", final_norm_, final_norm_bias_);
  head_ = c.tied ? embedding_ : add("head", c.vocabulary, d, true);
  for (size_t s = 0; s < stacks_.size(); s++)
    for (auto& encoding : stacks_[s].encodings())
      for (Parameter& p : encoding->parameters())
        add("encoding." + std::to_string(s) + "." + encoding->descriptor().name + "." + p.name, p.rows, p.columns, p.decay, true);
  double total = 0;  // with those of the encodings; offsets may have wrapped where size_t has 32 bits
  for (auto& t : tensors_) total += double(t.rows) * (t.columns ? t.columns : 1);
  if (Error e = too_many(total)) return e;
  if (!parameters_.assign(floats, 0) || !packed_.assign(bytes, 0)) return out_of_memory("the model", 4.0 * floats + bytes);
  return {};
}

Weights Transformer::weights(size_t offset) const {
  if (precision_ == Precision::f32) return {precision_, reinterpret_cast<const unsigned char*>(parameters_.data() + offset)};
  return {precision_, packed_.data() + offset};
}

size_t Transformer::parameter_count() const {
  size_t count = 0;
  for (auto& t : tensors_) count += t.size();
  return count;
}

void Transformer::values_of(const Tensor& t, float* out) const {
  if (!t.packed) std::copy_n(parameters_.data() + t.offset, t.size(), out);
  for (int r = 0; r < t.rows && t.packed; r++)
    unpack_row(precision_, packed_.data() + t.offset + r * row_bytes(precision_, t.columns), t.columns, out + size_t(r) * t.columns);
}

void Transformer::bind(float* gradients) {
  size_t next = 0;
  while (next < tensors_.size() && !tensors_[next].position) next++;
  for (auto& stack : stacks_)
    for (Parameter* p : stack.parameters()) {
      size_t offset = tensors_[next++].offset;
      p->value = parameters_.data() + offset;
      p->gradient = gradients ? gradients + offset : nullptr;
    }
}

// Linear maps N(0, 1/in), the two that write to the residual stream divided by √(2·layers) as well; embedding N(0, 1/d),
// so that ×√d gives unit variance and a tied head gives logits of unit variance; norms 1; encodings as they say.
void Transformer::initialise(uint64_t seed) {
  Random random(seed, 1);
  for (auto& t : tensors_) {
    if (t.position) continue;
    float* p = parameters_.data() + t.offset;
    bool vector = t.columns == 0, bias = t.name.ends_with("_bias");
    double deviation = 1 / std::sqrt(double(vector ? 1 : t.columns));
    if (t.name.ends_with("wo") || t.name.ends_with("w2")) deviation /= std::sqrt(2.0 * config_.layers);
    for (size_t i = 0; i < t.size(); i++) p[i] = vector ? (bias ? 0.f : 1.f) : float(deviation * random.normal());
  }
  for (auto& stack : stacks_) stack.initialise(random);
}

Error Transformer::check_tokens(const int* tokens, long count) const {
  for (long i = 0; i < count; i++)
    if (tokens[i] < 0 || tokens[i] >= config_.vocabulary)
      return {"tokens[" + std::to_string(i) + "] is " + std::to_string(tokens[i]) + "; allowed: 0 to " + std::to_string(config_.vocabulary - 1)};
  return {};
}

}  // namespace lw

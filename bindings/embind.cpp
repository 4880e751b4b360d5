// The thin edge to JavaScript. Arrays cross as addresses from malloc, descriptions as JSON, faults as sentences ("" is
// fine); the TypeScript beside this file throws them and hides all of it.
#include <emscripten/bind.h>

#include <algorithm>
#include <cstring>

#include "handles.h"
#include "json.h"
#include "model/sampling.h"
#include "requests.h"

using namespace lw;
using emscripten::allow_raw_pointers;
using emscripten::class_;
using emscripten::function;
using emscripten::value_object;

namespace {

void write_doors(Json& json, unsigned doors) {
  const char* names[] = {"ids", "input", "rotation", "bias", "content", "pattern", "scale", "value"};
  json.key("doors").open('[');
  for (int i = 0; i < 8; i++) if (doors >> i & 1) json.value(names[i]);
  json.close(']');
}

// One stack of encodings with parameters of its own.
class Encoder {
 public:
  static Encoder* make(std::string spec, ShapeRequest request, double seed) {
    auto encoder = std::make_unique<Encoder>();
    Shape shape;
    Error e = read(request, shape);
    if (!e) e = Stack::make(spec, shape, encoder->stack_);
    if (!e) e = encoder->bind(uint64_t(seed));
    if (!e && !encoder->tokens_.assign(1, 0)) e = out_of_memory("the tokens", 4);
    return made(std::move(e), std::move(encoder));
  }
  std::string describe() {
    Json json;
    json.open('{').field("spec", stack_.spec().c_str());
    write_doors(json, stack_.doors());
    json.field("pairs", double(plan_.rotation.pairs)).field("pairing", plan_.rotation.pairing == Pairing::half ? "half" : "interleaved");
    json.field("scoreScale", double(plan_.score_scale));
    json.field("embeddingScale", double(plan_.embedding_scale)).field("lengthDependent", stack_.length_dependent());
    json.field("readsTokens", stack_.reads_tokens());
    json.field("mixes", std::any_of(stack_.encodings().begin(), stack_.encodings().end(), [](auto& e) { return e->mixes(); }));
    json.field("readsInput", std::any_of(stack_.encodings().begin(), stack_.encodings().end(), [](auto& e) { return e->descriptor().reads_input; }));
    json.field("learned", stack_.learned()).key("parameters").open('[');
    const std::vector<Parameter*> all = stack_.parameters();
    for (auto& e : stack_.encodings())
      for (Parameter& p : e->parameters()) {
        // Where two encodings use the same word, both say whose it is.
        const bool alone = std::count_if(all.begin(), all.end(), [&](Parameter* other) { return std::string_view(other->name) == p.name; }) == 1;
        const std::string name = (alone ? "" : std::string(e->descriptor().name) + ".") + p.name;
        json.open('{').field("name", name.c_str()).field("rows", double(p.rows)).field("columns", double(p.columns))
            .field("offset", double(p.value - parameters_.data())).close('}');
      }
    return json.close(']').close('}').text();
  }
  std::string plan(double positions, double length, double present) {
    Reader in;
    int n, now;
    in.integer("length", length, 1, 1 << 24, n);
    in.integer("present", present, 0, 1 << 24, now);
    if (in.error()) return in.error().text;
    if (stack_.reads_tokens() && tokens_.size() != size_t(n))
      return (tokens_.size() ? "tokens has " + number_text(double(tokens_.size())) + " entries" : std::string("tokens are missing")) + "; allowed with '" + stack_.spec() +
             "', which looks at which tokens there are (setTokens, --tokens): " + number_text(n);
    Error e = positions ? stack_.plan(std::span<const double>(at<double>(positions), n), now, nullptr, plan_, tokens_.data())
                        : stack_.plan(n, now, nullptr, plan_, tokens_.data());
    return e.text;
  }
  std::string tokens(double values, double count) {
    if (!tokens_.resize(size_t(count))) return out_of_memory("the tokens", 4 * count).text;
    std::copy_n(at<int>(values), size_t(count), tokens_.data());
    return "";
  }
  void positions(double out) { std::copy(plan_.positions.begin(), plan_.positions.end(), at<double>(out)); }
  void input(double out) { std::copy(plan_.input.begin(), plan_.input.end(), at<float>(out)); }
  void rotation(double cosine, double sine, bool key) {
    const auto& r = plan_.rotation;
    const bool own = key && !r.key_cosine.empty();
    std::copy_n((own ? r.key_cosine : r.cosine).data(), r.cosine.size(), at<float>(cosine));
    std::copy_n((own ? r.key_sine : r.sine).data(), r.sine.size(), at<float>(sine));
  }
  void frequencies(double out, double present) {
    const double one = 1;
    for (auto& e : stack_.encodings())
      if (opens(e->descriptor().doors, Door::rotation)) e->rotation({&one, 1}, int(present), at<double>(out));
  }
  void bias(double out, double queries, double keys, double offset) {
    float* row = at<float>(out);
    for (int h = 0; h < stack_.shape().heads; h++)
      for (int i = 0; i < int(queries); i++, row += int(keys)) {
        const int query = int(offset) + i, held = plan_.bias.table.empty() ? 0 : plan_.bias.triangular ? std::min(int(keys), query + 1) : int(keys);
        std::copy_n(plan_.bias.row(h, query), held, row);
        std::memset(row + held, 0, size_t(int(keys) - held) * sizeof(float));
      }
  }
  void pattern(double out, double queries, double keys, double offset) {
    auto* row = at<uint8_t>(out);
    const int m = int(keys);
    for (int i = 0; i < int(queries); i++, row += m) {
      std::fill_n(row, m, 0);
      const int query = int(offset) + i;
      if (plan_.pattern.begin.empty()) { std::fill_n(row, plan_.causal ? std::min(query + 1, m) : m, 1); continue; }
      for (int s = plan_.pattern.begin[query]; s < plan_.pattern.begin[query + 1]; s++)
        for (int j = plan_.pattern.intervals[s].first; j < std::min(plan_.pattern.intervals[s].last, m); j++) row[j] = 1;
    }
  }
  void scale(double out) {
    size_t n = size_t(stack_.shape().heads) * plan_.length;
    if (plan_.scale.empty()) std::fill_n(at<float>(out), n, 1.f);
    else std::copy_n(plan_.scale.data(), n, at<float>(out));
  }
  std::string rotate(double x, double count, double heads, double first, bool key, bool adjoint) {
    Reader in;
    int dim = stack_.shape().head_dim, tokens, vectors, start;
    in.integer("count", count, 0, plan_.length, tokens);
    in.integer("heads", heads, 1, 1 << 16, vectors);
    in.integer("first", first, 0, plan_.length - count, start);
    if (in.error()) return in.error().text;
    if (plan_.rotation.pairs) lw::rotate(plan_.rotation, key ? lw::Side::key : lw::Side::query, at<float>(x), ptrdiff_t(vectors) * dim, tokens, vectors, dim, start, adjoint);
    return "";
  }
  // The plan holds the positions that the vectors were rotated for, then those that they go to.
  void turn_on(double x, double count, double heads, bool key) {
    const int n = int(count), vectors = int(heads), dim = stack_.shape().head_dim;
    lw::turn_on(plan_.rotation, key ? Side::key : Side::query, at<float>(x), ptrdiff_t(vectors) * dim, n, vectors, dim, 0, n);
  }
  std::string attention(double q, double k, double v, double x, double out, double queries, double keys, double offset) {
    const Shape& s = stack_.shape();
    AttentionInput in;
    in.queries = int(queries), in.keys = int(keys), in.offset = int(offset);
    in.heads = s.heads, in.kv_heads = s.kv_heads, in.head_dim = s.head_dim;
    in.q = at<float>(q), in.k = at<float>(k), in.v = at<float>(v);
    in.q_stride = ptrdiff_t(s.heads) * s.head_dim, in.k_stride = in.v_stride = ptrdiff_t(s.kv_heads) * s.head_dim;
    auto contents = stack_.content();
    bool fits = true;
    for (auto& term : contents) {
      // Content terms follow a sequence from its first token: every key needs its query and input.
      if (in.offset != 0 || in.queries != in.keys) return "offset is " + number_text(offset) + "; allowed with content encodings: 0, and as many queries as keys";
      fits = fits && term->begin(in.keys) && term->sequence({0, in.queries, at<float>(x), in.q, in.k, in.q_stride, in.k_stride});
    }
    fits = fits && lw::attention(in, plan_, contents, at<float>(out), in.q_stride, nullptr, scratch_);
    return fits ? "" : out_of_memory("attention", 8.0 * queries * in.q_stride).text;
  }
  double parameters() { return address_of(parameters_.data()); }
  double parameter_count() { return double(parameters_.size()); }

 private:
  Error bind(uint64_t seed) {
    size_t total = 0;
    for (Parameter* p : stack_.parameters()) total += p->size();
    if (!parameters_.assign(total, 0)) return out_of_memory("the encoding", 4.0 * total);
    float* next = parameters_.data();
    for (Parameter* p : stack_.parameters()) p->value = next, next += p->size();
    Random random(seed, 1);
    stack_.initialise(random);
    return {};
  }
  Buffer<int> tokens_;  // which tokens a plan is about, for stacks that look at them
  Stack stack_;
  Plan plan_;
  Buffer<float> parameters_;
  AttentionScratch scratch_;
};

void write_model(Json& json, Transformer& model) {
  const ModelConfig& c = model.config();
  json.field("vocabulary", double(c.vocabulary)).field("width", double(c.width)).field("layers", double(c.layers));
  json.field("heads", double(c.heads)).field("kvHeads", double(c.kv_heads)).field("hidden", double(c.hidden));
  json.field("trainedLength", double(c.trained_length)).field("norm", c.norm == Norm::rms ? "rms" : "layer");
  json.field("normEpsilon", double(c.norm_epsilon)).field("activation", c.activation == Activation::gelu ? "gelu" : "swiglu");
  json.field("tied", c.tied).field("causal", c.causal).field("encoding", c.encoding.c_str());
  json.field("parameters", double(model.parameter_count())).key("tensors").open('[');
  for (auto& t : model.tensors()) {
    json.open('{').field("name", t.name.c_str()).field("offset", double(t.offset)).key("shape").open('[').value(double(t.rows));
    if (t.columns) json.value(double(t.columns));
    json.close(']').close('}');
  }
  json.close(']');
}

class Model {
 public:
  static Model* make(ModelRequest request, double seed) {
    auto model = std::make_unique<Model>();
    ModelConfig config;
    Error e = read(request, config);
    if (!e) e = Transformer::make(config, uint64_t(seed), model->model_);
    return made(std::move(e), std::move(model));
  }
  std::string describe() {
    Json json;
    json.open('{');
    write_model(json, *model_);
    return json.close('}').text();
  }
  // precision as in Precision. The f32 weights are given back: a trainer must not be used any more.
  std::string quantise(double precision) {
    std::unique_ptr<Transformer> packed;
    if (Error e = model_->quantised(Precision(int(precision)), packed)) return e.text;
    model_ = std::move(packed);
    return {};
  }
  Model* with_encoding(std::string encoding) {
    auto model = std::make_unique<Model>();
    Error e = model_->with_encoding(encoding, model->model_);
    return made(std::move(e), std::move(model));
  }
  void tensor(double index, double out) { model_->values_of(model_->tensors()[size_t(index)], at<float>(out)); }
  double parameters() { return address_of(model_->parameters()); }
  double parameter_count() { return double(model_->parameter_count()); }
  void parameters_changed() { model_->parameters_changed(); }
  std::string logits(double tokens, double count, double out) { return model_->logits_of(at<int>(tokens), int(count), at<float>(out)).text; }
  std::string losses(double tokens, double count, double out) { return model_->losses_of(at<int>(tokens), int(count), at<float>(out), nullptr).text; }
  void cache_reset() { model_->reset_cache(); }
  std::string cache_feed(double tokens, double count, double out) { return model_->feed(at<int>(tokens), int(count), at<float>(out)).text; }
  double cache_length() { return model_->cached(); }
  double sample(double logits, double temperature, double top_k, double top_p) {
    return lw::sample(at<float>(logits), model_->config().vocabulary, {float(temperature), int(top_k), float(top_p)}, random_);
  }
  void seed(double seed) { random_ = Random(uint64_t(seed), 3); }
  double transformer() { return address_of(model_.get()); }

 private:
  std::unique_ptr<Transformer> model_;
  Random random_{0, 3};
};

// Classes are described to JavaScript when they are first asked for: all of them take as long as the rest of the start.
void describe_encoder() {
  class_<Encoder>("Encoder")
      .class_function("make", &Encoder::make, allow_raw_pointers())
      .function("describe", &Encoder::describe).function("plan", &Encoder::plan).function("tokens", &Encoder::tokens).function("positions", &Encoder::positions)
      .function("input", &Encoder::input).function("rotation", &Encoder::rotation).function("bias", &Encoder::bias)
      .function("pattern", &Encoder::pattern).function("scale", &Encoder::scale).function("rotate", &Encoder::rotate)
      .function("turnOn", &Encoder::turn_on).function("frequencies", &Encoder::frequencies)
      .function("attention", &Encoder::attention).function("parameters", &Encoder::parameters)
      .function("parameterCount", &Encoder::parameter_count);
}

void describe_models() {
  value_object<ModelRequest>("ModelRequest")
      .field("vocabulary", &ModelRequest::vocabulary).field("width", &ModelRequest::width).field("layers", &ModelRequest::layers)
      .field("heads", &ModelRequest::heads).field("kvHeads", &ModelRequest::kvHeads).field("hidden", &ModelRequest::hidden)
      .field("trainedLength", &ModelRequest::trainedLength).field("normEpsilon", &ModelRequest::normEpsilon)
      .field("norm", &ModelRequest::norm).field("activation", &ModelRequest::activation).field("encoding", &ModelRequest::encoding)
      .field("tied", &ModelRequest::tied).field("causal", &ModelRequest::causal);
  class_<Model>("Model")
      .class_function("make", &Model::make, allow_raw_pointers())
      .function("describe", &Model::describe).function("parameters", &Model::parameters)
      .function("parameterCount", &Model::parameter_count).function("parametersChanged", &Model::parameters_changed)
      .function("withEncoding", &Model::with_encoding, allow_raw_pointers()).function("quantise", &Model::quantise).function("tensor", &Model::tensor)
      .function("logits", &Model::logits).function("losses", &Model::losses).function("cacheReset", &Model::cache_reset)
      .function("cacheFeed", &Model::cache_feed).function("cacheLength", &Model::cache_length).function("sample", &Model::sample)
      .function("seed", &Model::seed).function("transformer", &Model::transformer);
}

}  // namespace

EMSCRIPTEN_BINDINGS(lengthwise) {
  function("catalogue", &catalogue_json);
  function("lastError", +[] { return last_error; });
  function("describeEncoder", &describe_encoder);
  function("describeModels", &describe_models);
  value_object<ShapeRequest>("ShapeRequest")
      .field("heads", &ShapeRequest::heads).field("kvHeads", &ShapeRequest::kvHeads).field("headDim", &ShapeRequest::headDim)
      .field("width", &ShapeRequest::width).field("trainedLength", &ShapeRequest::trainedLength).field("causal", &ShapeRequest::causal);
}

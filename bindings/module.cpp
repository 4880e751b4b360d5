// What JavaScript can call. Arrays cross as addresses from malloc, descriptions as JSON, faults as sentences ("" is fine);
// the TypeScript beside this file throws them and hides all of it.
#include <emscripten/emscripten.h>

#include <algorithm>

#include "calls.h"
#include "json.h"
#include "model/sampling.h"
#include "requests.h"

using namespace lw;

namespace {

std::string last_error;

template <class T> T* made(Error e, std::unique_ptr<T> object) {
  last_error = e.text;
  return e ? nullptr : object.release();
}

void write_doors(Json& json, unsigned doors) {
  const char* names[] = {"ids", "input", "rotation", "bias", "content", "pattern", "scale", "value"};
  json.key("doors").open('[');
  for (int i = 0; i < 8; i++) if (doors >> i & 1) json.value(names[i]);
  json.close(']');
}

// One stack of encodings with parameters of its own.
class Encoder {
 public:
  static Encoder* make(const Text* spec, const ShapeRequest* request, double seed) {
    auto encoder = std::make_unique<Encoder>();
    Shape shape;
    Error e = read(*request, shape);
    if (!e) e = Stack::make(spec->view(), shape, encoder->stack_);
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
  std::string plan(const double* positions, double length, double present) {
    Reader in;
    int n, now;
    in.integer("length", length, 1, 1 << 24, n);
    in.integer("present", present, 0, 1 << 24, now);
    if (in.error()) return in.error().text;
    if (stack_.reads_tokens() && tokens_.size() != size_t(n))
      return "tokens has " + number_text(double(tokens_.size())) + " entries; allowed with '" + stack_.spec() +
             "', which looks at which tokens there are (setTokens, --tokens): " + number_text(n);
    Error e = positions ? stack_.plan(std::span<const double>(positions, n), now, nullptr, plan_, tokens_.data())
                        : stack_.plan(n, now, nullptr, plan_, tokens_.data());
    return e.text;
  }
  std::string tokens(const int* values, double count) {
    if (!tokens_.resize(size_t(count))) return out_of_memory("the tokens", 4 * count).text;
    std::copy_n(values, size_t(count), tokens_.data());
    return "";
  }
  void positions(double* out) { std::copy(plan_.positions.begin(), plan_.positions.end(), out); }
  void input(float* out) { std::copy(plan_.input.begin(), plan_.input.end(), out); }
  void rotation(float* cosine, float* sine, bool key) {
    const auto& r = plan_.rotation;
    const bool own = key && !r.key_cosine.empty();
    std::copy_n((own ? r.key_cosine : r.cosine).data(), r.cosine.size(), cosine);
    std::copy_n((own ? r.key_sine : r.sine).data(), r.sine.size(), sine);
  }
  void frequencies(double* out, double present) {
    const double one = 1;
    for (auto& e : stack_.encodings())
      if (opens(e->descriptor().doors, Door::rotation)) e->rotation({&one, 1}, int(present), out);
  }
  void bias(float* row, double queries, double keys, double offset) {
    for (int h = 0; h < stack_.shape().heads; h++)
      for (int i = 0; i < int(queries); i++, row += int(keys)) {
        if (plan_.bias.table.empty()) std::fill_n(row, int(keys), 0.f);
        else std::copy_n(plan_.bias.row(h, int(offset) + i), int(keys), row);
      }
  }
  void pattern(uint8_t* row, double queries, double keys, double offset) {
    const int m = int(keys);
    for (int i = 0; i < int(queries); i++, row += m) {
      std::fill_n(row, m, 0);
      const int query = int(offset) + i;
      if (plan_.pattern.begin.empty()) { std::fill_n(row, plan_.causal ? std::min(query + 1, m) : m, 1); continue; }
      for (int s = plan_.pattern.begin[query]; s < plan_.pattern.begin[query + 1]; s++)
        for (int j = plan_.pattern.intervals[s].first; j < std::min(plan_.pattern.intervals[s].last, m); j++) row[j] = 1;
    }
  }
  void scale(float* out) {
    size_t n = size_t(stack_.shape().heads) * plan_.length;
    if (plan_.scale.empty()) std::fill_n(out, n, 1.f);
    else std::copy_n(plan_.scale.data(), n, out);
  }
  std::string rotate(float* x, double count, double heads, double first, bool key, bool adjoint) {
    Reader in;
    int dim = stack_.shape().head_dim, tokens, vectors, start;
    in.integer("count", count, 0, plan_.length, tokens);
    in.integer("heads", heads, 1, 1 << 16, vectors);
    in.integer("first", first, 0, plan_.length - count, start);
    if (in.error()) return in.error().text;
    if (plan_.rotation.pairs) lw::rotate(plan_.rotation, key ? lw::Side::key : lw::Side::query, x, ptrdiff_t(vectors) * dim, tokens, vectors, dim, start, adjoint);
    return "";
  }
  // The plan holds the positions that the vectors were rotated for, then those that they go to.
  void turn_on(float* x, double count, double heads, bool key) {
    const int n = int(count), vectors = int(heads), dim = stack_.shape().head_dim;
    lw::turn_on(plan_.rotation, key ? Side::key : Side::query, x, ptrdiff_t(vectors) * dim, n, vectors, dim, 0, n);
  }
  std::string attention(const float* q, const float* k, const float* v, const float* x, float* out, double queries, double keys, double offset) {
    const Shape& s = stack_.shape();
    AttentionInput in;
    in.queries = int(queries), in.keys = int(keys), in.offset = int(offset);
    in.heads = s.heads, in.kv_heads = s.kv_heads, in.head_dim = s.head_dim;
    in.q = q, in.k = k, in.v = v;
    in.q_stride = ptrdiff_t(s.heads) * s.head_dim, in.k_stride = in.v_stride = ptrdiff_t(s.kv_heads) * s.head_dim;
    auto contents = stack_.content();
    bool fits = true;
    for (auto& term : contents) {
      // Content terms follow a sequence from its first token: every key needs its query and input.
      if (in.offset != 0 || in.queries != in.keys) return "offset is " + number_text(offset) + "; allowed with content encodings: 0, and as many queries as keys";
      fits = fits && term->begin(in.keys) && term->sequence({0, in.queries, x, in.q, in.k, in.q_stride, in.k_stride});
    }
    fits = fits && lw::attention(in, plan_, contents, out, in.q_stride, nullptr, scratch_);
    return fits ? "" : out_of_memory("attention", 8.0 * queries * in.q_stride).text;
  }
  float* parameters() { return parameters_.data(); }
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

std::string train_info(const TrainInfo& info) {
  Json json;
  json.open('{').field("step", double(info.step)).field("loss", info.loss).field("gradientNorm", info.gradient_norm);
  return json.field("learningRate", info.learning_rate).close('}').text();
}

class Model {
 public:
  static Model* make(const ModelRequest* request, double seed) {
    auto model = std::make_unique<Model>();
    ModelConfig config;
    Error e = read(*request, config);
    if (!e) e = Transformer::make(config, uint64_t(seed), model->model_);
    return made(std::move(e), std::move(model));
  }
  std::string describe() {
    Json json;
    json.open('{');
    write_model(json, *model_);
    return json.close('}').text();
  }
  float* parameters() { return model_->parameters(); }
  double parameter_count() { return double(model_->parameter_count()); }
  void parameters_changed() { model_->parameters_changed(); }
  std::string logits(const int* tokens, double count, float* out) { return model_->logits_of(tokens, int(count), out).text; }
  std::string losses(const int* tokens, double count, float* out) { return model_->losses_of(tokens, int(count), out, nullptr).text; }
  void cache_reset() { model_->reset_cache(); }
  std::string cache_feed(const int* tokens, double count, float* out) { return model_->feed(tokens, int(count), out).text; }
  double cache_length() { return model_->cached(); }
  double sample(const float* logits, double temperature, double top_k, double top_p) {
    return lw::sample(logits, model_->config().vocabulary, {float(temperature), int(top_k), float(top_p)}, random_);
  }
  void seed(double seed) { random_ = Random(uint64_t(seed), 3); }

  std::string trainer_make(const TrainRequest* request, double seed) {
    TrainConfig config;
    Error e = read(*request, config);
    if (!e) e = Trainer::make(*model_, config, uint64_t(seed), trainer_);
    return e.text;
  }
  std::string train_step(const int* tokens, const float* mask, double batch, double length) {
    if (!trainer_) return "the model has no trainer; allowed: call trainer() first";
    Reader in;
    int sequences, n;
    in.integer("batch", batch, 1, 1 << 16, sequences);
    in.integer("length", length, 1, 1 << 20, n);
    if (in.error()) return in.error().text;
    return trainer_->step(tokens, mask, sequences, n).text;
  }
  std::string train_info() { return ::train_info(trainer_ ? trainer_->info() : TrainInfo{}); }
  void* train_state() { return trainer_ ? (trainer_->save(), trainer_->state()) : nullptr; }
  double train_state_bytes() { return trainer_ ? double(trainer_->state_bytes()) : 0; }
  void train_state_changed() { if (trainer_) trainer_->restore(); }

 private:
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<Trainer> trainer_;
  Random random_{0, 3};
};

class TrainingRun {
 public:
  static TrainingRun* make(const ModelRequest* given, const RunRequest* request) {
    auto run = std::make_unique<TrainingRun>();
    ModelConfig config;
    RunConfig run_config;
    ModelRequest model = *given;
    model.vocabulary = 256;  // the task decides
    Error e = read(model, config);
    if (!e) e = read(*request, run_config);
    if (!e) e = Run::make(config, run_config, run->run_);
    return made(std::move(e), std::move(run));
  }
  std::string set_text(const uint8_t* train, double train_bytes, const uint8_t* test, double test_bytes) {
    return run_->source().set_text(train, size_t(train_bytes), test, size_t(test_bytes)).text;
  }
  std::string train(double steps) { return run_->train(int(steps)).text; }
  const auto* losses() { return run_->losses().data(); }
  double loss_count() { return double(run_->losses().size()); }
  std::string test(double length, double tokens) {
    Reader in;
    int n, total;
    in.integer("test length", length, 1, 1 << 24, n);
    in.integer("tokens", tokens, 1, 1 << 30, total);
    if (in.error()) return in.error().text;
    return run_->test(n, total, result_).text;
  }
  std::string test_info() {
    Json json;
    json.open('{').field("length", double(result_.length)).field("sequences", double(result_.sequences)).field("tokens", result_.tokens);
    json.field("loss", result_.loss).field("perplexity", std::exp(result_.loss)).field("bitsPerToken", result_.loss / std::log(2.0));
    return json.field("accuracy", result_.accuracy).close('}').text();
  }
  const auto* by_position() { return result_.by_position.data(); }
  double by_position_count() { return double(result_.by_position.size()); }
  std::string train_info() { return ::train_info(run_->trainer().info()); }
  std::string describe() {
    Json json;
    json.open('{').field("step", double(run_->trainer().info().step));
    write_model(json, run_->model());
    return json.close('}').text();
  }
  float* parameters() { return run_->model().parameters(); }
  double parameter_count() { return double(run_->model().parameter_count()); }
  void* train_state() { return run_->trainer().save(), run_->trainer().state(); }
  double train_state_bytes() { return double(run_->trainer().state_bytes()); }
  void train_state_changed() { run_->model().parameters_changed(), run_->trainer().restore(); }

 private:
  std::unique_ptr<Run> run_;
  TestResult result_;
};

template <class T> void remove(T* object) { delete object; }

std::string take_error() { return last_error; }

const Call calls[] = {
    call<&catalogue_json>("catalogue"), call<&take_error>("lastError"), call<&audit_json>("audit"),
    call<&register_definition>("registerEncoding"), call<&unregister_definition>("unregisterEncoding"),

    call<&Encoder::make>("Encoder.make"), call<&Encoder::describe>("Encoder.describe"), call<&Encoder::plan>("Encoder.plan"),
    call<&Encoder::tokens>("Encoder.tokens"), call<&Encoder::positions>("Encoder.positions"),
    call<&Encoder::input>("Encoder.input"), call<&Encoder::rotation>("Encoder.rotation"),
    call<&Encoder::bias>("Encoder.bias"), call<&Encoder::pattern>("Encoder.pattern"), call<&Encoder::scale>("Encoder.scale"),
    call<&Encoder::rotate>("Encoder.rotate"), call<&Encoder::turn_on>("Encoder.turnOn"),
    call<&Encoder::frequencies>("Encoder.frequencies"), call<&Encoder::attention>("Encoder.attention"),
    call<&Encoder::parameters>("Encoder.parameters"), call<&Encoder::parameter_count>("Encoder.parameterCount"),
    call<&remove<Encoder>>("Encoder.delete"),

    call<&Model::make>("Model.make"), call<&Model::describe>("Model.describe"), call<&Model::parameters>("Model.parameters"),
    call<&Model::parameter_count>("Model.parameterCount"), call<&Model::parameters_changed>("Model.parametersChanged"),
    call<&Model::logits>("Model.logits"), call<&Model::losses>("Model.losses"),
    call<&Model::cache_reset>("Model.cacheReset"), call<&Model::cache_feed>("Model.cacheFeed"),
    call<&Model::cache_length>("Model.cacheLength"), call<&Model::sample>("Model.sample"), call<&Model::seed>("Model.seed"),
    call<&Model::trainer_make>("Model.trainerMake"), call<&Model::train_step>("Model.trainStep"),
    call<&Model::train_info>("Model.trainInfo"), call<&Model::train_state>("Model.trainState"),
    call<&Model::train_state_bytes>("Model.trainStateBytes"), call<&Model::train_state_changed>("Model.trainStateChanged"),
    call<&remove<Model>>("Model.delete"),

    call<&TrainingRun::make>("Run.make"), call<&TrainingRun::set_text>("Run.setText"),
    call<&TrainingRun::train>("Run.train"), call<&TrainingRun::losses>("Run.losses"),
    call<&TrainingRun::loss_count>("Run.lossCount"), call<&TrainingRun::test>("Run.test"),
    call<&TrainingRun::test_info>("Run.testInfo"), call<&TrainingRun::by_position>("Run.testByPosition"),
    call<&TrainingRun::by_position_count>("Run.testByPositionCount"), call<&TrainingRun::train_info>("Run.trainInfo"),
    call<&TrainingRun::describe>("Run.describe"), call<&TrainingRun::parameters>("Run.parameters"),
    call<&TrainingRun::parameter_count>("Run.parameterCount"), call<&TrainingRun::train_state>("Run.trainState"),
    call<&TrainingRun::train_state_bytes>("Run.trainStateBytes"),
    call<&TrainingRun::train_state_changed>("Run.trainStateChanged"), call<&remove<TrainingRun>>("Run.delete"),
    {nullptr, 0, nullptr}};

}  // namespace

const Text* lw::answer(const std::string& text) {
  if (text.empty()) return nullptr;
  static std::string kept(64, 0);  // on the heap from the start, where the size is aligned
  const uint32_t size = uint32_t(text.size());
  kept.assign(reinterpret_cast<const char*>(&size), sizeof size) += text;
  return reinterpret_cast<const Text*>(kept.data());
}

// Without exceptions there is no way on when memory has run out. The library's own would print it, with all of printf.
__attribute__((import_module("env"), import_name("exhausted"))) extern "C" [[noreturn]] void js_exhausted();
void* operator new(size_t bytes) {
  if (void* block = std::malloc(bytes ? bytes : 1)) return block;
  js_exhausted();
}

extern "C" EMSCRIPTEN_KEEPALIVE const Call* lengthwise_calls() { return calls; }

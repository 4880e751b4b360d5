// A stack from its spec; the plan is made in plan.cpp.
#include "position/stack.h"

#include "position/text.h"

namespace lw {
namespace {

Error check_shape(const Shape& s) {
  const int largest = 1 << 14;
  struct { const char* name; int value, most; } sizes[] = {{"heads", s.heads, 1024}, {"kvHeads", s.kv_heads, 1024},
      {"headDim", s.head_dim, largest}, {"width", s.width, largest}, {"trainedLength", s.trained_length, 1 << 24}};
  for (auto& size : sizes)
    if (size.value < 1 || size.value > size.most)
      return {std::string(size.name) + " is " + std::to_string(size.value) + "; allowed: 1 to " + std::to_string(size.most)};
  if (s.heads % s.kv_heads)
    return {"kvHeads is " + std::to_string(s.kv_heads) + "; allowed: a divisor of heads (" + std::to_string(s.heads) + ")"};
  return {};
}

std::string known_names() {
  std::string names;
  for (const Entry* entry : all_encodings()) names += (names.empty() ? "" : ", ") + std::string(entry->descriptor->name);
  return names;
}

// Only what differs from the defaults, in the descriptor's order.
std::string canonical(const Descriptor& d, const Options& options) {
  std::string text = d.name;
  for (size_t n = 0; n < d.options.size(); n++) {
    const Option& o = d.options[n];
    double value = options.value(n);
    std::span<const double> list = options.list(n);
    if (value == o.initial && list.empty()) continue;
    text += std::string(":") + o.name + "=";
    if (o.kind == Option::flag) text += value ? "true" : "false";
    else if (o.kind == Option::numbers) for (size_t i = 0; i < list.size(); i++) text += (i ? ";" : "") + number_text(list[i]);
    else if (o.kind != Option::choice) text += number_text(value);
    else {
      std::string_view rest = o.choices;
      for (int skip = int(value); skip > 0; skip--) take_until(rest, '|');
      text += take_until(rest, '|');
    }
  }
  return text;
}

void initialise_parameter(Parameter& p, Random& random) {
  for (size_t i = 0; i < p.size(); i++) switch (p.init) {
    case Parameter::zero: p.value[i] = 0; break;
    case Parameter::one: p.value[i] = 1; break;
    case Parameter::normal: p.value[i] = float(p.a * random.normal()); break;
    case Parameter::uniform: p.value[i] = float(p.a + (p.b - p.a) * random.uniform()); break;
    case Parameter::custom: break;
  }
}

}  // namespace

Error Stack::make(std::string_view spec, const Shape& shape, Stack& out) {
  if (Error e = check_shape(shape)) return e;
  Stack stack;
  stack.shape_ = shape;
  const size_t longest = 1 << 15;  // room for lists
  if (spec.size() > longest)
    return {"encoding has " + std::to_string(spec.size()) + " characters; allowed: at most " + std::to_string(longest)};
  if (spec.find_first_of(">@") != spec.npos)
    return {"encoding is " + quoted(spec) + "; allowed here: one encoding (a>b@100, trained with a and tested with b after 100 steps, is for experiments)"};
  std::string_view rest = spec;
  do if (Error e = stack.add(trimmed(take_until(rest, '+')))) return e; while (!rest.empty());
  if (trimmed(spec).ends_with('+')) return {"encoding is " + quoted(spec) + "; allowed: no + at the end"};
  if (Error e = stack.check()) return e;
  out = std::move(stack);
  return {};
}

// One term: name (':' option '=' value)*
Error Stack::add(std::string_view term) {
  std::string_view rest = term, name = trimmed(take_until(rest, ':'));
  const Entry* entry = find_encoding(name);
  if (!entry) return {"encoding is " + quoted(name) + "; allowed: " + known_names() + ", or one of your own, once it is registered"};
  const Descriptor& d = *entry->descriptor;
  for (auto& other : encodings_)
    if (&other->descriptor() == &d) return {"encoding names " + std::string(name) + " twice; allowed: each once"};
  Options options(d.options);
  std::vector<std::string_view> given;
  while (!rest.empty()) {
    std::string_view value = take_until(rest, ':'), setting = value;
    if (setting.find('=') == setting.npos)
      return {std::string(name) + " has the setting " + quoted(setting) + "; allowed: option=value"};
    std::string_view option = trimmed(take_until(value, '='));
    if (Error e = options.set(name, option, trimmed(value))) return e;
    for (auto& g : given) if (g == option) return {std::string(name) + ":" + std::string(option) + " is given twice; allowed: once"};
    given.push_back(option);
  }
  if (d.causal_only && !shape_.causal) return {std::string(name) + " is asked for with causal = false; allowed: causal = true"};
  if (opens(d.doors, Door::rotation) && shape_.head_dim % 2)
    return {"headDim is " + std::to_string(shape_.head_dim) + "; allowed with " + std::string(name) + ": even numbers"};
  if (Error e = entry->check(options, shape_)) return e;
  encodings_.push_back(entry->make(*entry, options, shape_));
  learned_ = learned_ || !encodings_.back()->parameters().empty();
  spec_ += (spec_.empty() ? "" : "+") + canonical(d, options);
  return {};
}

// A rotation, a factor on q·k and a term that reads q·k: which of them can see each other?
Error Stack::check_scores() const {
  Encoding *scales = nullptr, *makes = nullptr;
  for (auto& e : encodings_) {
    if (e->descriptor().makes_scores) makes = e.get();
    if (e->score_scale() < 0) continue;
    if (scales) return {std::string(scales->descriptor().name) + " and " + e->descriptor().name + " both set the factor on q·k; allowed: one of the two"};
    scales = e.get();
  }
  for (auto& e : encodings_) {
    const Descriptor& d = e->descriptor();
    const bool turns = opens(d.doors, Door::rotation);
    if (makes && (turns || e->score_scale() >= 0))
      return {std::string(makes->descriptor().name) + " computes q·k itself and does not see what " + d.name +
              " does to it; allowed: one of the two"};
    if (scales && scales->score_scale() == 0 && (turns || d.reads_scores))
      return {std::string(scales->descriptor().name) + " replaces q·k, which " + d.name + (turns ? " turns" : " reads") +
              "; allowed: one of the two"};
  }
  return {};
}

// Linear attention has no scores and sums over whole prefixes: only what turns or adds to vectors goes with it.
Error Stack::check_linear() const {
  if (!linear()) return {};
  const unsigned served = Door::ids | Door::input | Door::rotation;
  for (auto& e : encodings_) {
    const Descriptor& d = e->descriptor();
    const char* misses = d.doors & ~served || e->score_scale() >= 0 ? "no scores"
                         : e->zones()                              ? "one rotation for all distances"
                                                                   : nullptr;
    if (misses) return {"encoding puts " + std::string(d.name) + " beside linear_attention, which has " + misses + "; allowed beside it: one number a token, vectors at the input, a rotation"};
  }
  return {};
}

Error Stack::check() const {
  Encoding *ids = nullptr, *rotates = nullptr, *maps = nullptr;
  auto too_many = [](const std::string& what, double parameters) -> Error {
    const double most = 4e8;  // in sum, too: 32 bits must count them
    if (parameters <= most) return {};
    return {what + " has " + number_text(parameters) + " parameters; allowed: at most " + number_text(most)};
  };
  double all = 0;
  for (auto& e : encodings_) {
    const Descriptor& d = e->descriptor();
    if (opens(d.doors, Door::ids)) ids = e.get();
    if (e->zones() || e->coordinates()) {
      if (maps) return {"encoding maps positions twice, by " + std::string(maps->descriptor().name) + " and " + d.name + "; allowed: once"};
      maps = e.get();
    }
    if (opens(d.doors, Door::rotation)) {
      if (rotates) return {"encoding has two rotations, " + std::string(rotates->descriptor().name) + " and " + d.name + "; allowed: one"};
      rotates = e.get();
      if (double least = 2.0 * e->rotary().pairs; shape_.head_dim < least)
        return {"headDim is " + std::to_string(shape_.head_dim) + "; allowed with " + d.name + ": at least " + number_text(least)};
    }
    double size = 0;
    for (auto& p : e->parameters()) size += double(p.rows) * p.columns;
    if (Error error = too_many(d.name, size)) return error;
    all += size;
  }
  if (Error error = too_many("encoding", all)) return error;
  if (maps && maps->coordinates() && !rotates && encodings_.size() > 1)
    return {std::string(maps->descriptor().name) + " needs a rotation; allowed: " + maps->descriptor().name + " with rope or another one"};
  for (auto& e : encodings_)
    if (ids && e->descriptor().counts_tokens)
      return {std::string(e->descriptor().name) + " counts tokens and cannot follow the numbers of " + ids->descriptor().name +
              "; allowed: one of the two"};
  if (Error e = check_linear()) return e;
  return check_scores();
}

std::vector<std::unique_ptr<ContentTerm>> Stack::content() {
  std::vector<std::unique_ptr<ContentTerm>> terms;
  for (auto& e : encodings_) if (auto term = e->content()) terms.push_back(std::move(term));
  return terms;
}

std::vector<Parameter*> Stack::parameters() {
  std::vector<Parameter*> all;
  for (auto& e : encodings_) for (auto& p : e->parameters()) all.push_back(&p);
  return all;
}

void Stack::initialise(Random& random) {
  for (auto& e : encodings_) {
    for (auto& p : e->parameters()) initialise_parameter(p, random);
    e->initialise(random);
  }
}

void Stack::project() {
  for (auto& e : encodings_) e->project();
}

unsigned Stack::doors() const {
  unsigned all = 0;
  for (auto& e : encodings_) all |= e->descriptor().doors;
  return all;
}

bool Stack::per_layer() const {
  for (auto& e : encodings_) if (e->descriptor().per_layer) return true;
  return false;
}

bool Stack::jumps(int before, int now) const {
  for (auto& e : encodings_) if (e->jumps(before, now)) return true;
  return false;
}

bool Stack::draws() const {
  for (auto& e : encodings_) if (opens(e->descriptor().doors, Door::ids) && !e->descriptor().fixed_ids) return true;
  return false;
}

bool Stack::length_dependent() const {
  for (auto& e : encodings_) if (e->length_dependent()) return true;
  return false;
}

bool Stack::linear() const {
  for (auto& e : encodings_) if (e->descriptor().linear) return true;
  return false;
}

bool Stack::reads_tokens() const {
  for (auto& e : encodings_) if (e->reads_tokens()) return true;
  return false;
}

bool Stack::counts_tokens() const {
  for (auto& e : encodings_) if (e->counts_tokens()) return true;
  return false;
}

Encoding* Stack::mixer() const {
  for (auto& e : encodings_) if (e->mixes()) return e.get();
  return nullptr;
}

bool Stack::keys_turn_once() const {
  for (auto& e : encodings_) if (e->zones()) return false;
  return !length_dependent() && !linear();
}

}  // namespace lw

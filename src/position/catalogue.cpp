#include "position/catalogue.h"

#include "position/text.h"

namespace lw {
namespace {

std::string json(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}
std::string json(bool b) { return b ? "true" : "false"; }

// {"a":1,"b":…}
struct Object {
  std::string text;
  void add(const char* key, const std::string& value) { text += (text.empty() ? "{" : ",") + json(std::string_view(key)) + ":" + value; }
  void say(const char* key, std::string_view value) { add(key, json(value)); }
  void tell(const char* key, Prose prose) { if (prose.text) say(key, std::string_view(prose.text)); }
};

std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (auto& item : items) out += (out.empty() ? "" : ",") + item;
  return "[" + out + "]";
}

std::string describe(const Option& o) {
  const char* kinds[] = {"number", "integer", "flag", "choice", "numbers"};
  std::vector<std::string> choices;
  for (std::string_view rest = o.choices ? o.choices : ""; !rest.empty();) choices.push_back(json(take_until(rest, '|')));
  Object out;
  out.say("name", o.name);
  out.say("kind", kinds[o.kind]);
  out.add("default", o.kind == Option::flag ? json(o.initial != 0)
                     : o.kind == Option::choice ? choices[size_t(o.initial)]
                     : o.kind == Option::numbers ? "[]" : number_text(o.initial));
  out.add("least", number_text(o.least));
  out.add("most", number_text(o.most));
  if (o.kind == Option::choice) out.add("choices", list(choices));
  out.tell("meaning", o.meaning);
  out.tell("meaning_zh", o.meaning_zh);
  return out.text + "}";
}

std::vector<std::string> door_names(unsigned doors) {
  const char* names[] = {"ids", "input", "rotation", "bias", "content", "pattern", "scale", "value"};
  std::vector<std::string> open;
  for (int n = 0; n < 8; n++) if (doors >> n & 1) open.push_back(json(std::string_view(names[n])));
  return open;
}

// How an experiment shows an encoding: its example; with rope to read the numbers, if it gives tokens some; on a model
// that was trained with rope, if it is meant for trained ones.
std::string experiment(const Descriptor& d) {
  std::string spec = d.name;
  if (*d.example) spec += std::string(":") + d.example;
  if (opens(d.doors, Door::ids) && !(d.doors & ~(Door::ids | Door::input))) spec += "+rope";
  return (d.after_training ? "rope>" : "") + spec;
}

}  // namespace

std::string describe(const Entry& entry) {
  const Descriptor& d = *entry.descriptor;
  const char* pasts[] = {"same", "degrades", "refuses"};
  std::vector<std::string> options;
  for (auto& o : d.options) options.push_back(describe(o));
  Shape any;
  any.heads = any.kv_heads = 2, any.head_dim = 4, any.width = 8, any.trained_length = 8;
  Object out;
  out.say("name", d.name), out.tell("title", d.title), out.tell("title_zh", d.title_zh), out.tell("paper", d.paper);
  out.add("doors", list(door_names(d.doors)));
  out.add("options", list(options));
  out.say("past", pasts[int(d.past)]), out.tell("past_note", d.past_note), out.tell("past_note_zh", d.past_note_zh);
  out.tell("differs", d.differs), out.tell("differs_zh", d.differs_zh), out.say("example", d.example);
  out.say("experiment", experiment(d).c_str());
  out.add("causal_only", json(d.causal_only)), out.add("per_layer", json(d.per_layer));
  // Whether it learns may hang on an option: what the defaults do is told.
  out.add("learned", json(!entry.make(entry, Options(d.options), any)->parameters().empty()));
  return out.text + "}";
}

std::span<const Entry> catalogue() {
#define LENGTHWISE_LIST(name) name##_entry,
  static const Entry entries[] = {LENGTHWISE_ENCODINGS(LENGTHWISE_LIST)};
#undef LENGTHWISE_LIST
  return entries;
}

std::string catalogue_json() {
  std::vector<std::string> entries;
  for (const Entry* entry : all_encodings()) entries.push_back(describe(*entry));
  return list(entries);
}

}  // namespace lw

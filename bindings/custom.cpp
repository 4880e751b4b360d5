// Encodings whose tables JavaScript fills. Arrays cross as addresses, once for a whole table or row of one; custom.ts
// catches what the functions throw and answers with a sentence ("" is fine).
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include "handles.h"
#include "position/custom.h"

using namespace lw;
using emscripten::val;

namespace {

class JavaScriptTables final : public TableSource {
 public:
  explicit JavaScriptTables(val functions) : functions_(std::move(functions)) {}
  Error ids(std::span<double> p) override { return ask("ids", address_of(p.data()), double(p.size())); }
  Error input(std::span<const double> p, double* out) override { return ask("input", address_of(p.data()), double(p.size()), address_of(out)); }
  Error rotation(std::span<const double> p, double* out) override { return ask("rotation", address_of(p.data()), double(p.size()), address_of(out)); }
  Error bias(double query, std::span<const double> d, double* out) override {
    return ask("bias", query, address_of(d.data()), double(d.size()), address_of(out));
  }
  Error pattern(int query, std::span<unsigned char> seen) override { return ask("pattern", double(query), double(seen.size()), address_of(seen.data())); }
  Error scale(std::span<const int> seen, double* out) override { return ask("scale", address_of(seen.data()), double(seen.size()), address_of(out)); }

 private:
  template <class... Numbers> Error ask(const char* door, Numbers... numbers) { return {functions_.call<std::string>(door, numbers...)}; }
  val functions_;
};

std::string text(const val& object, const char* key) { return object[key].as<std::string>(); }
double number(const val& object, const char* key) { return object[key].as<double>(); }

// definition: see NativeDefinition in core.ts.
std::string register_definition(val definition, bool replace) {
  CustomEncoding c;
  c.name = text(definition, "name"), c.title = text(definition, "title"), c.title_zh = text(definition, "titleZh");
  c.doors = unsigned(number(definition, "doors")), c.bias_by_row = definition["byRow"].as<bool>();
  c.pairs = int(number(definition, "pairs")), c.pairing = definition["half"].as<bool>() ? Pairing::half : Pairing::interleaved;
  const val options = definition["options"];
  for (int n = 0, count = int(number(options, "length")); n < count; n++) {
    const val o = options[n];
    c.options.push_back({Option::Kind(int(number(o, "kind"))), text(o, "name"), number(o, "initial"), number(o, "least"), number(o, "most"),
                         text(o, "choices"), text(o, "meaning")});
  }
  c.tables = [definition](const Shape& s, const Options& options) -> std::unique_ptr<TableSource> {
    val shape = val::object(), values = val::array();
    shape.set("heads", s.heads), shape.set("kvHeads", s.kv_heads), shape.set("headDim", s.head_dim), shape.set("width", s.width);
    shape.set("trainedLength", s.trained_length), shape.set("causal", s.causal);
    for (size_t n = 0; n < options.specs().size(); n++) values.set(n, options.value(n));
    return std::make_unique<JavaScriptTables>(definition.call<val>("tables", shape, values));
  };
  return register_encoding(std::move(c), replace).text;
}

}  // namespace

EMSCRIPTEN_BINDINGS(lengthwise_custom) {
  emscripten::function("registerEncoding", &register_definition);
  emscripten::function("unregisterEncoding", +[](std::string name) { return unregister_encoding(name); });
}

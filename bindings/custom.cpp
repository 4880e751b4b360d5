// Encodings whose tables JavaScript fills. Arrays cross as addresses, once for a whole table or row of one; edge.ts keeps
// the functions behind handles, custom.ts catches what they throw and answers with a sentence (nullptr is fine).
#include "calls.h"
#include "position/custom.h"

#define IMPORT(name) __attribute__((import_module("env"), import_name(name)))

// The tables of a definition for one shape and the values of its options.
IMPORT("tables") extern "C" int js_tables(int definition, const double* shape, const double* values, double count);
// Fills one; a text comes from malloc.
IMPORT("fill") extern "C" lw::Text* js_fill(int tables, int door, double a, double b, double c, double d);
IMPORT("release") extern "C" void js_release(int handle);

namespace lw {

struct OptionRequest { TextField name; double kind, initial, least, most; TextField choices, meaning; };
struct DefinitionRequest { TextField name, title, titleZh; double doors, byRow, pairs, half, options, count; };

namespace {

// Something that JavaScript keeps for us.
class Handle {
 public:
  explicit Handle(int number) : number_(number) {}
  Handle(const Handle&) = delete;
  ~Handle() { js_release(number_); }
  operator int() const { return number_; }

 private:
  int number_;
};

double address_of(const void* p) { return double(reinterpret_cast<uintptr_t>(p)); }

class JavaScriptTables final : public TableSource {
 public:
  explicit JavaScriptTables(int handle) : tables_(handle) {}
  Error ids(std::span<double> p) override { return ask(Door::ids, address_of(p.data()), double(p.size())); }
  Error input(std::span<const double> p, double* out) override { return ask(Door::input, address_of(p.data()), double(p.size()), address_of(out)); }
  Error rotation(std::span<const double> p, double* out) override { return ask(Door::rotation, address_of(p.data()), double(p.size()), address_of(out)); }
  Error bias(double query, std::span<const double> d, double* out) override {
    return ask(Door::bias, query, address_of(d.data()), double(d.size()), address_of(out));
  }
  Error pattern(int query, std::span<unsigned char> seen) override { return ask(Door::pattern, query, double(seen.size()), address_of(seen.data())); }
  Error scale(std::span<const int> seen, double* out) override { return ask(Door::scale, address_of(seen.data()), double(seen.size()), address_of(out)); }

 private:
  Error ask(Door door, double a, double b, double c = 0, double d = 0) {
    Text* said = js_fill(tables_, int(door), a, b, c, d);
    if (!said) return {};
    Error e{std::string(said->view())};
    std::free(said);
    return e;
  }
  Handle tables_;
};

}  // namespace

std::string register_definition(int handle, const DefinitionRequest* request, bool replace) {
  const DefinitionRequest& r = *request;
  CustomEncoding c;
  c.name = r.name.view(), c.title = r.title.view(), c.title_zh = r.titleZh.view();
  c.doors = unsigned(r.doors), c.bias_by_row = r.byRow != 0;
  c.pairs = int(r.pairs), c.pairing = r.half != 0 ? Pairing::half : Pairing::interleaved;
  for (auto& o : std::span(reinterpret_cast<const OptionRequest*>(uintptr_t(r.options)), size_t(r.count)))
    c.options.push_back({Option::Kind(int(o.kind)), std::string(o.name.view()), o.initial, o.least, o.most, std::string(o.choices.view()),
                         std::string(o.meaning.view())});
  c.tables = [definition = std::make_shared<Handle>(handle)](const Shape& s, const Options& options) -> std::unique_ptr<TableSource> {
    const double shape[] = {double(s.heads), double(s.kv_heads), double(s.head_dim), double(s.width), double(s.trained_length), double(s.causal)};
    std::vector<double> values;
    for (size_t n = 0; n < options.specs().size(); n++) values.push_back(options.value(n));
    return std::make_unique<JavaScriptTables>(js_tables(*definition, shape, values.data(), double(values.size())));
  };
  return register_encoding(std::move(c), replace).text;
}

bool unregister_definition(const Text* name) { return unregister_encoding(name->view()); }

}  // namespace lw

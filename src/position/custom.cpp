#include "position/custom.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "position/text.h"

namespace lw {
namespace {

// A line of the catalogue that owns its texts. Encodings made from it keep it alive.
struct Registration : Entry, std::enable_shared_from_this<Registration> {
  explicit Registration(CustomEncoding&& given);
  CustomEncoding custom;
  std::vector<Option> options;
  Descriptor own;
};

std::vector<std::shared_ptr<const Registration>>& registrations() {
  static std::vector<std::shared_ptr<const Registration>> all;
  return all;
}

auto find(std::string_view name) {
  auto& all = registrations();
  return std::find_if(all.begin(), all.end(), [&](auto& r) { return r->custom.name == name; });
}

// What a custom encoding does not do, whatever hooks there are.
struct Nothing {
  static constexpr Descriptor descriptor{.name = "", .title = "", .title_zh = "", .paper = "", .doors = 0, .options = {},
                                         .past = Past::same, .past_note = "", .past_note_zh = ""};
  static constexpr bool opens_no_door = true;
  Nothing(const Options&, const Shape&) {}
};

class Custom final : public Adapter<Nothing> {
 public:
  Custom(std::shared_ptr<const Registration> from, const Shape& shape, const Options& options)
      : Adapter(options, shape), from_(std::move(from)), shape_(shape), tables_(from_->custom.tables(shape, options)) {}
  const Descriptor& descriptor() const override { return from_->own; }
  Error refuse(std::span<const double>, int) override { return fault_ = {}, Error{}; }  // a new plan begins
  Error fault() override { return std::exchange(fault_, {}); }

  bool counts_tokens() override { return opens(from_->own.doors, Door::ids); }  // who knows
  void ids(std::span<double> positions, const int*, Random*) override {
    if (!room(positions.size())) return;
    std::span<double> numbers(values_.data(), positions.size());
    std::copy(positions.begin(), positions.end(), numbers.begin());
    const double most = 9007199254740992;
    if (fill(tables_->ids(numbers), "ids", "numbers from -2^53 to 2^53", numbers.size(), [&](double x) { return std::fabs(x) <= most; },
             [&](size_t n) { return number_text(positions[n]); }))
      std::copy(numbers.begin(), numbers.end(), positions.begin());
  }
  void input(std::span<const double> positions, const int*, float* out) override {
    const size_t width = size_t(shape_.width), size = positions.size() * width;
    if (room(size) && fill(tables_->input(positions, values_.data()), "input", finite, size, is_finite, [&](size_t n) {
          return arguments({positions[n / width], double(n % width)}); }))
      for (size_t n = 0; n < size; n++) out[n] += float(values_[n]);
  }

  Rotary rotary() override {
    if (!opens(from_->own.doors, Door::rotation)) return {0, Pairing::interleaved};
    return {from_->custom.pairs ? from_->custom.pairs : shape_.head_dim / 2, from_->custom.pairing};
  }
  void rotation(std::span<const double> positions, int, double* angles) override {
    const size_t pairs = size_t(rotary().pairs), size = positions.size() * pairs;
    if (room(size) && fill(tables_->rotation(positions, values_.data()), "rotation", finite, size,
                           [](double x) { return std::isfinite(x); },
                           [&](size_t n) { return arguments({positions[n / pairs], double(n % pairs)}); }))
      std::copy_n(values_.data(), size, angles);
    else std::fill_n(angles, size, 0.0);
  }

  bool bias_by_row(std::span<const double>) override { return from_->custom.bias_by_row; }
  void bias(double query, Distances distances, Heads out) override {
    const size_t n = distances.size(), size = n * shape_.heads;
    const bool by_row = from_->custom.bias_by_row;
    const bool filled = room(size) && fill(tables_->bias(query, distances, values_.data()), by_row ? "biasAt" : "bias",
                           "numbers that single precision holds, -Infinity", size,
                           [](double x) { return std::isfinite(float(x)) || float(x) == -std::numeric_limits<float>::infinity(); },
                           [&](size_t m) {
                             const double head = double(m / n), distance = distances[m % n];
                             return by_row ? arguments({head, query, query - distance}) : arguments({head, distance});
                           });
    for (int h = 0; h < shape_.heads; h++)
      for (size_t m = 0; m < n; m++) out[h][m] = filled ? float(values_[h * n + m]) + 0.f : 0;  // a bias of −0 is 0
  }

  // Keys past the query are not asked for where the mask hides them anyhow.
  void pattern(int query, int length, const int*, std::vector<Interval>& out) override {
    const int keys = shape_.causal ? query + 1 : length;
    if (fault_) return;
    if (!seen_.resize(size_t(length))) return fail(out_of_memory(length));
    if (Error e = tables_->pattern(query, {seen_.data(), size_t(keys)})) return fail(std::move(e));
    for (int j = 0; j < keys; j++) {
      if (!seen_[j]) continue;
      if (j && seen_[j - 1]) out.back().last = j + 1;
      else out.push_back({j, j + 1});
    }
  }

  void scale(std::span<const int> seen, std::span<const double>, float* out) override {
    const size_t n = seen.size(), size = n * shape_.heads;
    if (room(size) && fill(tables_->scale(seen, values_.data()), "scale", finite, size, is_finite, [&](size_t m) {
          return arguments({double(m / n), double(seen[m % n])}); }))
      for (size_t m = 0; m < size; m++) out[m] *= float(values_[m]);
  }

 private:
  static constexpr const char* finite = "finite numbers that single precision holds";
  static bool is_finite(double x) { return std::isfinite(float(x)); }
  static std::string arguments(std::initializer_list<double> values) {
    std::string text;
    for (double value : values) text += (text.empty() ? "" : ", ") + number_text(value);
    return text;
  }
  static Error out_of_memory(double bytes) {
    return {"OutOfMemory: there are no " + number_text(std::ceil(bytes / 1e6)) + " MB of memory for the tables of an encoding; use a shorter length"};
  }
  void fail(Error e) { if (!fault_) fault_ = std::move(e); }

  // After one fault the rest of the plan is not asked for.
  bool room(size_t size) {
    if (fault_) return false;
    if (values_.resize(size)) return true;
    fail(out_of_memory(8.0 * double(size)));
    return false;
  }
  // Whether the values that have just been filled can be used.
  template <class Good, class Arguments>
  bool fill(Error e, const char* function, const char* allowed, size_t size, Good good, Arguments arguments) {
    for (size_t n = 0; !e && n < size; n++)
      if (!good(values_[n]))
        e = {"Encoding: " + from_->custom.name + ":" + function + "(" + arguments(n) + ") is " + number_text(values_[n]) + "; allowed: " + allowed};
    if (!e) return true;
    fail(std::move(e));
    return false;
  }

  std::shared_ptr<const Registration> from_;
  Shape shape_;
  std::unique_ptr<TableSource> tables_;
  Error fault_;
  Buffer<double> values_;
  Buffer<unsigned char> seen_;
};

Registration::Registration(CustomEncoding&& given) : custom(std::move(given)) {
  for (auto& o : custom.options)
    options.push_back({o.kind, o.name.c_str(), o.initial, o.least, o.most, o.kind == Option::choice ? o.choices.c_str() : nullptr,
                       Prose::kept(o.meaning.c_str()), Prose::kept(o.meaning.c_str())});
  own = {.name = custom.name.c_str(), .title = Prose::kept(custom.title.c_str()), .title_zh = Prose::kept(custom.title_zh.c_str()),
         .paper = Prose::kept(""), .doors = custom.doors, .options = options, .past = Past::degrades,
         .past_note = Prose::kept("Yours: measure it."), .past_note_zh = Prose::kept("自定义编码：请实测。"),
         .differs = Prose::kept(""), .differs_zh = Prose::kept(""), .fixed_ids = true};
  descriptor = &own, learned = false;
  check = [](const Options&, const Shape&) -> Error { return {}; };
  make = [](const Entry& entry, const Options& o, const Shape& s) -> std::unique_ptr<Encoding> {
    return std::make_unique<Custom>(static_cast<const Registration&>(entry).shared_from_this(), s, o);
  };
}

bool is_name(std::string_view name) {
  auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 40 && letter(name[0]) && std::all_of(name.begin(), name.end(), inner);
}

}  // namespace

Error register_encoding(CustomEncoding encoding, bool replace) {
  const std::string& name = encoding.name;
  if (!is_name(name)) return {"name is " + quoted(name) + "; allowed: a to z first, then a to z, 0 to 9 and _, at most 40"};
  for (auto& entry : catalogue())
    if (name == entry.descriptor->name) return {"name is " + quoted(name) + "; allowed: one that is not in the catalogue"};
  auto old = find(name);
  if (old != registrations().end() && !replace) return {"name is " + quoted(name) + ", which is registered already; allowed: another name, or replace"};
  const unsigned served = Door::ids | Door::input | Door::rotation | Door::bias | Door::pattern | Door::scale;
  if (!encoding.doors || encoding.doors & ~served)
    return {name + " opens " + (encoding.doors ? "a door that tables cannot serve" : "no door") + "; allowed: ids, input, rotation, bias, pattern, scale"};
  for (auto& o : encoding.options)
    if (!is_name(o.name)) return {name + " has an option named " + quoted(o.name) + "; allowed: a to z first, then a to z, 0 to 9 and _, at most 40"};
  if (old != registrations().end()) registrations().erase(old);
  registrations().push_back(std::make_shared<Registration>(std::move(encoding)));
  return {};
}

bool unregister_encoding(std::string_view name) {
  auto at = find(name);
  if (at == registrations().end()) return false;
  registrations().erase(at);
  return true;
}

std::vector<const Entry*> all_encodings() {
  std::vector<const Entry*> all;
  for (auto& entry : catalogue()) all.push_back(&entry);
  for (auto& registration : registrations()) all.push_back(registration.get());
  return all;
}

const Entry* find_encoding(std::string_view name) {
  for (const Entry* entry : all_encodings()) if (name == entry->descriptor->name) return entry;
  return nullptr;
}

}  // namespace lw

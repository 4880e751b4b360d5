// What an encoding is. Each is a plain struct in encodings/<name>.cpp with a descriptor and the hooks of the doors it
// opens; `Adapter` turns it into the one virtual interface, and refuses at compile time a descriptor and hooks that
// disagree: a misspelt hook, a door nobody declared, a learned parameter without gradient.
#pragma once
#include <concepts>
#include <string_view>

#include "position/doors.h"
#include "simd/random.h"

namespace lw {

// A text that only people read. Binaries that only compute leave out those of the catalogue (LENGTHWISE_NO_TEXTS).
struct Prose {
  constexpr Prose() = default;
#ifdef LENGTHWISE_NO_TEXTS
  static constexpr bool included = false;
  consteval Prose(const char*) {}
#else
  static constexpr bool included = true;
  consteval Prose(const char* t) : text(t) {}
#endif
  // For texts from outside, which are never left out; the caller keeps them.
  static constexpr Prose kept(const char* t) { Prose p; return p.text = t, p; }
  const char* text = nullptr;
};

struct Option {
  enum Kind { number, integer, flag, choice, numbers } kind;
  const char* name;
  double initial, least, most;   // choice: index into choices; flag: 0 or 1; numbers: of each, initially none
  const char* choices;           // "a|b|c" for choice, else nullptr
  Prose meaning;                 // English
  Prose meaning_zh;              // 中文
};

enum class Past { same, degrades, refuses };  // what is met past L: by design nothing new, what was never trained (most get worse), an error

struct Descriptor {
  const char* name;
  Prose title;
  Prose title_zh;
  Prose paper;                // "Authors year, Title, arXiv:…"
  unsigned doors;
  std::span<const Option> options;
  Past past;
  Prose past_note;            // one sentence
  Prose past_note_zh;
  Prose differs = "";         // how public implementations differ, one or two sentences, where it is known
  Prose differs_zh = "";
  const char* example = "";   // options that show it at a trained length of 64, "a=1:b=2"; the docs start from them
  bool causal_only = false;
  bool after_training = false; // put on a model that was trained without it, or, if it rotates, with rope
  bool per_layer = false;     // learned parameters: one set for each layer (default: one set shared by all layers)
  bool reads_input = false;   // its content term reads Sequence::x
  bool counts_tokens = false; // its content term counts tokens, so that it cannot follow numbers from the ids door
  bool reads_scores = false;  // its content term reads q·k, so that no other encoding may replace it
  bool makes_scores = false;  // its content term computes q·k/√D itself, and sees nothing that others do to it
  bool linear = false;        // attention without scores (Plan::linear): neither a door nor a number, it is what attends
  bool fixed_ids = false;     // hands out the same numbers each time, in training too: plans may be kept
};

// The values of a descriptor's options, in its order.
class Options {
 public:
  explicit Options(std::span<const Option> specs) : specs_(specs) {
    for (auto& o : specs) values_.push_back(o.initial), lists_.emplace_back();
  }
  double operator[](std::string_view name) const { return values_[index(name)]; }
  int integer(std::string_view name) const { return int((*this)[name]); }
  bool flag(std::string_view name) const { return (*this)[name] != 0; }
  std::span<const double> numbers(std::string_view name) const { return lists_[index(name)]; }
  // From text, as in a spec; checks kind, range and choices.
  Error set(std::string_view encoding, std::string_view name, std::string_view value);
  std::span<const Option> specs() const { return specs_; }
  double value(size_t i) const { return values_[i]; }
  std::span<const double> list(size_t i) const { return lists_[i]; }

 private:
  size_t index(std::string_view name) const {
    for (size_t i = 0; i < specs_.size(); i++) if (name == specs_[i].name) return i;
    std::abort();  // an encoding asked for an option that it does not declare
  }
  std::span<const Option> specs_;
  std::vector<double> values_;
  std::vector<std::vector<double>> lists_;  // of options that are numbers
};

// A learned tensor. The owner of the parameters (a model, or a stack on its own) points value and gradient at its arena.
struct Parameter {
  enum Init { zero, one, normal, uniform, custom } init;  // normal(0, a); uniform(a, b); custom: the encoding's initialise()
  const char* name;
  int rows, columns;
  double a = 0, b = 0;
  float* value = nullptr;     // [rows][columns]
  float* gradient = nullptr;  // accumulated into
  bool decay = false;         // weight decay
  size_t size() const { return size_t(rows) * columns; }
};

struct Rotary { int pairs; Pairing pairing; };

// Distances Δ = p_i − p_j of one query, or of all; where `step` is not 0, each is the one before it less `step`.
struct Distances : std::span<const double> { double step = 0; };

// Rows of numbers, one for each head: out[h][m].
struct Heads {
  float* data;
  ptrdiff_t stride;  // floats from one head's row to the next
  float* operator[](ptrdiff_t head) const { return data + head * stride; }
};

// The hooks, by name. A struct E opens a door exactly when it has the hook.
template <class E> concept IdsByToken = requires(E e, std::span<double> p, const int* t, Random* r) { e.ids(p, t, r); };
template <class E> concept HandsOutIds = IdsByToken<E> || requires(E e, std::span<double> p, Random* r) { e.ids(p, r); };
template <class E> concept HasZones = requires(E e, int z, std::span<const double> p, Zone& out) {
  { e.zones() } -> std::same_as<int>; e.zone(z, p, out); };
template <class E> concept HasCoordinates = requires(E e, int c, int k, std::span<const double> p, double* out) {
  { e.coordinates() } -> std::same_as<int>; { e.coordinate_of(k, k) } -> std::same_as<int>; e.coordinate(c, p, out); };
template <class E> concept OpensIds = HandsOutIds<E> || HasZones<E> || HasCoordinates<E>;
template <class E> concept InputByToken = requires(E e, std::span<const double> p, const int* t, float* out) { e.input(p, t, out); };
template <class E> concept Mixes = requires(E e, const float* x, int n, float* y) { e.mix(x, n, n, y); e.mix_backward(x, n, x, y); };
template <class E> concept OpensInput = InputByToken<E> || Mixes<E> || requires(E e, std::span<const double> p, float* out) { e.input(p, out); };
template <class E> concept OpensRotation = requires(E e, std::span<const double> p, int n, double* angles) {
  { e.rotary() } -> std::same_as<Rotary>; e.rotation(p, n, angles); };
template <class E> concept HasGain = requires(E e, std::span<const double> p, double* q, double* k) { e.gain(p, q, k); };
template <class E> concept BiasByRow = requires(E e, double i, Distances d, Heads out) { e.bias(i, d, out); };
template <class E> concept OpensBias = BiasByRow<E> || requires(E e, Distances d, Heads out) { e.bias(d, out); };
template <class E> concept OpensContent = requires(E e) { { e.content() } -> std::same_as<std::unique_ptr<ContentTerm>>; };
template <class E> concept PatternByToken = requires(E e, int i, int n, const int* t, std::vector<Interval>& out) { e.pattern(i, n, t, out); };
template <class E> concept OpensPattern = PatternByToken<E> || requires(E e, int i, int n, std::vector<Interval>& out) { e.pattern(i, n, out); };
template <class E> concept OpensScale = requires(E e, std::span<const int> seen, std::span<const double> p, float* out) { e.scale(seen, p, out); };
template <class E> concept Learned = requires(E e) { std::span<Parameter>(e.parameters); };
template <class E> concept InputByTokenLearns = requires(E e, std::span<const double> p, const int* t, const float* g) { e.input_backward(p, t, g); };
template <class E> concept InputLearns = InputByTokenLearns<E> || Mixes<E> || requires(E e, std::span<const double> p, const float* g) { e.input_backward(p, g); };
template <class E> concept RotationLearns = requires(E e, std::span<const double> p, int n, const float* g) { e.rotation_backward(p, n, g); };
template <class E> concept BiasByRowLearns = requires(E e, double i, Distances d, const float* g) { e.bias_backward(i, d, g); };
template <class E> concept BiasLearns = BiasByRowLearns<E> || requires(E e, Distances d, const float* g) { e.bias_backward(d, g); };
template <class E> concept ScaleLearns = requires(E e, std::span<const int> seen, std::span<const double> p, const float* g) { e.scale_backward(seen, p, g); };

class Encoding {
 public:
  virtual ~Encoding() = default;
  virtual const Descriptor& descriptor() const = 0;
  virtual std::span<Parameter> parameters() = 0;
  virtual void initialise(Random&) = 0;   // parameters with Init::custom
  virtual void project() = 0;             // after an optimiser step: put parameters back into their allowed range
  // Refuses positions it cannot serve (for instance past a table). `length`: tokens present now.
  virtual Error refuse(std::span<const double> positions, int length) = 0;
  // What went wrong while a plan was filled, for encodings whose tables come from elsewhere (custom.h).
  virtual Error fault() { return {}; }

  // Whether it looks at which tokens there are: `tokens` [n] below; nullptr for the others.
  virtual bool reads_tokens() = 0;
  // Whether the ids that it hands out in evaluation depend on how many tokens there are.
  virtual bool counts_tokens() = 0;
  // ids: changes positions in place. random != nullptr while training (draw anew), nullptr in evaluation.
  virtual void ids(std::span<double> positions, const int* tokens, Random* random) = 0;
  // ids, remapping distance: how many zones (0: none); a zone's numbers, sized already. Positions increase.
  virtual int zones() = 0;
  virtual void zone(int zone, std::span<const double> positions, Zone& out) = 0;
  // ids, in a plane or in space: how many coordinates a token has (0: the one number); which of them pair k of `pairs`
  // turns by; one coordinate of each token, out [n].
  virtual int coordinates() = 0;
  virtual int coordinate_of(int pair, int pairs) = 0;
  virtual void coordinate(int coordinate, std::span<const double> positions, double* out) = 0;
  // input: out [n][width] += vector of each position.
  virtual void input(std::span<const double> positions, const int* tokens, float* out) = 0;
  virtual void input_backward(std::span<const double> positions, const int* tokens, const float* gradient) = 0;
  // input, mixed from neighbours behind the first block: x [before + count][width], y [count][width] +=. `before`: rows of
  // earlier tokens, at most reach(); the sequence starts where there are fewer. Backward of a whole sequence: dx += …
  virtual bool mixes() = 0;
  virtual int reach() = 0;
  virtual void mix(const float* x, int before, int count, float* y) = 0;
  virtual void mix_backward(const float* x, int count, const float* dy, float* dx) = 0;
  virtual float embedding_scale() = 0;
  // rotation: angles [n][pairs] in radians; `length` tokens are present now (only length_dependent ones may use it).
  virtual Rotary rotary() = 0;
  virtual bool length_dependent() = 0;
  // Whether the frequencies or vectors of old tokens change when `before` tokens become `now`: what the layers made of them is
  // then made anew.
  virtual bool jumps(int before, int now) = 0;
  virtual void rotation(std::span<const double> positions, int length, double* angles) = 0;
  // A factor on each turned pair: query and key [n][pairs] arrive as ones.
  virtual bool has_gain() = 0;
  virtual void gain(std::span<const double> positions, double* query, double* key) = 0;
  virtual void rotation_backward(std::span<const double> positions, int length, const float* gradient) = 0;
  // bias: out[h][m] = bias at each distance (may be negative or fractional). One that depends on the
  // query too (bias_by_row, at these positions) is asked once for each row, with p_i.
  virtual bool bias_by_row(std::span<const double> positions) = 0;
  virtual void bias(double query, Distances distances, Heads out) = 0;
  virtual void bias_backward(double query, Distances distances, const float* gradient) = 0;
  virtual float score_scale() = 0;        // factor on q·k; negative: the usual 1/√D; 0: the content term replaces q·k
  virtual std::unique_ptr<ContentTerm> content() = 0;
  // pattern: appends the intervals of keys that query i of `length` may see (causality is applied afterwards).
  virtual void pattern(int query, int length, const int* tokens, std::vector<Interval>& out) = 0;
  // scale: out [H][n] *= factor of a row that may see seen[i] keys and whose query carries positions[i].
  virtual void scale(std::span<const int> seen, std::span<const double> positions, float* out) = 0;
  // gradient: of the factors this encoding wrote (product with the others already applied).
  virtual void scale_backward(std::span<const int> seen, std::span<const double> positions, const float* gradient) = 0;
};

template <class E>
class Adapter : public Encoding {
  static constexpr unsigned doors = E::descriptor.doors;
  static_assert(OpensIds<E> == opens(doors, Door::ids), "ids: the descriptor and the hook disagree");
  static_assert(OpensInput<E> == opens(doors, Door::input), "input: the descriptor and the hook disagree");
  static_assert(OpensRotation<E> == opens(doors, Door::rotation), "rotation: the descriptor and the hook disagree");
  static_assert(OpensBias<E> == opens(doors, Door::bias), "bias: the descriptor and the hook disagree");
  static_assert(OpensContent<E> == (opens(doors, Door::content) || opens(doors, Door::value)),
                "content: the descriptor and the hook disagree");
  static_assert(OpensPattern<E> == opens(doors, Door::pattern), "pattern: the descriptor and the hook disagree");
  static_assert(OpensScale<E> == opens(doors, Door::scale), "scale: the descriptor and the hook disagree");
  static_assert(doors != 0 || requires { E::opens_no_door; }, "an encoding that opens no door must say so");
  static constexpr bool learns = InputLearns<E> || RotationLearns<E> || BiasLearns<E> || ScaleLearns<E> || OpensContent<E>;
  static_assert(!Learned<E> || learns, "a learned parameter without a gradient: add the door's _backward hook");
  static_assert(Learned<E> || !(InputLearns<E> || RotationLearns<E> || BiasLearns<E> || ScaleLearns<E>),
                "a _backward hook without learned parameters");

 public:
  Adapter(const Options& options, const Shape& shape) : e_(options, shape) {}
  const Descriptor& descriptor() const override { return E::descriptor; }
  std::span<Parameter> parameters() override { if constexpr (Learned<E>) return e_.parameters; else return {}; }
  void initialise(Random& r) override { if constexpr (requires { e_.initialise(r); }) e_.initialise(r); }
  void project() override { if constexpr (requires { e_.project(); }) e_.project(); }
  Error refuse(std::span<const double> p, int n) override {
    if constexpr (requires { e_.refuse(p, n); }) return e_.refuse(p, n); else return {};
  }
  bool reads_tokens() override {
    if constexpr (requires { e_.reads_tokens(); }) return e_.reads_tokens(); else return IdsByToken<E> || InputByToken<E> || PatternByToken<E>;
  }
  bool counts_tokens() override { if constexpr (requires { e_.counts_tokens(); }) return e_.counts_tokens(); else return false; }
  void ids(std::span<double> p, const int* t, Random* r) override {
    if constexpr (IdsByToken<E>) e_.ids(p, t, r); else if constexpr (HandsOutIds<E>) e_.ids(p, r);
  }
  int zones() override { if constexpr (HasZones<E>) return e_.zones(); else return 0; }
  void zone(int z, std::span<const double> p, Zone& out) override { if constexpr (HasZones<E>) e_.zone(z, p, out); }
  int coordinates() override { if constexpr (HasCoordinates<E>) return e_.coordinates(); else return 0; }
  int coordinate_of(int k, int n) override { if constexpr (HasCoordinates<E>) return e_.coordinate_of(k, n); else return 0; }
  void coordinate(int c, std::span<const double> p, double* out) override { if constexpr (HasCoordinates<E>) e_.coordinate(c, p, out); }
  void input(std::span<const double> p, const int* t, float* out) override {
    if constexpr (InputByToken<E>) e_.input(p, t, out); else if constexpr (OpensInput<E> && !Mixes<E>) e_.input(p, out);
  }
  void input_backward(std::span<const double> p, const int* t, const float* g) override {
    if constexpr (InputByTokenLearns<E>) e_.input_backward(p, t, g); else if constexpr (InputLearns<E> && !Mixes<E>) e_.input_backward(p, g);
  }
  bool mixes() override { return Mixes<E>; }
  int reach() override { if constexpr (Mixes<E>) return e_.reach(); else return 0; }
  void mix(const float* x, int before, int n, float* y) override { if constexpr (Mixes<E>) e_.mix(x, before, n, y); }
  void mix_backward(const float* x, int n, const float* dy, float* dx) override { if constexpr (Mixes<E>) e_.mix_backward(x, n, dy, dx); }
  float embedding_scale() override { if constexpr (requires { e_.embedding_scale(); }) return e_.embedding_scale(); else return 1; }
  Rotary rotary() override { if constexpr (OpensRotation<E>) return e_.rotary(); else return {0, Pairing::interleaved}; }
  bool length_dependent() override { if constexpr (requires { E::length_dependent; }) return E::length_dependent; else return false; }
  bool jumps(int before, int now) override { if constexpr (requires { e_.jumps(before, now); }) return e_.jumps(before, now); else return false; }
  void rotation(std::span<const double> p, int n, double* angles) override { if constexpr (OpensRotation<E>) e_.rotation(p, n, angles); }
  void rotation_backward(std::span<const double> p, int n, const float* g) override {
    if constexpr (RotationLearns<E>) e_.rotation_backward(p, n, g);
  }
  bool has_gain() override { return HasGain<E>; }
  void gain(std::span<const double> p, double* q, double* k) override { if constexpr (HasGain<E>) e_.gain(p, q, k); }
  bool bias_by_row(std::span<const double> p) override {
    if constexpr (requires { e_.by_row(p); }) return e_.by_row(p); else return BiasByRow<E>;
  }
  void bias(double i, Distances d, Heads out) override {
    if constexpr (BiasByRow<E>) e_.bias(i, d, out); else if constexpr (OpensBias<E>) e_.bias(d, out);
  }
  void bias_backward(double i, Distances d, const float* g) override {
    if constexpr (BiasByRowLearns<E>) e_.bias_backward(i, d, g); else if constexpr (BiasLearns<E>) e_.bias_backward(d, g);
  }
  float score_scale() override { if constexpr (requires { e_.score_scale(); }) return e_.score_scale(); else return -1; }
  std::unique_ptr<ContentTerm> content() override { if constexpr (OpensContent<E>) return e_.content(); else return nullptr; }
  void pattern(int i, int n, const int* t, std::vector<Interval>& out) override {
    if constexpr (PatternByToken<E>) e_.pattern(i, n, t, out); else if constexpr (OpensPattern<E>) e_.pattern(i, n, out);
  }
  void scale(std::span<const int> seen, std::span<const double> p, float* out) override {
    if constexpr (OpensScale<E>) e_.scale(seen, p, out);
  }
  void scale_backward(std::span<const int> seen, std::span<const double> p, const float* g) override {
    if constexpr (ScaleLearns<E>) e_.scale_backward(seen, p, g);
  }

 private:
  E e_;
};

// A line of the catalogue.
struct Entry {
  const Descriptor* descriptor;
  bool learned;
  Error (*check)(const Options&, const Shape&);
  std::unique_ptr<Encoding> (*make)(const Entry&, const Options&, const Shape&);
};

// Options are in range already when an encoding's own check (optional, static) sees them.
template <class E>
constexpr Entry entry() {
  return {&E::descriptor, Learned<E>,
          [](const Options& o, const Shape& s) -> Error {
            if constexpr (requires { E::check(o, s); }) return E::check(o, s); else return {};
          },
          [](const Entry&, const Options& o, const Shape& s) -> std::unique_ptr<Encoding> { return std::make_unique<Adapter<E>>(o, s); }};
}

}  // namespace lw

// The one catalogue: tests, gradient checks, goldens, fuzzing, benches, docs and menus all loop over it.
// Adding an encoding: its file in encodings/, its line here, its reference in tests/oracle.
#pragma once
#include <string>

#include "position/encoding.h"

// A causal mask has no line: it is Shape::causal, the default, and holds whatever pattern is named.

#define LENGTHWISE_ENCODINGS(X) \
  X(nope)                       \
  X(sinusoidal)                 \
  X(learned)                    \
  X(learned_frequency)          \
  X(hierarchical)               \
  X(sparse)                     \
  X(conditional)                \
  X(random_sorted)              \
  X(random_linspace)            \
  X(interpolated)               \
  X(grouped)                    \
  X(rectified)                  \
  X(chunked)                    \
  X(shifted)                    \
  X(grid)                       \
  X(digits)                     \
  X(bilevel)                    \
  X(rope)                       \
  X(ntk)                        \
  X(dynamic_ntk)                \
  X(yarn)                       \
  X(longrope)                   \
  X(llama3)                     \
  X(xpos)                       \
  X(alibi)                      \
  X(t5)                         \
  X(learned_bias)               \
  X(kerple_log)                 \
  X(kerple_power)               \
  X(sandwich)                   \
  X(fire)                       \
  X(dynamic_bias)               \
  X(shaw)                       \
  X(transformer_xl)             \
  X(cope)                       \
  X(forget_gate)                \
  X(content_bias)               \
  X(cable)                      \
  X(deberta)                    \
  X(pope)                       \
  X(path)                       \
  X(data_dependent)             \
  X(linear_attention)           \
  X(window)                     \
  X(window_penalty)             \
  X(sinks)                      \
  X(global)                     \
  X(random)                     \
  X(blocks)                     \
  X(dilated)                    \
  X(log_n)                      \
  X(ssmax)                      \
  X(temperature)

namespace lw {

// Each file in encodings/ defines its own: const Entry name_entry = entry<Name>();
#define LENGTHWISE_DECLARE(name) extern const Entry name##_entry;
LENGTHWISE_ENCODINGS(LENGTHWISE_DECLARE)
#undef LENGTHWISE_DECLARE

std::span<const Entry> catalogue();
// With those that were registered from outside (custom.h), for as long as they are.
std::vector<const Entry*> all_encodings();
const Entry* find_encoding(std::string_view name);  // nullptr: unknown
std::string describe(const Entry& entry);            // its descriptor as JSON, with the texts that it has
std::string catalogue_json();                        // all of them

}  // namespace lw

// What an audit looks at: an encoding with parameters of its own and content that is the same for every token, and what the last
// token sees of it.
#pragma once
#include "position/stack.h"

namespace lw::audited {

Error out_of_memory();

struct Subject {
  Stack stack;
  Buffer<float> parameters;
  std::vector<int> tokens;     // all the same, where they are read
  std::vector<float> q, k, x;  // [H·D], [kv·D], [width]
  Plan plan;

  Error make(std::string_view spec, const Shape& shape);
  // What is mixed from neighbours, all alike and of an embedding's norm, stands with the input vectors.
  Error plan_for(int n, Random* random, Plan& out);

 private:
  Error mix(Encoding& mixer, Plan& out);
};

// A bias of −∞ in every head hides a key as a pattern does.
bool sees(const Plan& plan, int heads, int i, int j);

// What the last token of the subject's plan sees.
struct View {
  std::vector<char> seen;                  // [n]
  std::vector<double> distance;            // [n], absolute, as remapped
  std::vector<double> angle;               // [n][pairs], relative
  std::vector<std::vector<double>> score;  // [H][n] bias + content term; empty: both closed
  int n() const { return int(seen.size()); }
};

Error locate(Subject& subject, View& view);  // everything but the scores
Error look(Subject& subject, View& view);

}  // namespace lw::audited

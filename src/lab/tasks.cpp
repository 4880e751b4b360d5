#include "lab/tasks.h"

#include <algorithm>
#include <string>

namespace lw {

Error TaskSource::parse(std::string_view name, Task& out) {
  if (name == "text") out = Task::text;
  else if (name == "copy") out = Task::copy;
  else if (name == "recall") out = Task::recall;
  else return {"task is \"" + std::string(name) + "\"; allowed: text, copy, recall"};
  return {};
}

Error TaskSource::set_text(const unsigned char* train, size_t train_size, const unsigned char* test, size_t test_size) {
  if (train_size < 2) return {"the training text has " + std::to_string(train_size) + " bytes; allowed: at least 2"};
  if (test_size < 2) return {"the test text has " + std::to_string(test_size) + " bytes; allowed: at least 2"};
  train_.assign(train, train + train_size);
  test_.assign(test, test + test_size);
  return {};
}

Error TaskSource::check_length(const char* name, int length) const {
  if (length < shortest()) return {std::string(name) + " is " + std::to_string(length) + "; allowed: at least " + std::to_string(shortest())};
  if (task_ != Task::text) return {};
  size_t shorter = std::min(train_.size(), test_.size());
  if (shorter == 0) return {"text is missing; allowed: a text for training and one for testing"};
  bool training = std::string_view(name) == "length";
  size_t size = training ? train_.size() : test_.size();
  if (size_t(length) >= size)
    return {std::string(name) + " is " + std::to_string(length) + "; allowed: less than the " + std::to_string(size) +
            " bytes of the " + (training ? "training" : "test") + " text"};
  return {};
}

static void fill_copy(int length, Random& random, int* tokens, float* weights) {
  const int n = length / 2, separator = 32;  // an odd length leaves one filler in front, without weight
  int skip = length + 1 - (2 * n + 1);
  for (int i = 0; i < skip; i++) tokens[i] = separator;
  int* x = tokens + skip;
  for (int i = 0; i < n; i++) x[i] = x[n + 1 + i] = int(random.below(32));
  x[n] = separator;
  for (int i = 0; i < n; i++) weights[skip + n + i] = 1;
}

static void fill_recall(int length, Random& random, int* tokens, float* weights) {
  const int separator = 48, pairs = std::min(8, length / 4), head = length - 2 * pairs;
  for (int i = 0; i < head; i++) tokens[i] = 32 + int(random.below(16));
  int keys[16], values[16];
  for (int i = 0; i < 16; i++) keys[i] = i;
  for (int i = 0; i < pairs; i++) std::swap(keys[i], keys[i + random.below(16 - i)]), values[i] = 16 + int(random.below(16));
  // `pairs` of the head's two-token slots, each subset equally likely
  const int slots = head / 2;
  for (int slot = 0, placed = 0; slot < slots && placed < pairs; slot++)
    if (int(random.below(slots - slot)) < pairs - placed)
      tokens[2 * slot] = keys[placed], tokens[2 * slot + 1] = values[placed], placed++;
  tokens[head] = separator;
  for (int i = 0; i < pairs; i++) {
    int j = i + int(random.below(pairs - i));
    std::swap(keys[i], keys[j]), std::swap(values[i], values[j]);
    int at = head + 1 + 2 * i;
    tokens[at] = keys[i], tokens[at + 1] = values[i], weights[at] = 1;
  }
}

void TaskSource::fill(int length, Random& random, int* tokens, float* weights) const {
  std::fill_n(weights, length, 0.f);
  (task_ == Task::copy ? fill_copy : fill_recall)(length, random, tokens, weights);
}

static void resize(Batch& b, int sequences, int length) {
  b.sequences = sequences, b.length = length;
  b.tokens.resize(size_t(sequences) * (length + 1)), b.weights.resize(size_t(sequences) * length);
}

void TaskSource::train_batch(int sequences, int longest, Random& random, Batch& out) const {
  int shortest_length = task_ == Task::text ? longest : std::max(shortest(), longest / 2);
  resize(out, sequences, shortest_length + int(random.below(longest - shortest_length + 1)));
  for (int s = 0; s < sequences; s++) {
    int* tokens = out.tokens.data() + size_t(s) * (out.length + 1);
    float* weights = out.weights.data() + size_t(s) * out.length;
    if (task_ != Task::text) { fill(out.length, random, tokens, weights); continue; }
    size_t start = random.below(uint32_t(train_.size() - out.length));
    std::copy_n(train_.data() + start, out.length + 1, tokens);
    std::fill_n(weights, out.length, 1.f);
  }
}

void TaskSource::test_sequence(int index, int count, int length, Batch& out) const {
  resize(out, 1, length);
  if (task_ != Task::text) {
    Random random(uint64_t(length) << 32 | uint32_t(index), 7);
    return fill(length, random, out.tokens.data(), out.weights.data());
  }
  // Up to 16 stretches spread evenly over the text, read from end to end: lengths that divide a stretch see the same bytes,
  // so that a difference between lengths is not a difference between texts.
  size_t total = size_t(count) * length, stretch = std::max<size_t>(length, total / 16 / length * length);
  if (stretch >= test_.size()) stretch = length;
  size_t at = size_t(index) * length, stretches = (total + stretch - 1) / stretch, room = test_.size() - (stretch + 1);
  size_t start = (stretches > 1 ? room * (at / stretch) / (stretches - 1) : 0) + at % stretch;
  std::copy_n(test_.data() + start, length + 1, out.tokens.data());
  std::fill_n(out.weights.data(), length, 1.f);
}

}  // namespace lw

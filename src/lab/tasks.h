// What tiny models are trained on: real text, and two tasks whose answer can only be looked up at a position.
//   text    bytes of the text (vocabulary 256); every next byte counts
//   copy    x₁ … xₙ # x₁ … xₙ (32 symbols and #); the second half counts
//   recall  key–value pairs scattered among filler, then # and the keys again in another order, each followed by its
//           value (16 keys, 16 values, 16 fillers, #); those values count
#pragma once
#include <string_view>
#include <vector>

#include "simd/buffer.h"
#include "simd/random.h"

namespace lw {

enum class Task { text, copy, recall };

// Sequences of length + 1 tokens: token t + 1 is the target at t, with its weight in the loss (0 or 1).
struct Batch {
  int sequences = 0, length = 0;
  std::vector<int> tokens;     // [sequences][length + 1]
  std::vector<float> weights;  // [sequences][length]
};

class TaskSource {
 public:
  explicit TaskSource(Task task) : task_(task) {}
  static Error parse(std::string_view name, Task& out);
  int vocabulary() const { return task_ == Task::text ? 256 : task_ == Task::copy ? 33 : 49; }
  int shortest() const { return task_ == Task::text ? 1 : task_ == Task::copy ? 2 : 8; }

  // Text only; copies. Test text is never trained on.
  Error set_text(const unsigned char* train, size_t train_size, const unsigned char* test, size_t test_size);
  // Refuses a length that the task or the text cannot serve.
  Error check_length(const char* name, int length) const;
  // Text: windows of exactly `longest`. Copy and recall: one length for the batch, uniform in [longest/2, longest].
  void train_batch(int sequences, int longest, Random& random, Batch& out) const;
  // Sequence `index` of `count`: the same for every model. Text: windows of stretches spread over the test text.
  void test_sequence(int index, int count, int length, Batch& out) const;

 private:
  void fill(int length, Random& random, int* tokens, float* weights) const;
  Task task_;
  std::vector<unsigned char> train_, test_;
};

}  // namespace lw

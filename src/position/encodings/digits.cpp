// Place of a digit in its number, as in Abacus (door: ids); wraps what follows. McLeish et al. 2024, arXiv:2405.17399.
//   the k-th digit of a run of digits carries k + o, k from 1; every other token carries 0
//   training: o drawn from 0 … offset, anew for each batch; evaluation: o = 0
// It looks at which tokens there are: digit: their ids, "0" … "9" in bytes without. Numbers written with the lowest digit first
// line up. offset 0 … 2²⁰.
#include <algorithm>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Digits {
  static constexpr Option options[] = {
      {Option::integer, "offset", 0, 0, 1 << 20, nullptr, "In training all digits start from a random number up to this, so that longer numbers are met prepared.",
       "训练时所有数位从不超过此值的随机数开始，以便适应更长的数。"},
      {Option::numbers, "digit", 0, 0, 2147483647, nullptr, "Token ids of digits; without: the bytes 48 to 57.", "数字的词元编号；缺省为字节 48 到 57。"}};
  static constexpr Descriptor descriptor{
      .name = "digits", .title = "Place of a digit (Abacus)", .title_zh = "数位编号（Abacus）",
      .paper = "McLeish et al. 2024, Transformers Can Do Arithmetic with the Right Embeddings, arXiv:2405.17399",
      .doors = unsigned(Door::ids), .options = options, .past = Past::same,
      .past_note = "Depends on the length of a number only; offset makes places of longer numbers familiar.",
      .past_note_zh = "只取决于数的长度；offset 使更长数的数位也在训练中出现。"};

  Digits(const Options& o, const Shape&)
      : offset_(uint32_t(o.integer("offset"))), digits_(o.numbers("digit").begin(), o.numbers("digit").end()) {
    for (int byte = '0'; byte <= '9' && o.numbers("digit").empty(); byte++) digits_.push_back(byte);
  }

  void ids(std::span<double> positions, const int* tokens, Random* random) const {
    const double start = random && offset_ ? random->below(offset_ + 1) : 0;
    double place = 0;
    for (size_t i = 0; i < positions.size(); i++) {
      place = std::find(digits_.begin(), digits_.end(), tokens[i]) != digits_.end() ? place + 1 : 0;
      positions[i] = place ? start + place : 0;
    }
  }

 private:
  uint32_t offset_;
  std::vector<double> digits_;
};

}  // namespace

const Entry digits_entry = entry<Digits>();

}  // namespace lw

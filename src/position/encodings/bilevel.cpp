// Two levels, BiPE (doors: ids, input); goes with rope or alibi. He et al. 2024, arXiv:2401.16421.
//   a token is the k-th of segment n: its embedding gets row k of a learned table [rows][d], its number is n
// A segment ends with a separator (which still belongs to it). It looks at which tokens there are: separator: their ids, the
// bytes of newline, ".", "!" and "?" without. rows 1 … 2²⁰ (0: L), N(0, 0.02); longer segments stay on the last row.
#include <algorithm>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Bilevel {
  static constexpr Option options[] = {
      {Option::integer, "rows", 0, 0, 1 << 20, nullptr, "Rows of the table for places in a segment; 0: the length trained on.",
       "段内位置表的行数；0 表示训练长度。"},
      {Option::numbers, "separator", 0, 0, 2147483647, nullptr, "Token ids that end a segment; without: the bytes of newline, '.', '!' and '?'.",
       "结束一段的词元编号；缺省为换行、“.”、“!”、“?”的字节。"}};
  static constexpr Descriptor descriptor{
      .name = "bilevel", .title = "Two levels (BiPE)", .title_zh = "双层位置编码（BiPE）",
      .paper = "He et al. 2024, Two Stones Hit One Bird: Bilevel Positional Encoding for Better Length Extrapolation, arXiv:2401.16421",
      .doors = Door::ids | Door::input, .options = options, .past = Past::degrades,
      .past_note = "Segments are counted, not tokens, so that new numbers appear several times later; places in a segment stay familiar.",
      .past_note_zh = "计数的是段而不是词元，因此新的编号要晚得多才出现；段内位置始终熟悉。"};

  Bilevel(const Options& o, const Shape& s)
      : rows_(o.integer("rows") ? o.integer("rows") : s.trained_length), d_(s.width),
        separators_(o.numbers("separator").begin(), o.numbers("separator").end()) {
    if (separators_.empty()) separators_ = {'\n', '.', '!', '?'};
    parameters.push_back({Parameter::normal, "places", rows_, d_, 0.02});
  }

  void ids(std::span<double> positions, const int* tokens, Random*) const {
    each_token(positions.size(), tokens, [&](size_t i, int segment, int) { positions[i] = segment; });
  }
  void input(std::span<const double> positions, const int* tokens, float* out) const {
    each_token(positions.size(), tokens, [&](size_t i, int, int place) {
      const float* row = parameters[0].value + size_t(std::min(place, rows_ - 1)) * d_;
      for (int c = 0; c < d_; c++) out[i * d_ + c] += row[c];
    });
  }
  void input_backward(std::span<const double> positions, const int* tokens, const float* gradient) {
    each_token(positions.size(), tokens, [&](size_t i, int, int place) {
      float* row = parameters[0].gradient + size_t(std::min(place, rows_ - 1)) * d_;
      for (int c = 0; c < d_; c++) row[c] += gradient[i * d_ + c];
    });
  }

  std::vector<Parameter> parameters;

 private:
  template <class F>
  void each_token(size_t count, const int* tokens, F f) const {
    int segment = 0, place = 0;
    for (size_t i = 0; i < count; i++) {
      f(i, segment, place++);
      if (std::find(separators_.begin(), separators_.end(), tokens[i]) != separators_.end()) segment++, place = 0;
    }
  }
  int rows_, d_;
  std::vector<double> separators_;
};

}  // namespace

const Entry bilevel_entry = entry<Bilevel>();

}  // namespace lw

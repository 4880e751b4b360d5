// A table of learned vectors added to the embedding (door: input). Gehring et al. 2017, arXiv:1705.03122.
//   position p gets row p of [L][d], initialised N(0, 0.02); between rows: linear interpolation
// overflow, N tokens at positions outside 0 … L − 1: error; clamp: the nearest row; interpolate: for N > L position p reads
// the table at (p + ½)·L/N − ½ (half-pixel centres), kept inside; N ≤ L: as is. N: tokens present when planning; past L
// every new token moves all the vectors, and a model makes its cache anew.
// normalize: layer norm (ε = 10⁻⁵, no gain) on the vector before it is added.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"
#include "position/text.h"

namespace lw {
namespace {

struct LearnedTable {
  static constexpr Option options[] = {
      {Option::choice, "overflow", 0, 0, 2, "error|clamp|interpolate",
       "Past the table: refuse, repeat the last row, or stretch the table over the input.",
       "超出表时：拒绝，重复最后一行，或把表拉伸到整个输入。"},
      {Option::flag, "normalize", 0, 0, 1, nullptr, "Layer norm on the vector before it is added.",
       "向量在相加之前先做层归一化。"}};
  static constexpr Descriptor descriptor{
      .name = "learned", .title = "Learned table", .title_zh = "可学习的绝对位置编码",
      .paper = "Gehring et al. 2017, Convolutional Sequence to Sequence Learning, arXiv:1705.03122",
      .doors = unsigned(Door::input), .options = options, .past = Past::refuses,
      .past_note = "The table has no rows past the trained length; the overflow option decides.",
      .past_note_zh = "超出训练长度后表中没有对应的行，由 overflow 选项决定如何处理。",
      .differs =
          "RoBERTa starts at row padding index + 1, so that its 514 rows hold 512 tokens, and OPT adds 2 as well; here "
          "position p reads row p.",
      .differs_zh = "RoBERTa 从填充编号 + 1 行开始，因此 514 行只能容纳 512 个词元，OPT 同样加 2；这里位置 p 就读第 p 行。"};

  LearnedTable(const Options& o, const Shape& s)
      : overflow_(o.integer("overflow")), normalize_(o.flag("normalize")), L_(s.trained_length), d_(s.width), row_(s.width) {
    parameters.push_back({Parameter::normal, "table", L_, d_, 0.02});
  }

  Error refuse(std::span<const double> positions, int length) {
    length_ = length;
    if (overflow_ == error)
      for (double p : positions)
        if (p < 0 || p > L_ - 1)
          return {"length is " + std::to_string(positions.size()) + " with a position " + number_text(p) +
                  ", but the table of learned has trainedLength = " + std::to_string(L_) + " rows; allowed: positions 0 to " +
                  std::to_string(L_ - 1) + ", or overflow=clamp or interpolate"};
    return {};
  }

  bool jumps(int, int now) const { return overflow_ == interpolate && now > L_; }
  void input(std::span<const double> positions, float* out) {
    for (size_t i = 0; i < positions.size(); i++) {
      read(source(positions[i]));
      for (int c = 0; c < d_; c++) out[i * d_ + c] += row_[c];
    }
  }
  void input_backward(std::span<const double> positions, const float* gradient) {
    for (size_t i = 0; i < positions.size(); i++, gradient += d_) {
      const Source s = source(positions[i]);
      const double deviation = read(s);
      double mean = 0, along = 0;  // of the gradient, and of its part along the normalised vector
      for (int c = 0; c < d_ && normalize_; c++) mean += gradient[c] / double(d_), along += gradient[c] * double(row_[c]) / d_;
      for (int c = 0; c < d_; c++) {
        double g = normalize_ ? (gradient[c] - mean - along * row_[c]) / deviation : gradient[c];
        parameters[0].gradient[size_t(s.row) * d_ + c] += float((1 - s.part) * g);
        if (s.part) parameters[0].gradient[size_t(s.row + 1) * d_ + c] += float(s.part * g);
      }
    }
  }

  std::vector<Parameter> parameters;

 private:
  enum { error, clamp, interpolate };
  struct Source { int row; double part; };  // (1 − part)·row + part·next row
  Source source(double p) const {
    if (overflow_ == interpolate && length_ > L_) p = (p + 0.5) * L_ / length_ - 0.5;
    p = std::clamp(p, 0.0, double(L_ - 1));
    return {int(p), p - std::floor(p)};
  }
  // Into row_; the deviation it was divided by.
  double read(Source s) {
    const float *here = parameters[0].value + size_t(s.row) * d_, *next = s.part ? here + d_ : here;
    double mean = 0, variance = 1e-5;
    for (int c = 0; c < d_; c++) row_[c] = float((1 - s.part) * here[c] + s.part * next[c]), mean += row_[c] / double(d_);
    if (!normalize_) return 1;
    for (int c = 0; c < d_; c++) variance += (row_[c] - mean) * (row_[c] - mean) / d_;
    for (float& x : row_) x = float((x - mean) / std::sqrt(variance));
    return std::sqrt(variance);
  }
  int overflow_;
  bool normalize_;
  int L_, d_, length_ = 0;
  std::vector<float> row_;  // [d]
};

}  // namespace

const Entry learned_entry = entry<LearnedTable>();

}  // namespace lw

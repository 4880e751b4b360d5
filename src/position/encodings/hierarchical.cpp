// A learned table of n rows for n² positions (door: input). Su 2020, kexue.fm/archives/7947.
//   position q·n + r gets α·u_q + (1 − α)·u_r,  u_i = (p_i − α·p_0)/(1 − α)
//   which is p_r + a·(p_q − p_0) with a = α/(1 − α): the first n positions are the table itself
// rows n 1 … 2¹², 0: the length trained on (at most 2¹²); initialised N(0, 0.02). alpha 0 … 0.99. Between positions: linear
// interpolation. overflow, outside 0 … n² − 1: error; clamp: the nearest position.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"
#include "position/text.h"

namespace lw {
namespace {

struct Hierarchical {
  static constexpr int most_rows = 1 << 12;  // n² fits an int
  static constexpr Option options[] = {
      {Option::integer, "rows", 0, 0, most_rows, nullptr, "Rows of the table; 0: the length trained on.", "表的行数；0 表示训练长度。"},
      {Option::number, "alpha", 0.4, 0, 0.99, nullptr, "Weight of the coarse part.", "粗粒度部分的权重。"},
      {Option::choice, "overflow", 0, 0, 1, "error|clamp", "Past the square of the rows: refuse, or repeat the last position.",
       "超出行数的平方时：拒绝，或重复最后一个位置。"}};
  static constexpr Descriptor descriptor{
      .name = "hierarchical", .title = "Hierarchical table", .title_zh = "层次分解的位置编码",
      .paper = "Su 2020, 层次分解位置编码，让BERT可以处理超长文本, kexue.fm/archives/7947",
      .doors = unsigned(Door::input), .options = options, .past = Past::degrades,
      .past_note = "A table of n rows serves n² positions: those past its rows are put together from two of them. Past n² it refuses.",
      .past_note_zh = "n 行的表可表示 n² 个位置：超出行数的位置由其中两行组合而成；超过 n² 则拒绝运行。"};

  Hierarchical(const Options& o, const Shape& s)
      : rows_(rows(o, s)), d_(s.width), clamp_(o.flag("overflow")), coarse_(o["alpha"] / (1 - o["alpha"])) {
    parameters.push_back({Parameter::normal, "table", rows_, d_, 0.02});
  }
  static Error check(const Options& o, const Shape& s) {
    if (rows(o, s) <= most_rows) return {};
    return {"trainedLength is " + std::to_string(s.trained_length) + "; allowed with hierarchical:rows=0: at most " + std::to_string(most_rows)};
  }

  Error refuse(std::span<const double> positions, int) const {
    const int most = rows_ * rows_ - 1;
    for (double p : positions)
      if (!clamp_ && (p < 0 || p > most))
        return {"a position is " + number_text(p) + "; allowed with the " + std::to_string(rows_) + " rows of hierarchical: 0 to " +
                std::to_string(most) + ", or overflow=clamp"};
    return {};
  }

  void input(std::span<const double> positions, float* out) const {
    for (double p : positions) {
      each_part(p, [&](int row, double weight) {
        const float* from = parameters[0].value + size_t(row) * d_;
        for (int c = 0; c < d_; c++) out[c] += float(weight * from[c]);
      });
      out += d_;
    }
  }
  void input_backward(std::span<const double> positions, const float* gradient) {
    for (double p : positions) {
      each_part(p, [&](int row, double weight) {
        float* to = parameters[0].gradient + size_t(row) * d_;
        for (int c = 0; c < d_; c++) to[c] += float(weight * gradient[c]);
      });
      gradient += d_;
    }
  }

  std::vector<Parameter> parameters;

 private:
  static int rows(const Options& o, const Shape& s) { return o.integer("rows") ? o.integer("rows") : s.trained_length; }
  // Calls f(row, weight) for the rows that make up position p.
  template <class F>
  void each_part(double p, F f) const {
    p = std::clamp(p, 0.0, double(rows_) * rows_ - 1);
    const int low = int(p);
    const double part = p - low;
    for (int at = low; at <= low + (part > 0); at++) {
      const double weight = at == low ? 1 - part : part;
      f(at % rows_, weight);
      if (at >= rows_) f(at / rows_, weight * coarse_), f(0, -weight * coarse_);
    }
  }
  int rows_, d_;
  bool clamp_;
  double coarse_;  // a
};

}  // namespace

const Entry hierarchical_entry = entry<Hierarchical>();

}  // namespace lw

// Positions in a plane or in space, as in M-RoPE (door: ids); goes with a rotation. Wang et al. 2024, arXiv:2409.12191.
//   a token carries (row, column), or (frame, row, column) with dimensions=3; each pair turns by one of them
// Tokens 0 … text − 1 are text, then come frames × rows × columns cells, then text again. Text carries equal coordinates and
// is then exactly one-dimensional; cell (f, r, c) carries (text + f, text + r, text + c); the text behind goes on one past
// the largest. split: halves (or thirds) gives each coordinate neighbouring pairs, alternating every second (third) pair.
// columns 1 … 2²⁰; rows and frames 1 … 2²⁰, or 0: without end, only for the outermost dimension; text 0 … 2²⁴.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct Grid {
  static constexpr Option options[] = {
      {Option::integer, "dimensions", 2, 2, 3, nullptr, "2: row and column; 3: frame, row and column.", "2：行与列；3：帧、行与列。"},
      {Option::integer, "columns", 8, 1, 1 << 20, nullptr, "Cells in a row.", "每行的格数。"},
      {Option::integer, "rows", 0, 0, 1 << 20, nullptr, "Rows of a frame; 0: without end, with two dimensions.", "每帧的行数；0 表示不限（仅二维）。"},
      {Option::integer, "frames", 0, 0, 1 << 20, nullptr, "Frames, with three dimensions; 0: without end.", "帧数（三维时）；0 表示不限。"},
      {Option::integer, "text", 0, 0, 1 << 24, nullptr, "Tokens of text before the first cell.", "第一个格子之前的文本词元数。"},
      {Option::choice, "split", 0, 0, 1, "blocks|alternating", "How the pairs are shared out: neighbouring pairs, or in turn.",
       "维度对如何分配：相邻成块，或轮流。"}};
  static constexpr Descriptor descriptor{
      .name = "grid", .title = "Positions in a plane or in space (2-D, M-RoPE)", .title_zh = "平面或空间位置（二维、M-RoPE）",
      .paper = "Wang et al. 2024, Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any Resolution, arXiv:2409.12191",
      .doors = unsigned(Door::ids), .options = options, .past = Past::degrades,
      .past_note = "Coordinates grow with the side of the image only, so that many more tokens fit before a new one appears.",
      .past_note_zh = "坐标只随图像边长增长，因此出现新坐标之前能容纳多得多的词元。",
      .differs =
          "Qwen2-VL gives frame, row and column 16, 24 and 24 pairs, one block after the other; Qwen3-VL deals the pairs "
          "out in turn. Here all coordinates have equal shares.",
      .differs_zh = "Qwen2-VL 把维度对按 16、24、24 连续分给帧、行、列；Qwen3-VL 则轮流分配。这里各坐标分得的份额相等。",
      .example = "text=8:rows=8:columns=8"};

  Grid(const Options& o, const Shape&)
      : dimensions_(o.integer("dimensions")), columns_(o["columns"]), rows_(o["rows"]), frames_(o["frames"]), text_(o["text"]),
        alternating_(o.integer("split")) {}
  static Error check(const Options& o, const Shape&) {
    if (o.integer("dimensions") == 3 && !o.integer("rows")) return {"grid:rows is 0; allowed with dimensions=3: at least 1"};
    if (o.integer("dimensions") == 2 && o.integer("frames")) return {"grid:frames is " + std::to_string(o.integer("frames")) + "; allowed with dimensions=2: 0"};
    return {};
  }

  int coordinates() const { return dimensions_; }
  int coordinate_of(int pair, int pairs) const {
    return alternating_ ? pair % dimensions_ : std::min(dimensions_ - 1, pair * dimensions_ / pairs);
  }
  void coordinate(int coordinate, std::span<const double> positions, double* out) const {
    const double frame = rows_ * columns_, outer = dimensions_ == 3 ? frames_ : rows_;
    const double cells = outer == 0 ? HUGE_VAL : outer * (dimensions_ == 3 ? frame : columns_);
    const double side = std::max({columns_, rows_, frames_});
    for (double p : positions) {
      const double cell = p - text_;
      if (cell < 0) *out++ = p;
      else if (cell >= cells) *out++ = text_ + side + (cell - cells);
      else if (coordinate == dimensions_ - 1) *out++ = text_ + std::fmod(cell, columns_);
      else if (dimensions_ == 2) *out++ = text_ + std::floor(cell / columns_);
      else *out++ = text_ + (coordinate == 0 ? std::floor(cell / frame) : std::floor(std::fmod(cell, frame) / columns_));
    }
  }

 private:
  int dimensions_;
  double columns_, rows_, frames_, text_;
  int alternating_;
};

}  // namespace

const Entry grid_entry = entry<Grid>();

}  // namespace lw

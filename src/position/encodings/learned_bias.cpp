// A learned bias for each head and distance (door: bias), as in Liu et al. 2021, arXiv:2103.14030, in one dimension.
//   bias_h(Δ) = table[h][clip(Δ, −K, K)];  between whole distances, linear interpolation
// A table [H][K + 1] (causal: distances 0 … K) or [H][2K + 1], shared by all layers, initialised N(0, 0.02).
// clip K 1 … 2²⁰.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"

namespace lw {
namespace {

struct LearnedBias {
  static constexpr Option options[] = {
      {Option::integer, "clip", 64, 1, 1 << 20, nullptr, "Distances beyond this share a bias.", "超过此距离的位置共用同一个偏置。"}};
  static constexpr Descriptor descriptor{
      .name = "learned_bias", .title = "Learned bias per distance", .title_zh = "逐距离的可学习偏置",
      .paper = "Liu et al. 2021, Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, arXiv:2103.14030",
      .doors = unsigned(Door::bias), .options = options, .past = Past::degrades,
      .past_note = "Distances past the clip share a bias, so that far keys are no longer told apart.",
      .past_note_zh = "超过截断距离后共用同一个偏置，远处的键不再有区别。",
      .differs =
          "Swin has a table for each layer, over the two distances in a window of the plane, which needs no clipping; here "
          "one table serves all layers.",
      .differs_zh = "Swin 每层各有一张表，按平面窗口内的两个方向的距离查找，无需截断；这里所有层共用一张表。"};

  LearnedBias(const Options& o, const Shape& s) : least_(s.causal ? 0 : -o.integer("clip")), most_(o.integer("clip")) {
    parameters.push_back({Parameter::normal, "table", s.heads, most_ - least_ + 1, 0.02});
  }

  void bias(std::span<const double> distances, Heads out) const {
    const Parameter& table = parameters[0];
    each_cell(distances, [&](size_t m, int low, float part) {
      for (int h = 0; h < table.rows; h++) {
        const float* row = table.value + size_t(h) * table.columns;
        out[h][m] = part == 0 ? row[low] : (1 - part) * row[low] + part * row[low + 1];
      }
    });
  }
  void bias_backward(std::span<const double> distances, const float* gradient) {
    Parameter& table = parameters[0];
    each_cell(distances, [&](size_t m, int low, float part) {
      for (int h = 0; h < table.rows; h++) {
        float *row = table.gradient + size_t(h) * table.columns, g = gradient[h * distances.size() + m];
        row[low] += (1 - part) * g;
        if (part != 0) row[low + 1] += part * g;
      }
    });
  }

  std::vector<Parameter> parameters;

 private:
  // f(m, column, part): distance m lies between a column and the next one.
  template <class F>
  void each_cell(std::span<const double> distances, F f) const {
    for (size_t m = 0; m < distances.size(); m++) {
      const double at = std::clamp(distances[m], double(least_), double(most_)) - least_;
      f(m, int(at), float(at - std::floor(at)));
    }
  }
  int least_, most_;
};

}  // namespace

const Entry learned_bias_entry = entry<LearnedBias>();

}  // namespace lw

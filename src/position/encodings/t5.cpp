// T5's buckets of distances (door: bias). Raffel et al. 2020, arXiv:1910.10683.
//   bias_h(Δ) = table[bucket(Δ)][h], a table shared by all layers, initialised N(0, 1/d)
//   causal: B = buckets, n = max(Δ, 0); both directions: B = buckets/2, n = |Δ|, + B where the key is right of the query
//   E = ⌊B/2⌋;  n < E: bucket ⌊n⌋;  else min(B − 1, E + ⌊ln(n/E) / ln(max_distance/E) · (B − E)⌋)
// buckets 2 … 1024 (both directions: even, at least 4); max_distance above E, up to 2²⁴. scaled false: scores are not
// divided by √D, as in T5 itself.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "position/catalogue.h"

namespace lw {
namespace {

// The whole k-th root of x, or 0 when x has none.
int64_t whole_root(int64_t x, int k) {
  int64_t root = std::llround(std::pow(double(x), 1.0 / k)), power = 1;
  for (int i = 0; i < k && power <= x; i++) power *= root;
  return power == x ? root : 0;
}

struct T5 {
  static constexpr Option options[] = {
      {Option::integer, "buckets", 32, 2, 1024, nullptr, "Number of learned biases per head.", "每个头的可学习偏置个数。"},
      {Option::integer, "max_distance", 128, 2, 1 << 24, nullptr, "From this distance on all keys share the last bucket.",
       "达到此距离后，所有键共用最后一个桶。"},
      {Option::flag, "scaled", 1, 0, 1, nullptr, "Divide q·k by √D; the original does not.", "q·k 除以 √D；原模型不除。"}};
  static constexpr Descriptor descriptor{
      .name = "t5", .title = "T5 buckets", .title_zh = "T5 分桶相对偏置",
      .paper = "Raffel et al. 2020, Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, arXiv:1910.10683",
      .doors = unsigned(Door::bias), .options = options, .past = Past::degrades,
      .past_note = "All keys past max_distance share a bucket, so that far keys are no longer told apart.",
      .past_note_zh = "超过 max_distance 的键落入同一个桶，远处的键不再有区别。",
      .differs =
          "T5 does not divide scores by √D (scaled=false), its cross-attention has no bias, and UMT5 has a table for each "
          "layer. Buckets from logarithms in f32 can slip at a border; here they are those of the exact formula.",
      .differs_zh = "T5 的分数不除以 √D（scaled=false），交叉注意力没有偏置；UMT5 每层各有一张表。用 f32 对数算桶号，边界处可能差一格；这里与精确公式一致。"};

  T5(const Options& o, const Shape& s)
      : heads_(s.heads), causal_(s.causal), scaled_(o.flag("scaled")), buckets_(side(o, s)), exact_(buckets_ / 2) {
    for (int b = 1; b < buckets_ - exact_; b++) borders_.push_back(border(b, o.integer("max_distance")));
    parameters.push_back({Parameter::normal, "table", o.integer("buckets"), s.heads, 1 / std::sqrt(double(s.width))});
  }
  static Error check(const Options& o, const Shape& s) {
    int buckets = o.integer("buckets"), distance = o.integer("max_distance"), exact = side(o, s) / 2;
    if (!s.causal && (buckets < 4 || buckets % 2))
      return {"t5:buckets is " + std::to_string(buckets) + "; allowed with causal = false: even numbers from 4"};
    if (distance <= exact)
      return {"t5:max_distance is " + std::to_string(distance) + "; allowed with buckets=" + std::to_string(buckets) +
              ": more than " + std::to_string(exact)};
    return {};
  }

  float score_scale() const { return scaled_ ? -1 : 1; }

  void bias(std::span<const double> distances, Heads out) const {
    each_run(distances, [&](size_t from, size_t to, int bucket) {
      const float* row = parameters[0].value + size_t(bucket) * heads_;
      for (int h = 0; h < heads_; h++) std::fill(out[h] + from, out[h] + to, row[h]);
    });
  }
  void bias_backward(std::span<const double> distances, const float* gradient) {
    each_run(distances, [&](size_t from, size_t to, int bucket) {
      float* row = parameters[0].gradient + size_t(bucket) * heads_;
      for (int h = 0; h < heads_; h++)
        for (size_t m = from; m < to; m++) row[h] += gradient[h * distances.size() + m];
    });
  }

  std::vector<Parameter> parameters;

 private:
  static int side(const Options& o, const Shape& s) { return o.integer("buckets") / (s.causal ? 1 : 2); }

  // Bucket E + b begins at E·(max/E)^(b/(B−E)). A rounded logarithm puts some whole distances on the wrong side, so the
  // borders that are rational are computed as such; the others never meet a whole number.
  double border(int b, int max_distance) const {
    const int common = std::gcd(b, buckets_ - exact_), above = b / common, below = (buckets_ - exact_) / common;
    const int reduce = std::gcd(max_distance, exact_);
    const int64_t over = whole_root(max_distance / reduce, below), under = whole_root(exact_ / reduce, below);
    if (!over || !under) return exact_ * std::pow(double(max_distance) / exact_, double(b) / (buckets_ - exact_));
    double top = exact_, bottom = 1;
    for (int i = 0; i < above; i++) top *= double(over), bottom *= double(under);
    return top / bottom;
  }
  // Calls f(from, to, bucket) for neighbouring distances [from, to) that share a bucket.
  template <class F>
  void each_run(std::span<const double> distances, F f) const {
    for (size_t from = 0, to; from < distances.size(); from = to) {
      const bool right = !causal_ && distances[from] < 0;
      auto far = [&](double distance) { return causal_ ? std::max(distance, 0.0) : std::fabs(distance); };
      const double n = far(distances[from]);
      const auto border = std::upper_bound(borders_.begin(), borders_.end(), n);
      const bool exact = n < exact_;
      const double low = exact ? std::floor(n) : border == borders_.begin() ? exact_ : border[-1];
      const double high = exact ? low + 1 : border == borders_.end() ? INFINITY : *border;
      for (to = from + 1; to < distances.size(); to++) {
        const double next = far(distances[to]);
        if (!(next >= low && next < high) || right != (!causal_ && distances[to] < 0)) break;
      }
      f(from, to, (right ? buckets_ : 0) + (exact ? int(n) : exact_ + int(border - borders_.begin())));
    }
  }
  int heads_;
  bool causal_, scaled_;
  int buckets_, exact_;           // on one side: B, E
  std::vector<double> borders_;   // where buckets E + 1 … B − 1 begin
};

}  // namespace

const Entry t5_entry = entry<T5>();

}  // namespace lw

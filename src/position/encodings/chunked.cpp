// Dual chunk attention (door: ids); wraps any encoding by distance. An et al. 2024, arXiv:2402.17463.
//   chunks of s tokens; keys carry j mod s. Queries carry, to keys of the same chunk, i mod s;
//   of the chunk before, min(i mod s + s, c − 1); of older chunks, c − 1. So no distance reaches c.
// length c 2 … 2²⁴ (0: the length trained on), chunk s 1 … c − 1 (0: ⌊3c/4⌋, at least 1). Causal, positions increasing.
// Cached keys are kept unrotated, as for every map of distances.
#include <cmath>

#include "position/catalogue.h"
#include "position/zones.h"

namespace lw {
namespace {

struct Chunked {
  static constexpr Option options[] = {
      {Option::integer, "length", 0, 0, 1 << 24, nullptr, "No distance reaches this; 0: the length trained on.", "任何距离都小于此值；0 表示训练长度。"},
      {Option::integer, "chunk", 0, 0, 1 << 24, nullptr, "Tokens in a chunk; 0: three quarters of length.", "每块的词元数；0 表示 length 的四分之三。"}};
  static constexpr Descriptor descriptor{
      .name = "chunked", .title = "Dual chunk attention (DCA)", .title_zh = "双块注意力（DCA）",
      .paper = "An et al. 2024, Training-Free Long-Context Scaling of Large Language Models, arXiv:2402.17463",
      .doors = unsigned(Door::ids), .options = options, .past = Past::same,
      .past_note = "No distance reaches the length trained on; order inside the near chunks stays exact.",
      .past_note_zh = "任何距离都小于训练长度；近处块内的次序保持准确。",
      .causal_only = true,
      .after_training = true};

  Chunked(const Options& o, const Shape& s) : length_(limit(o, s)), chunk_(size(o, s)) {}
  static Error check(const Options& o, const Shape& s) {
    if (limit(o, s) < 2) return {"chunked:length is " + std::to_string(limit(o, s)) + "; allowed: at least 2, or 0 with trainedLength of at least 2"};
    if (size(o, s) < limit(o, s)) return {};
    return {"chunked:chunk is " + std::to_string(size(o, s)) + "; allowed: less than length (" + std::to_string(limit(o, s)) + ")"};
  }

  int zones() const { return 3; }
  void zone(int zone, std::span<const double> positions, Zone& out) const {
    number(positions, out, [&](double p) { return p - chunk_ * std::floor(p / chunk_); });
    size_t j = 0;  // the first key of the zone's oldest chunk
    for (size_t i = 0; i < positions.size(); i++) {
      while (zone < 2 && std::floor(positions[j] / chunk_) < std::floor(positions[i] / chunk_) - zone) j++;
      out.first[i] = int(j);
      if (zone == 1) out.query[i] = std::min(out.query[i] + chunk_, length_ - 1);
      if (zone == 2) out.query[i] = length_ - 1;
    }
  }

 private:
  static int limit(const Options& o, const Shape& s) { return o.integer("length") ? o.integer("length") : s.trained_length; }
  static int size(const Options& o, const Shape& s) { return o.integer("chunk") ? o.integer("chunk") : std::max(1, limit(o, s) * 3 / 4); }
  double length_, chunk_;
};

}  // namespace

const Entry chunked_entry = entry<Chunked>();

}  // namespace lw

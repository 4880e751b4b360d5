// Zones of keys by their distance from the query: what the encodings that remap distance share.
#pragma once
#include <algorithm>

#include "position/encoding.h"

namespace lw {

// first[i]: the first key closer to query i than `distance`. Positions increase, so one walk finds all of them.
inline void keys_closer_than(double distance, std::span<const double> positions, Buffer<int>& first) {
  size_t j = 0;
  for (size_t i = 0; i < positions.size(); i++) {
    while (j < i && positions[i] - positions[j] >= distance) j++;
    first[i] = int(j);
  }
}

// Both sides carry f(position).
template <class F>
void number(std::span<const double> positions, Zone& zone, F f) {
  for (size_t i = 0; i < positions.size(); i++) zone.query[i] = zone.key[i] = f(positions[i]);
}

}  // namespace lw

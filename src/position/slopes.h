// The slopes of ALiBi, which other encodings take over.
#pragma once
#include <cmath>
#include <vector>

namespace lw {

// Heads a power of two: m_h = 2^(−8h/H), h = 1 … H. Otherwise, p the largest power of two below: the p slopes, then the
// 1st, 3rd, 5th … of the 2p slopes.
inline std::vector<double> alibi_slopes(int heads) {
  std::vector<double> slopes;
  int power = 1;
  while (power * 2 <= heads) power *= 2;
  for (int h = 1; h <= power; h++) slopes.push_back(std::exp2(-8.0 * h / power));
  for (int h = 1; int(slopes.size()) < heads; h += 2) slopes.push_back(std::exp2(-4.0 * h / power));
  return slopes;
}

}  // namespace lw

#include "model/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lw {

int sample(const float* logits, int vocabulary, const SamplingOptions& options, Random& random) {
  for (int i = 0; i < vocabulary; i++) if (std::isnan(logits[i])) return -1;
  int best = int(std::max_element(logits, logits + vocabulary) - logits);
  if (std::isinf(logits[best])) return logits[best] > 0 ? best : -1;
  if (options.temperature == 0) return best;

  struct Candidate { int token; double weight; };
  std::vector<Candidate> candidates;
  for (int i = 0; i < vocabulary; i++) {
    double weight = std::exp((double(logits[i]) - logits[best]) / options.temperature);
    if (weight > 0) candidates.push_back({i, weight});
  }
  bool cut = (options.top_k > 0 && options.top_k < int(candidates.size())) || options.top_p < 1;
  if (cut) {
    std::stable_sort(candidates.begin(), candidates.end(), [](auto& a, auto& b) { return a.weight > b.weight; });
    if (options.top_k > 0 && options.top_k < int(candidates.size())) candidates.resize(options.top_k);
    double total = 0, sum = 0;
    for (auto& c : candidates) total += c.weight;
    size_t kept = 0;
    while (kept < candidates.size() && (kept == 0 || sum < options.top_p * total)) sum += candidates[kept++].weight;
    candidates.resize(kept);
  }
  double total = 0;
  for (auto& c : candidates) total += c.weight;
  double point = random.uniform() * total;
  for (auto& c : candidates) if ((point -= c.weight) < 0) return c.token;
  return candidates.back().token;
}

}  // namespace lw

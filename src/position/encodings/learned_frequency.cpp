// Sinusoids whose frequencies are learned, added to the embedding (door: input). Wang et al. 2021, ICLR, openreview onxoVA9FxMw.
//   PE[p, 2k] = sin(p·ω_k), PE[p, 2k+1] = cos(p·ω_k); ω_k is a parameter started at base^(−2k/d)
//   d(loss)/d(ω_k) = Σ_p p·(cos(p·ω_k)·g[p, 2k] − sin(p·ω_k)·g[p, 2k+1])
// d odd: the last column is the sine. base 1 … 10¹². embedding_scale: token embeddings × √d before the sum.
#include <algorithm>
#include <cmath>

#include "position/catalogue.h"
#include "position/waves.h"

namespace lw {
namespace {

struct LearnedFrequency {
  static constexpr Option options[] = {
      {Option::number, "base", 10000, 1, 1e12, nullptr, "The longest wavelength at the start is about 2π·base.",
       "初始时最长的波长约为 2π·base。"},
      {Option::flag, "embedding_scale", 1, 0, 1, nullptr, "Token embeddings are multiplied by √d first.", "先把词元嵌入乘以 √d。"}};
  static constexpr Descriptor descriptor{
      .name = "learned_frequency", .title = "Sinusoidal, learned frequencies", .title_zh = "可学习频率的正弦编码",
      .paper = "Wang et al. 2021, On Position Embeddings in BERT, ICLR 2021",
      .doors = unsigned(Door::input), .options = options, .past = Past::degrades,
      .past_note = "Defined for every position, but vectors past the trained length were never seen.",
      .past_note_zh = "对任意位置都有定义，但超出训练长度的向量从未见过。"};

  LearnedFrequency(const Options& o, const Shape& s) : waves_(o["base"], s.width, Waves::in_turn), scaled_(o.flag("embedding_scale")), d_(s.width) {
    parameters.push_back({Parameter::custom, "frequencies", 1, waves_.count()});
  }
  void initialise(Random&) {
    for (int k = 0; k < waves_.count(); k++) parameters[0].value[k] = float(waves_.frequency(k));
  }

  float embedding_scale() const { return scaled_ ? float(std::sqrt(double(d_))) : 1; }

  void input(std::span<const double> positions, float* out) {
    for (int k = 0; k < waves_.count(); k++) waves_.frequency(k, parameters[0].value[k]);
    for (double p : positions) waves_.add(p, out), out += d_;
  }
  void input_backward(std::span<const double> positions, const float* gradient) {
    std::vector<double> sums(waves_.count());
    for (double p : positions) {
      waves_.at(p);
      for (int c = 0; c < d_; c++) {
        const int k = c / 2;
        sums[k] += p * *gradient++ * (c % 2 ? -waves_.sine(k) : waves_.cosine(k));
      }
    }
    for (int k = 0; k < waves_.count(); k++) parameters[0].gradient[k] += float(sums[k]);
  }

  std::vector<Parameter> parameters;

 private:
  Waves waves_;
  bool scaled_;
  int d_;
};

}  // namespace

const Entry learned_frequency_entry = entry<LearnedFrequency>();

}  // namespace lw

// Running sums of gates that are read from the layer's input, as forget_gate and cable have them:
//   score_ij += c_i − c_j,  c_t = Σ_{l≤t} ln σ(sign·z_l),  z_l = w_h·x_l + b_h
// Memory O(T): the sums, in double.
#pragma once
#include "position/content.h"

namespace lw {

class GateSums final : public ContentTerm {
 public:
  // parameters: w [H][d], b [H].
  GateSums(std::span<Parameter> parameters, int sign)
      : map_{&parameters[0], &parameters[1]}, sign_(sign), H_(map_.weight->rows), d_(map_.weight->columns) {}
  bool begin(int length) override { return sums_.begin(length, H_); }
  bool sequence(const Sequence& tokens) override {
    for (int n = 0; n < tokens.count; n++) {
      const int t = tokens.offset + n;
      double* sum = sums_.fresh(t);
      for (int h = 0; h < H_; h++) sum[h] = (t ? sums_.value(t - 1)[h] : 0) - softplus(-sign_ * z(tokens, n, h));
    }
    return true;
  }

  void row(const Row& row, const float*, float* scores) override {
    const double here = sums_.value(row.query)[row.head];
    for (int j = row.first; j < row.last; j++) scores[j] += float(here - sums_.value(j)[row.head]);
  }
  void row_backward(const Row& row, const float*, const float* dscores, float*, float*) override {
    double total = 0;
    for (int j = row.first; j < row.last; j++) total += dscores[j], sums_.gradient(j)[row.head] -= dscores[j];
    sums_.gradient(row.query)[row.head] += total;
  }

  // c_t holds the gates of all l ≤ t, so gate l gets the sum of the gradients of c_t over t ≥ l.
  void sequence_backward(const Sequence& tokens, float* dx, float*, float*) override {
    for (int h = 0; h < H_; h++) {
      double later = 0;
      for (int n = tokens.count - 1; n >= 0; n--) {
        later += sums_.gradient(tokens.offset + n)[h];
        const double dz = later * sign_ * sigmoid(-sign_ * z(tokens, n, h));  // d ln σ(z) = 1 − σ(z)
        map_.backward(tokens.x + size_t(n) * d_, h, float(dz), dx + size_t(n) * d_);
      }
    }
  }
  void end_backward() override {}

 private:
  double z(const Sequence& tokens, int n, int head) const { return map_(tokens.x + size_t(n) * d_, head); }
  LinearMap map_;
  int sign_, H_, d_;
  TokenRows<double> sums_;  // c [length][H]
};

}  // namespace lw

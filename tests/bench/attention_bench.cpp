// Attention forward and backward for the shapes that training and decoding use: checked against the reference, then
// timed, best of many runs. GFLOP/s count what a causal mask leaves: two products forward, five backward; with linear
// attention sums and products of D × D for each token.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../native/attention_case.h"

using namespace lw;
using namespace lw::test;

namespace {

enum Open {
  nothing = 0, rotation = 1, bias = 2, scale = 4, window = 8, dilated = 16, every_other = 32, linear = 64, slopes = 128
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
double best_of(int runs, int repeat, F f) {
  double best = 1e9;
  for (int run = 0; run < runs; run++) {
    const double start = seconds();
    for (int n = 0; n < repeat; n++)
      if (!f()) std::abort();
    best = std::min(best, (seconds() - start) / repeat);
  }
  return best;
}

void open_doors(AttentionCase& c, int open) {
  bool ok = true;
  c.plan.linear = open & linear;
  if (open & rotation) ok &= c.open_rotation(c.head_dim / 2, Pairing::interleaved);
  if (open & bias) ok &= c.open_bias(true);
  if (open & slopes) ok &= c.open_slopes();
  if (open & scale) ok &= c.open_scale();
  if (open & window)
    c.open_pattern([](int i, int, std::vector<Interval>& out) { out.push_back({std::max(0, i - 127), i + 1}); });
  if (open & dilated)
    c.open_pattern([](int i, int, std::vector<Interval>& out) {
      for (int j = i % 8 + std::max(0, i / 8 - 127) * 8; j <= i; j += 8) out.push_back({j, j + 1});
    });
  if (open & every_other)
    c.open_pattern([](int i, int, std::vector<Interval>& out) { for (int j = i % 2; j <= i; j += 2) out.push_back({j, j + 1}); });
  const bool checked = c.keys <= 2048;  // a long reference would take longer than all the rest
  if (!ok || (checked && difference(run(c, false).out, run(c, true).out) > 1e-4)) std::abort();
}

void training(const char* name, int T, int H, int D, int open) {
  AttentionCase c(T, T, 0, H, H, D, true, 1);
  open_doors(c, open);
  auto forward = run(c, false);
  std::vector<float> dq(c.q_store.size()), dk(c.k_store.size()), dv(c.v_store.size());
  AttentionScratch scratch;
  const double flops = (open & linear ? 4.0 * D : 2.0 * T) * T * H * D;
  const int repeat = int(2e6 / flops) + 1, runs = T > 2048 ? 5 : 40;
  float* out = forward.out.data() + 1;
  const double ahead = best_of(runs, repeat, [&] {
    return attention(c.input(), c.plan, {}, out, c.out_stride, forward.lse.data(), scratch);
  });
  const double back = best_of(runs, repeat, [&] {
    return attention_backward(c.input(), c.plan, {}, out, out, c.out_stride, forward.lse.data(),
                              {dq.data(), dk.data(), dv.data(), nullptr}, scratch);
  });
  std::printf("%-16s T %5d  H %2d  D %3d   forward %9.1f us %6.1f GFLOP/s   backward %9.1f us %6.1f GFLOP/s\n", name, T, H, D,
              ahead * 1e6, flops / ahead * 1e-9, back * 1e6, 2.5 * flops / back * 1e-9);
}

void decoding(int T, int H, int D) {
  AttentionCase c(1, T, T - 1, H, H, D, true, 1);
  open_doors(c, nothing);
  auto forward = run(c, false);
  AttentionScratch scratch;
  const double time = best_of(40, 10, [&] {
    return attention(c.input(), c.plan, {}, forward.out.data() + 1, c.out_stride, nullptr, scratch);
  });
  std::printf("one query        T %5d  H %2d  D %3d           %9.2f us %6.1f GB/s\n", T, H, D, time * 1e6,
              8.0 * T * H * D / time * 1e-9);
}

}  // namespace

int main() {
  for (int T : {64, 128, 256}) training("plain", T, 4, 16, nothing);
  training("rotation", 64, 4, 16, rotation), training("bias", 64, 4, 16, bias), training("scale", 64, 4, 16, scale);
  training("plain", 128, 4, 32, nothing), training("plain", 256, 8, 64, nothing);
  training("plain", 1024, 8, 64, nothing), training("rotation", 1024, 8, 64, rotation), training("bias", 1024, 8, 64, bias);
  training("ALiBi's slopes", 1024, 8, 64, slopes), training("ALiBi's slopes", 4096, 8, 64, slopes);
  training("window 128", 1024, 8, 64, window), training("dilated 128 · 8", 1024, 8, 64, dilated);
  training("every other", 1024, 8, 64, every_other);
  for (int T : {128, 1024}) training("linear", T, 8, 64, linear | rotation);
  decoding(128, 4, 16), decoding(512, 8, 64), decoding(2048, 8, 64);
}

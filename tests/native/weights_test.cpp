// Weights in fewer bits: what is stored, and products with it.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "model/trainer.h"
#include "nn/weights.h"
#include "simd/random.h"

using namespace lw;

namespace {

// IEEE 754, clause 3.4: sign, 5 bits of exponent, 10 of fraction.
double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}
uint16_t stored(float w) {
  uint16_t bits;
  pack_row(Precision::f16, &w, 1, reinterpret_cast<unsigned char*>(&bits));
  return bits;
}
float read(uint16_t bits) {
  float w;
  unpack_row(Precision::f16, reinterpret_cast<unsigned char*>(&bits), 1, &w);
  return w;
}

struct Packed {
  Precision precision;
  int in;
  std::vector<unsigned char> data;
  std::vector<float> values;  // unpacked
  Packed(Precision precision, const std::vector<float>& w, int in) : precision(precision), in(in), values(w.size()) {
    const size_t rows = w.size() / in, bytes = row_bytes(precision, in);
    data.resize(rows * bytes);
    for (size_t r = 0; r < rows; r++) {
      pack_row(precision, &w[r * in], in, &data[r * bytes]);
      unpack_row(precision, &data[r * bytes], in, &values[r * in]);
    }
  }
};

std::vector<float> normals(Random& random, size_t n) {
  std::vector<float> x(n);
  for (float& v : x) v = float(random.normal());
  return x;
}

}  // namespace

TEST_CASE("f16: every finite half is read and stored as IEEE 754 says; others go to the nearest, ties to the even one (tenstorrent/tt-metal#48264)") {
  int wrong = 0;
  for (int bits = 0; bits < 0x10000; bits++) {
    if ((bits >> 10 & 31) == 31) continue;
    wrong += read(uint16_t(bits)) != half_value(uint16_t(bits)) || stored(float(half_value(uint16_t(bits)))) != bits;
    if ((bits & 0x7fff) == 0x7bff) continue;
    const double low = half_value(uint16_t(bits)), high = half_value(uint16_t(bits + 1)), middle = (low + high) / 2;
    wrong += stored(float(middle)) != (bits & 1 ? bits + 1 : bits);
    wrong += stored(std::nextafter(float(middle), float(low))) != bits || stored(std::nextafter(float(middle), float(high))) != bits + 1;
  }
  CHECK(wrong == 0);
  CHECK(read(stored(1e9f)) == 65504);
  CHECK(read(stored(-1e9f)) == -65504);
  CHECK(read(stored(1e-9f)) == 0);
}

TEST_CASE("int8: nothing is off by more than half a step, the largest by nothing") {
  Random random(1);
  for (int in : {1, 3, 16, 100}) {
    std::vector<float> w = normals(random, in);
    Packed packed(Precision::int8, w, in);
    float most = 0;
    for (float x : w) most = std::max(most, std::fabs(x));
    for (int i = 0; i < in; i++) {
      CHECK(std::fabs(packed.values[i] - w[i]) <= most / 254 * 1.0001f);
      if (std::fabs(w[i]) == most) CHECK(packed.values[i] == doctest::Approx(w[i]).epsilon(1e-6));
    }
  }
  CHECK(Packed(Precision::int8, std::vector<float>(5), 5).values == std::vector<float>(5));
}

TEST_CASE("linear with packed weights is the product with the unpacked ones, at every small size") {
  Random random(2);
  for (Precision precision : {Precision::f16, Precision::int8})
    for (int rows : {1, 2, 4, 5, 9})
      for (int in : {1, 2, 3, 4, 5, 7, 8, 11, 12, 16, 30})
        for (int out : {1, 2, 3, 64, 65})
          for (bool accumulate : {false, true}) {
            const std::vector<float> x = normals(random, size_t(rows) * in), before = normals(random, size_t(rows) * out);
            const Packed w(precision, normals(random, size_t(out) * in), in);
            std::vector<float> y = before, scratch(linear_scratch(precision, rows, in, out));
            linear(y.data(), x.data(), {precision, w.data.data()}, rows, in, out, accumulate, scratch.data());
            double worst = 0;
            for (int r = 0; r < rows; r++)
              for (int j = 0; j < out; j++) {
                double sum = accumulate ? before[r * out + j] : 0;
                for (int i = 0; i < in; i++) sum += double(x[r * in + i]) * w.values[size_t(j) * in + i];
                worst = std::max(worst, std::fabs(sum - y[r * out + j]));
              }
            CAPTURE(rows);
            CAPTURE(in);
            CAPTURE(out);
            REQUIRE(worst < 2e-5);
          }
}

TEST_CASE("products with int8 hold for long rows of largest numbers, for sizes far apart, and show what is not finite") {
  Random random(3);
  for (int in : {1, 8, 2047, 2048, 2049, 6001})
    for (float size : {1e-42f, 1e-30f, 1.f, 1e30f}) {
      CAPTURE(in);
      CAPTURE(size);
      const Packed w(Precision::int8, std::vector<float>(size_t(3) * in, -1.f), in);
      std::vector<float> scratch(linear_scratch(Precision::int8, 1, in, 3)), x(in, size), y(3);
      auto product = [&] { linear(y.data(), x.data(), {Precision::int8, w.data.data()}, 1, in, 3, false, scratch.data()); };
      product();
      for (float sum : y) CHECK(std::fabs(sum + double(size) * in) <= 2e-6 * double(size) * in + 1e-36 * in);
      // One number of `size` among others a million times smaller, of either sign.
      double exact = 0, sizes = 0;
      for (float& v : x) v = size * 1e-6f * float(random.normal());
      x[in / 2] = -size;
      for (float v : x) exact -= v, sizes += std::fabs(v);
      product();
      for (float sum : y) CHECK(std::fabs(sum - exact) <= 1e-6 * sizes + 1e-36 * in);
      for (float odd : {NAN, INFINITY, -INFINITY}) {
        x[in - 1] = odd;
        product();
        for (float sum : y) CHECK(!std::isfinite(sum));
      }
      x.assign(in, 0.f);
      product();
      for (float sum : y) CHECK(sum == 0);
    }
  // Neither factor is lost where their product would be too small or too large for a float.
  for (auto [size, weight] : {std::pair{1.f, 1e-36f}, {1e-26f, 1e-5f}, {1e20f, 1e30f}, {1e30f, 1e-36f}}) {
    CAPTURE(size);
    const Packed w(Precision::int8, {weight, -weight, weight / 2}, 1);
    float y[3];
    std::vector<float> scratch(linear_scratch(Precision::int8, 1, 1, 3));
    linear(y, &size, {Precision::int8, w.data.data()}, 1, 1, 3, false, scratch.data());
    for (int j = 0; j < 3; j++) {
      const float exact = float(double(size) * w.values[j]);
      if (std::isinf(exact)) CHECK(y[j] == exact);
      else CHECK(y[j] == doctest::Approx(exact).epsilon(2e-6).scale(0));
    }
  }
}

TEST_CASE("a quantised model is the model of the rounded weights: logits, decoding, embeddings; it is not trained") {
  ModelConfig config;
  config.vocabulary = 40, config.width = 24, config.layers = 2, config.heads = 4, config.kv_heads = 2, config.hidden = 36;
  for (const char* encoding : {"rope", "t5", "sinusoidal+shaw"})
    for (bool tied : {true, false})
      for (Precision precision : {Precision::f16, Precision::int8}) {
        config.tied = tied, config.encoding = encoding, config.activation = tied ? Activation::swiglu : Activation::gelu;
        std::unique_ptr<Transformer> model, packed, rounded;
        REQUIRE(!Transformer::make(config, 1, model));
        REQUIRE(!model->quantised(precision, packed));
        REQUIRE(!Transformer::make(config, 2, rounded));
        REQUIRE(packed->parameter_count() == model->parameter_count());
        for (size_t i = 0; i < model->tensors().size(); i++)
          packed->values_of(packed->tensors()[i], rounded->parameters() + rounded->tensors()[i].offset);
        rounded->parameters_changed();
        const std::vector<int> tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 35};
        const int n = int(tokens.size()), V = config.vocabulary;
        std::vector<float> a(size_t(n) * V), b(a.size()), last(V);
        REQUIRE(!packed->logits_of(tokens.data(), n, a.data()));
        REQUIRE(!rounded->logits_of(tokens.data(), n, b.data()));
        double worst = 0, moved = 0;
        for (size_t i = 0; i < a.size(); i++) worst = std::max(worst, std::fabs(double(a[i]) - b[i]));
        REQUIRE(!model->logits_of(tokens.data(), n, b.data()));
        for (size_t i = 0; i < a.size(); i++) moved = std::max(moved, std::fabs(double(a[i]) - b[i]));
        CHECK(worst < 1e-5);
        CHECK(moved > 0);
        CHECK(moved < (precision == Precision::f16 ? 0.01 : 0.1));
        for (int t = 0; t < n; t++) REQUIRE(!packed->feed(&tokens[t], 1, last.data()));
        for (int v = 0; v < V; v++) CHECK(last[v] == doctest::Approx(a[size_t(n - 1) * V + v]).epsilon(1e-4));
        std::unique_ptr<Trainer> trainer;
        std::unique_ptr<Transformer> again;
        CHECK(Trainer::make(*packed, {}, 1, trainer).text.find("quantised") != std::string::npos);
        CHECK(packed->quantised(precision, again).text.find("quantised already") != std::string::npos);
      }
}

TEST_CASE("a model with weights that are not finite is not quantised") {
  ModelConfig config;
  std::unique_ptr<Transformer> model, packed;
  REQUIRE(!Transformer::make(config, 1, model));
  model->parameters()[model->tensors()[2].offset] = NAN;
  CHECK(model->quantised(Precision::int8, packed).text.find(model->tensors()[2].name) != std::string::npos);
  CHECK(!packed);
  const auto linear = std::find_if(model->tensors().begin(), model->tensors().end(), [](const Tensor& t) { return t.name == "layers.0.w1"; });
  model->parameters()[model->tensors()[2].offset] = 0, model->parameters()[linear->offset] = -1e5f;
  CHECK(model->quantised(Precision::f16, packed).text == "a weight of " + linear->name + " has the size 100000; allowed in f16: at most 65504");
  CHECK(model->quantised(Precision::int8, packed).text == "");
}

// Several threads: every part once, and the same bits with any number of threads.
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "attention_case.h"
#include "model/trainer.h"
#include "nn/product.h"
#include "nn/weights.h"
#include "parallel/threads.h"
#include "position/catalogue.h"
#include "simd/random.h"

using namespace lw;
using namespace lw::test;

#ifdef LENGTHWISE_THREADS
namespace {

struct WithThreads {
  explicit WithThreads(int count) { CHECK(!set_threads(count)); }
  ~WithThreads() { CHECK(!set_threads(1)); }
};

// What `compute` gives must not depend on the number of threads.
template <class F>
void check_same_bits(F compute, std::initializer_list<int> counts = {2, 3, 5}) {
  const std::vector<float> once = compute();
  for (int count : counts) {
    CAPTURE(count);
    WithThreads some(count);
    const std::vector<float> again = compute();
    REQUIRE(again.size() == once.size());
    CHECK(std::memcmp(again.data(), once.data(), once.size() * sizeof(float)) == 0);
  }
}

}  // namespace

TEST_CASE("each part is done once, whoever does it") {
  for (int count : {1, 2, 3, 5, 16}) {
    CAPTURE(count);
    WithThreads some(count);
    CHECK(threads() == count);
    for (int parts : {0, 1, 2, 7, 100, 70000}) {
      std::vector<int> done(size_t(parts), 0);
      std::atomic<bool> known{true};
      parallel(parts, [&](int part, int thread) {
        done[size_t(part)]++;
        if (thread < 0 || thread >= count) known = false;
      });
      CHECK(known);
      CHECK(std::count(done.begin(), done.end(), 1) == parts);
    }
  }
}

TEST_CASE("many short jobs, one after the other, and some after a rest") {
  WithThreads some(3);
  long total = 0;
  for (int round = 0; round < 20000; round++) {
    long sums[4] = {};
    parallel(4, [&](int part, int) { sums[part] = part + round; });
    for (long sum : sums) total += sum;
    if (round % 4000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // workers fall asleep
  }
  CHECK(total == 4L * 20000 * 19999 / 2 + 6L * 20000);
}

TEST_CASE("weights in fewer bits: the same bits with any number of threads") {
  Random random(7);
  const int in = 301, out = 533;
  std::vector<float> w(size_t(out) * in), x(size_t(4) * in);
  for (auto* all : {&w, &x}) for (float& value : *all) value = float(random.normal());
  for (Precision precision : {Precision::f16, Precision::int8}) {
    std::vector<unsigned char> packed(out * row_bytes(precision, in));
    for (int j = 0; j < out; j++) pack_row(precision, &w[size_t(j) * in], in, &packed[j * row_bytes(precision, in)]);
    for (int rows : {1, 3, 4})
      check_same_bits([&] {
        std::vector<float> y(size_t(rows) * out), scratch(linear_scratch(precision, rows, in, out));
        linear(y.data(), x.data(), {precision, packed.data()}, rows, in, out, false, scratch.data());
        return y;
      });
  }
}

TEST_CASE("inside a part there is one thread") {
  WithThreads some(4);
  std::atomic<int> inner{0}, strangers{0};
  parallel(8, [&](int, int) {
    const auto self = std::this_thread::get_id();
    parallel(8, [&](int, int thread) { inner++, strangers += thread != 0 || std::this_thread::get_id() != self; });
  });
  CHECK(inner == 64);
  CHECK(strangers == 0);
}

TEST_CASE("ranges cover everything once and begin at their unit") {
  WithThreads some(3);
  for (ptrdiff_t count : {0, 1, 63, 64, 65, 1000, 4097}) {
    std::vector<int> done(size_t(count), 0);
    std::atomic<int> crooked{0};
    parallel_ranges(count, 16, 1e5, [&](ptrdiff_t first, ptrdiff_t last) {
      crooked += first % 16 != 0;
      for (ptrdiff_t i = first; i < last; i++) done[size_t(i)]++;
    });
    CHECK(std::count(done.begin(), done.end(), 1) == count);
    CHECK(crooked == 0);
  }
}

TEST_CASE("the number of threads is 1 to 16") {
  for (int count : {0, -1, 17}) {
    CHECK(set_threads(count).text == "threads is " + std::to_string(count) + "; allowed: 1 to 16");
    CHECK(threads() == 1);
  }
}

TEST_CASE("a product has the same bits with any number of threads") {
  Random random(4);
  for (auto [m, n, k] : {std::array{1, 5000, 100}, {3, 777, 300}, {4, 1030, 129}, {5, 999, 200}, {64, 64, 1000}, {257, 130, 300}, {1000, 33, 65}, {90, 1024, 129}})
    for (bool transposed : {false, true})
      for (bool accumulate : {false, true}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(transposed);
        CAPTURE(accumulate);
        const auto a = AttentionCase::normals(random, size_t(m) * k), b = AttentionCase::normals(random, size_t(k) * n);
        const auto before = AttentionCase::normals(random, size_t(m) * n);
        check_same_bits([&] {
          std::vector<float> c = before, scratch(product_scratch(n, k));
          product(m, n, k, a.data(), k, 1, b.data(), transposed ? 1 : n, transposed ? k : 1, c.data(), n, accumulate, scratch.data());
          return c;
        });
      }
}

TEST_CASE("attention and its gradients have the same bits with any number of threads") {
  struct { int queries, keys, offset, heads, kv_heads, head_dim; } shapes[] = {
      {200, 200, 0, 4, 4, 16}, {131, 131, 0, 6, 3, 9}, {300, 300, 0, 1, 1, 32}, {260, 260, 0, 8, 1, 20},
      {3, 900, 897, 8, 4, 33}, {70, 500, 430, 2, 2, 64}, {90, 90, 0, 5, 5, 40}, {64, 9000, 8936, 3, 3, 64}};
  for (auto [queries, keys, offset, heads, kv_heads, head_dim] : shapes)
    for (int doors = 0; doors < (keys > 1000 ? 1 : 6); doors++) {
      CAPTURE(queries);
      CAPTURE(keys);
      CAPTURE(heads);
      CAPTURE(kv_heads);
      CAPTURE(head_dim);
      CAPTURE(doors);
      AttentionCase c(queries, keys, offset, heads, kv_heads, head_dim, doors != 1, uint64_t(doors));
      if (doors == 1) REQUIRE(c.open_bias(false));
      if (doors == 2) REQUIRE((c.open_bias(true) && c.open_scale()));
      if (doors == 3) REQUIRE(c.open_rotation(head_dim / 2, Pairing::half));
      if (doors == 4) REQUIRE((c.open_rotation(head_dim / 2, Pairing::interleaved) && c.open_zones()));
      if (doors == 5) c.open_pattern([](int i, int, std::vector<Interval>& row) { row = {{0, 2}, {std::max(3, i - 40), i + 1}}; });
      check_same_bits([&] {
        AttentionResult forward = run(c, false);
        std::vector<float> all = forward.out;
        all.insert(all.end(), forward.lse.begin(), forward.lse.end());
        if (offset) return all;
        Random random(77);
        const auto dout = AttentionCase::normals(random, size_t(queries) * c.out_stride + 1);
        std::vector<float> dq(c.q_store.size()), dk(c.k_store.size()), dv(c.v_store.size());
        PlanGradient gradient;
        REQUIRE((gradient.bias.assign(c.plan.bias.table.size(), 0) && gradient.scale.assign(c.plan.scale.size(), 0)));
        if (doors == 3) REQUIRE(gradient.angle.assign(c.plan.rotation.cosine.size(), 0));
        AttentionScratch scratch;
        REQUIRE(attention_backward(c.input(), c.plan, {}, forward.out.data() + 1, dout.data() + 1, c.out_stride, forward.lse.data(),
                                   {dq.data() + 1, dk.data() + 1, dv.data() + 1, &gradient}, scratch));
        for (const auto* part : {&dq, &dk, &dv}) all.insert(all.end(), part->begin(), part->end());
        for (const auto* part : {&gradient.bias, &gradient.scale, &gradient.angle}) all.insert(all.end(), part->begin(), part->end());
        return all;
      });
    }
}

TEST_CASE("linear attention and its gradients have the same bits with any number of threads") {
  AttentionCase c(150, 150, 0, 6, 3, 20, true, 3);
  c.plan.linear = true;
  check_same_bits([&] {
    AttentionResult forward = run(c, false);
    std::vector<float> all = forward.out, dq(c.q_store.size()), dk(c.k_store.size()), dv(c.v_store.size());
    Random random(78);
    const auto dout = AttentionCase::normals(random, size_t(c.queries) * c.out_stride + 1);
    AttentionScratch scratch;
    REQUIRE(attention_backward(c.input(), c.plan, {}, forward.out.data() + 1, dout.data() + 1, c.out_stride, forward.lse.data(),
                               {dq.data() + 1, dk.data() + 1, dv.data() + 1, nullptr}, scratch));
    for (const auto* part : {&forward.lse, &dq, &dk, &dv}) all.insert(all.end(), part->begin(), part->end());
    return all;
  });
}

TEST_CASE("training and decoding have the same bits with any number of threads, with every encoding") {
  for (auto& entry : catalogue()) {
    const std::string name = entry.descriptor->name;
    for (bool swiglu : {false, true}) {
      if (swiglu && name != "rope" && name != "t5") continue;
      CAPTURE(name);
      CAPTURE(swiglu);
      check_same_bits([&] {
        ModelConfig config;
        config.vocabulary = 130, config.width = 48, config.heads = 3, config.kv_heads = 3, config.hidden = 70;
        config.trained_length = 64, config.encoding = name;
        if (swiglu) config.activation = Activation::swiglu, config.norm = Norm::layer, config.tied = false;
        std::unique_ptr<Transformer> model;
        REQUIRE(Transformer::make(config, 5, model).text == "");
        std::unique_ptr<Trainer> trainer;
        REQUIRE(Trainer::make(*model, {}, 6, trainer).text == "");
        const int batch = 2, length = 64;
        std::vector<int> tokens(batch * (length + 1));
        for (size_t i = 0; i < tokens.size(); i++) tokens[i] = int(i * 7919 % 130);
        for (int step = 0; step < 2; step++) REQUIRE(trainer->step(tokens.data(), nullptr, batch, length).text == "");
        std::vector<float> all(model->parameters(), model->parameters() + model->parameter_count());
        all.push_back(float(trainer->info().loss));
        std::vector<float> logits(130);
        REQUIRE(model->feed(tokens.data(), 20, logits.data()).text == "");
        REQUIRE(model->feed(tokens.data() + 20, 1, logits.data()).text == "");
        all.insert(all.end(), logits.begin(), logits.end());
        return all;
      }, {3});
    }
  }
}
#endif

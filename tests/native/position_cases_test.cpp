// Numbers that public reports of faults agreed on; each case names its report.
#include <algorithm>

#include "encoding_case.h"

using namespace lw;
using namespace lw::test;

namespace {

void near(const std::vector<double>& want, const std::vector<float>& got, double tolerance) {
  REQUIRE(want.size() == got.size());
  for (size_t i = 0; i < want.size(); i++) CHECK(got[i] == doctest::Approx(want[i]).epsilon(tolerance).scale(1));
}

std::vector<float> turned(const std::string& spec, int head_dim, double position, std::vector<float> x) {
  BoundStack bound(spec, shape(1, head_dim, head_dim, 2048));
  Plan plan = bound.plan(std::vector<double>{position});
  rotate(plan.rotation, Side::query, x.data(), head_dim, 1, 1, head_dim, 0, false);
  return x;
}

std::vector<float> input(const std::string& spec, int width, double position) {
  BoundStack bound(spec, shape(1, width, width, 2048));
  Plan plan = bound.plan(std::vector<double>{position});
  return {plan.input.begin(), plan.input.end()};
}

// The table's rows as bucket numbers: parameter b of head 0 is set to b.
std::vector<std::vector<int>> buckets(bool causal, int length) {
  BoundStack bound("t5", shape(1, 4, 4, 128, causal));
  for (size_t b = 0; b < bound.values[0].size(); b++) bound.values[0][b] = float(b);
  Plan plan = bound.plan(length);
  std::vector<std::vector<int>> rows(length);
  for (int i = 0; i < length; i++)
    for (int j = 0; j < (causal ? i + 1 : length); j++) rows[i].push_back(int(plan.bias.row(0, i)[j]));
  return rows;
}

}  // namespace

TEST_CASE("rope: the pairing is a property of the model (EleutherAI/gpt-neox#834)") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  near({-1.272232513, -1.838864985, 1.683928641, 4.707906576, 4.817777168, 6.147277704, 6.975968536, 8.020963969}, turned("rope", 8, 3, x), 1e-6);
  near({-1.695592537, 0.1375517383, 2.7886816, 3.975982036, -4.808842475, 6.323059348, 7.086836737, 8.011963982},
       turned("rope:pairing=half", 8, 3, x), 1e-6);
}

TEST_CASE("rope: part of a head turns, with its own frequencies (huggingface/transformers#48630, vllm-project/vllm#30384)") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  near({-1.413352521, 1.879118067, -2.828857482, 4.058191135, 5, 6, 7, 8}, turned("rope:fraction=0.5:pairing=half", 8, 3, x), 1e-6);
  near({-1.272232513, -1.838864985, 2.8786681, 4.088186636, 5, 6, 7, 8}, turned("rope:fraction=0.5", 8, 3, x), 1e-6);
  const struct { int head_dim; const char* spec; int dimensions; } rows[] = {
      {128, "rope:fraction=0.5", 64}, {64, "rope:fraction=0.25", 16}, {80, "rope:fraction=0.4", 32}, {128, "rope", 128}, {100, "rope:fraction=0.58", 58}};
  for (auto& row : rows) CHECK(2 * BoundStack(row.spec, shape(1, row.head_dim, 8, 8)).plan(1).rotation.pairs == row.dimensions);
}

TEST_CASE("rope: positions past 256 stay apart (nkalyanv99/UNI-D2#6)") {
  Plan plan = BoundStack("rope", shape(1, 64, 64, 64)).plan(std::vector<double>{256, 257, 258, 259});
  const double cosine[] = {-0.03979075993, 0.8193055291, 0.9251360931, 0.1804007996}, sine[] = {-0.9992080341, -0.5733571748, 0.3796356268, 0.9835931839};
  for (int i = 0; i < 4; i++) near({cosine[i], sine[i]}, {plan.rotation.cosine[i * 32], plan.rotation.sine[i * 32]}, 1e-6);
}

TEST_CASE("rope: phases hold at a position of a million (huggingface/transformers#29496)") {
  Plan plan = BoundStack("rope", shape(1, 128, 128, 64)).plan(std::vector<double>{131071, 1000003});
  const struct { int row, pair; double cosine, sine; } rows[] = {
      {0, 0, -0.8179834994, -0.5752416838}, {0, 1, -0.9782709129, -0.2073307042}, {0, 16, 0.9303429898, 0.3666904979},
      {0, 32, -0.7863836903, -0.6177383683}, {1, 0, -0.8779864916, 0.4786854088}, {1, 1, 0.8641495521, -0.5032350859},
      {1, 16, -0.9652903373, -0.2611791812}, {1, 32, -0.942559874, -0.3340372493}};
  for (auto& r : rows) near({r.cosine, r.sine}, {plan.rotation.cosine[r.row * 64 + r.pair], plan.rotation.sine[r.row * 64 + r.pair]}, 1e-6);
}

TEST_CASE("dynamic NTK: all keys turn with the base of now, and the base falls again (huggingface/transformers#25104)") {
  BoundStack bound("dynamic_ntk:pairing=half", shape(1, 4, 4, 8));
  CHECK(bound.stack.length_dependent());
  auto score = [&](int key_length, int query_length) {
    std::vector<float> key = {0.5, -1, 1.5, 2}, query = {1, 2, 3, 4};
    Plan then = bound.plan(16, key_length), now = bound.plan(16, query_length);
    rotate(then.rotation, Side::key, key.data(), 4, 1, 1, 4, 2, false);
    rotate(now.rotation, Side::query, query.data(), 4, 1, 1, 4, 15, false);
    double sum = 0;
    for (int a = 0; a < 4; a++) sum += double(key[a]) * query[a];
    return sum;
  };
  CHECK(score(16, 16) == doctest::Approx(10.87815964).epsilon(1e-6));
  CHECK(score(3, 16) == doctest::Approx(10.77449811).epsilon(1e-6));
  CHECK(bound.plan(16, 16).rotation.sine[1 * 2 + 1] == doctest::Approx(std::sin(1 / std::sqrt(90000.0))).epsilon(1e-6));
  CHECK(bound.plan(4, 4).rotation.sine[1 * 2 + 1] == doctest::Approx(std::sin(1 / std::sqrt(10000.0))).epsilon(1e-6));
}

TEST_CASE("ALiBi: slopes of any number of heads (ml-explore/mlx#343)") {
  const std::vector<std::vector<double>> slopes = {
      {0.00390625}, {0.0625, 0.00390625}, {0.0625, 0.00390625, 0.25}, {0.25, 0.0625, 0.015625, 0.00390625, 0.5},
      {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}, {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125, 0.03125},
      {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625},
      {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.7071067812, 0.3535533906, 0.1767766953, 0.08838834765},
      {0.7071067812, 0.5, 0.3535533906, 0.25, 0.1767766953, 0.125, 0.08838834765, 0.0625, 0.04419417382, 0.03125, 0.02209708691, 0.015625,
       0.01104854346, 0.0078125, 0.005524271728, 0.00390625, 0.8408964153, 0.5946035575, 0.4204482076, 0.2973017788}};
  for (auto& want : slopes) {
    Plan plan = BoundStack("alibi", shape(int(want.size()), 2, 8, 8)).plan(2);
    for (size_t h = 0; h < want.size(); h++) CHECK(-plan.bias.row(int(h), 1)[0] == doctest::Approx(want[h]).epsilon(1e-7));
  }
}

TEST_CASE("ALiBi: the newest key has distance 0 (lucidrains/x-transformers#103)") {
  BoundStack bound("alibi", shape(6, 1, 6, 8));  // head 0 has slope 1/4
  Plan plan = bound.plan(5);
  near({-1, -0.75, -0.5, -0.25, 0}, {plan.bias.row(0, 4), plan.bias.row(0, 4) + 5}, 1e-7);
  // With equal scores the weights are those of the bias; v picks one key at a time.
  const double weights[] = {0.1140507238, 0.1464440281, 0.1880378542, 0.2414453841, 0.3100220099};
  for (int key = 0; key < 5; key++) {
    Inputs in(bound.stack.shape(), 5);
    for (float& x : in.q) x = 0;
    for (size_t i = 0; i < in.v.size(); i++) in.v[i] = int(i) / 6 == key;
    std::vector<float> out(6);
    REQUIRE(attention_reference(in.attention(4, 1), plan, {}, out.data(), 6, nullptr));
    CHECK(out[0] == doctest::Approx(weights[key]).epsilon(1e-6));
  }
}

TEST_CASE("ALiBi: large distances keep their digits (Dao-AILab/flash-attention#846)") {
  Plan plan = BoundStack("alibi", shape(12, 1, 12, 8)).plan(std::vector<double>{0, 99000, 95904, 100000});
  near({-70710.67812, -707.1067812, -2896.309376}, {plan.bias.row(8, 3), plan.bias.row(8, 3) + 3}, 1e-6);
}

TEST_CASE("T5: buckets to the left and to the right (ml-explore/mlx-examples#113)") {
  const std::vector<std::vector<int>> both = {
      {0, 17, 18, 19, 20, 21, 22, 23, 24, 24}, {1, 0, 17, 18, 19, 20, 21, 22, 23, 24}, {2, 1, 0, 17, 18, 19, 20, 21, 22, 23},
      {3, 2, 1, 0, 17, 18, 19, 20, 21, 22}, {4, 3, 2, 1, 0, 17, 18, 19, 20, 21}, {5, 4, 3, 2, 1, 0, 17, 18, 19, 20},
      {6, 5, 4, 3, 2, 1, 0, 17, 18, 19}, {7, 6, 5, 4, 3, 2, 1, 0, 17, 18}, {8, 7, 6, 5, 4, 3, 2, 1, 0, 17}, {8, 8, 7, 6, 5, 4, 3, 2, 1, 0}};
  CHECK(buckets(false, 10) == both);
  const auto causal = buckets(true, 10);
  for (int i = 0; i < 10; i++)
    for (int j = 0; j <= i; j++) CHECK(causal[i][j] == i - j);
}

TEST_CASE("T5: buckets begin where the real numbers say") {
  const auto row = buckets(true, 200).back();  // row[j] is the bucket of distance 199 − j
  // 16·8^(b/16) is whole at 32 and 64 (and 16, 128); a logarithm in float misses some of these.
  const struct { int distance, bucket; } borders[] = {{15, 15}, {16, 16}, {31, 21}, {32, 21}, {33, 21}, {63, 26}, {64, 26}, {127, 31}, {128, 31}, {199, 31}};
  for (auto& b : borders) {
    int exact = b.distance < 16 ? b.distance : 16;
    while (b.distance >= 16 && exact < 31 && std::pow(b.distance / 16.0L, 16) * (1 + 1e-12L) >= std::pow(8.0L, exact - 15)) exact++;
    CHECK(row[199 - b.distance] == exact);
    CHECK(row[199 - b.distance] == b.bucket);
  }
}

TEST_CASE("T5: one table for all layers, and sides only where there is no mask (huggingface/transformers#8518)") {
  // There is no cross-attention here, which must have no bias: what is left is one table, shared, and a side for each mask.
  CHECK(!find_encoding("t5")->descriptor->per_layer);
  CHECK(BoundStack("t5", shape(3, 4, 12, 8)).values.size() == 1);
  CHECK(buckets(false, 40)[10][30] == 16 + buckets(false, 40)[30][10]);
  // A key to the right of the query, which a decoder never shows, would fall into bucket 0.
  BoundStack bound("t5", shape(1, 4, 4, 8));
  for (size_t b = 0; b < bound.values[0].size(); b++) bound.values[0][b] = float(b);
  float bias[3] = {};
  bound.stack.encodings()[0]->bias(0, {std::vector<double>{-1, -1000, 1}}, {bias, 3});
  near({0, 0, 1}, {bias, bias + 3}, 1e-7);
}

TEST_CASE("KERPLE: parameters stay positive, or count as 0.01 (chijames/KERPLE#3)") {
  auto biases = [](const char* spec, float r1, float r2, std::vector<double> distances) {
    BoundStack bound(spec, shape(1, 4, 4, 8));
    bound.values[0][0] = r1, bound.values[1][0] = r2;
    std::vector<float> out(distances.size());
    bound.stack.encodings()[0]->bias(0, {distances}, {out.data(), 0});
    return out;
  };
  near({0, -0.3935463967, -0.7050054439, -2.079441542, -8.560665397}, biases("kerple_log", 1.5f, 0.3f, {0, 1, 2, 10, 1000}), 1e-7);
  near({-0.04433820336}, biases("kerple_log", 1.5f, -0.5f, {3}), 1e-7);
  for (auto [r1, r2, distance] : {std::tuple(1.5f, -0.5f, 3.0), {1.5f, -0.5f, 2.0}, {-1.0f, 0.3f, 5.0}, {-1.0f, -1.0f, 1e6}})
    for (const char* spec : {"kerple_log", "kerple_power"})
      for (double d : {distance, 0.0}) {
        const float bias = biases(spec, r1, r2, {d})[0];
        CHECK((d == 0 ? bias == 0 : bias < 0 && std::isfinite(bias)));
      }
  for (auto [spec, most] : {std::pair("kerple_log", 7.f), {"kerple_power", 2.f}}) {  // what a step of training leaves
    BoundStack bound(spec, shape(2, 4, 8, 8));
    bound.values = {{-1, 7}, {-0.5f, 7}};
    for (int n = 0; n < 2; n++) bound.stack.parameters()[n]->value = bound.values[n].data();
    bound.stack.project();
    CHECK(bound.values == std::vector<std::vector<float>>{{0.01f, 7}, {0.01f, most}});
  }
}

TEST_CASE("KERPLE: at distance 0 nothing blows up") {
  for (const char* spec : {"kerple_log", "kerple_power"})
    for (float r2 : {0.01f, 0.5f, 2.0f}) {
      BoundStack bound(spec, shape(1, 4, 4, 8));
      bound.values[0][0] = 1, bound.values[1][0] = r2;
      const float gradient[] = {1, 1, 1};
      bound.stack.encodings()[0]->bias_backward(0, {{std::vector<double>{0, 1e-300, 0}}}, gradient);
      for (auto& g : bound.gradients) CHECK((std::isfinite(g[0]) && std::fabs(g[0]) < 1e3));
    }
}

TEST_CASE("a bias of −∞ hides a key whatever the scale, and 0 times it is never taken (ggml-org/llama.cpp#5574)") {
  const Shape s = shape(1, 1, 1, 8, false);
  Plan plan = BoundStack("nope", s).plan(3);
  REQUIRE(plan.bias.table.assign(3 + 16, 0));
  plan.bias.table[2] = -INFINITY;
  const struct { float scale; double weights[3]; } rows[] = {
      {1, {0.2689414214, 0.7310585786, 0}}, {0, {0.5, 0.5, 0}}, {-1, {0.7310585786, 0.2689414214, 0}}};
  for (auto& [scale, weights] : rows) for (int key = 0; key < 3; key++) {
    REQUIRE(plan.scale.assign(3, scale));
    Inputs in(s, 3);
    in.q = {1, 0, 0}, in.k = {1, 2, 7}, in.v = {0, 0, 0}, in.v[key] = 1;
    AttentionInput one = in.attention(0, 1);
    one.keys = 3;
    AttentionScratch scratch;
    float plain = NAN, fused = NAN;
    REQUIRE(attention_reference(one, plan, {}, &plain, 1, nullptr));
    REQUIRE(attention(one, plan, {}, &fused, 1, nullptr, scratch));
    for (float out : {plain, fused}) CHECK(out == doctest::Approx(weights[key]).epsilon(1e-6));
    if (scale == 1) continue;  // and on the way back nothing of it is left
    in.q = {1, 1, 1};
    const AttentionInput all = in.attention(0, 3);
    float read[3], lse[3], dq[3], dk[3], dv[3];
    plan.bias.row_stride = 0;
    REQUIRE(attention(all, plan, {}, read, 1, lse, scratch));
    REQUIRE(attention_backward(all, plan, {}, read, in.q.data(), 1, lse, {dq, dk, dv, nullptr}, scratch));
    CHECK(dv[key] == doctest::Approx(3 * weights[key]).epsilon(1e-6));
    for (float g : {dq[0], dq[1], dq[2], dk[0], dk[1]}) CHECK(std::isfinite(g));
    CHECK(dk[2] == 0);
  }
}

TEST_CASE("sinusoids: the exponent is 2j/d (SamLynnEvans/Transformer#25)") {
  near({0, 1, 0, 1}, input("sinusoidal", 4, 0), 1e-6);
  near({0.8414709848, 0.5403023059, 0.009999833334, 0.9999500004}, input("sinusoidal", 4, 1), 1e-6);
  near({0.9092974268, -0.4161468365, 0.01999866669, 0.9998000067}, input("sinusoidal", 4, 2), 1e-6);
  near({0.8268795405, 0.5623790763, -0.5440211109, -0.8390715291}, input("sinusoidal", 4, 1000), 1e-6);
}

TEST_CASE("sinusoids: three layouts, not interchangeable (huggingface/blog#2183)") {
  near({0.1411200081, -0.9899924966, 0.2955202067, 0.9553364891, 0.0299955002, 0.9995500337, 0.0029999955, 0.9999955}, input("sinusoidal", 8, 3), 1e-6);
  near({0.1411200081, 0.2955202067, 0.0299955002, 0.0029999955, -0.9899924966, 0.9553364891, 0.9995500337, 0.9999955},
       input("sinusoidal:layout=concatenated", 8, 3), 1e-6);
  near({0.1411200081, 0.1387981011, 0.00646325907, 0.0002999999955, -0.9899924966, 0.9903206991, 0.9999791129, 0.999999955},
       input("sinusoidal:layout=half_minus_1", 8, 3), 1e-6);
  near({std::sin(3.0), std::cos(3.0)}, input("sinusoidal:layout=half_minus_1", 2, 3), 1e-6);  // one frequency: 1
}

TEST_CASE("sinusoids: moving on is a linear map of the pair, and there is none for sines alone") {
  const int d = 12, k = 7;
  for (const char* spec : {"sinusoidal", "sinusoidal:layout=concatenated"})
    for (double p : {0.0, 1.0, 30.0, 4000.0}) {
      const auto here = input(spec, d, p), there = input(spec, d, p + k);
      for (int n = 0; n < d / 2; n++) {
        const bool in_turn = spec == std::string("sinusoidal");
        const int sine = in_turn ? 2 * n : n, cosine = in_turn ? 2 * n + 1 : n + d / 2;
        const double angle = k * std::pow(10000, -2.0 * n / d);
        CHECK(there[sine] == doctest::Approx(std::cos(angle) * here[sine] + std::sin(angle) * here[cosine]).epsilon(1e-5).scale(1));
        CHECK(there[cosine] == doctest::Approx(std::cos(angle) * here[cosine] - std::sin(angle) * here[sine]).epsilon(1e-5).scale(1));
      }
    }
  // Sines alone are all zero at position 0, and a linear map leaves zero where it is.
  for (float x : input("sinusoidal:sin_only=true", d, 0)) CHECK(x == 0);
  CHECK(input("sinusoidal:sin_only=true", d, k)[0] != 0);
}

TEST_CASE("tables: numbers that begin past the padding's rows (huggingface/sentence-transformers#3879)") {
  BoundStack bound("learned", shape(1, 3, 3, 514));
  const std::vector<double> padded = {2, 3, 4, 5, 1, 1};
  const Plan plan = bound.plan(padded);
  for (size_t i = 0; i < padded.size(); i++)
    for (int c = 0; c < 3; c++) CHECK(plan.input[i * 3 + c] == bound.values[0][size_t(padded[i]) * 3 + c]);
  std::vector<double> numbers(513);
  for (int i = 0; i < 513; i++) numbers[i] = i + 2;
  Plan long_plan;
  CHECK(bound.stack.plan(std::span(numbers).first(512), 0, nullptr, long_plan).text == "");
  CHECK(bound.stack.plan(numbers, 0, nullptr, long_plan).text.starts_with("length is 513 with a position 514, but the table"));
}

TEST_CASE("window: the width counts the query itself (huggingface/transformers#39408)") {
  const Shape s = shape(1, 1, 1, 8);
  auto out = [&](const char* spec) {
    Inputs in(s, 6);
    for (float& x : in.q) x = 0;
    for (int j = 0; j < 6; j++) in.v[j] = float(j);
    return attend(in, BoundStack(spec, s).plan(6), {}, 6);
  };
  near({0, 0.5, 1, 2, 3, 4}, out("window:width=3"), 1e-6);
  near({0, 1, 2, 3, 4, 5}, out("window:width=1"), 1e-6);
  Stack none;
  CHECK(Stack::make("window:width=0", s, none).text == "window:width is \"0\"; allowed: a whole number from 1 to 16777216");
}

TEST_CASE("log n: per query, clipped at 1 (DAMO-NLP-SG/CLEX#1)") {
  Plan plan = BoundStack("log_n", shape(1, 1, 1, 2048)).plan(32768);
  for (auto [position, want] : {std::pair(1, 1.0), {100, 1.0}, {2048, 1.0}, {2049, 1.000064024}, {4096, 1.090909091}, {8192, 1.181818182}, {32768, 1.363636364}})
    CHECK(plan.scale[position - 1] == doctest::Approx(want).epsilon(1e-7));
}

TEST_CASE("log n: the logarithm of a ratio of lengths would turn attention round") {
  // Trained on 1024, at 4096: ln(1024/4096) < 0, and softmax would prefer the lowest score. Ours grows.
  Plan plan = BoundStack("log_n", shape(1, 1, 1, 1024)).plan(4096);
  CHECK(std::log(1024.0 / 4096) < 0);
  CHECK(plan.scale[4095] == doctest::Approx(1.2));
  CHECK(*std::min_element(plan.scale.begin(), plan.scale.end()) == 1);
}

TEST_CASE("attention temperature: the staircase of Llama 4") {
  const Plan plan = BoundStack("temperature", shape(1, 1, 1, 8192)).plan(std::vector<double>{0, 8190, 8191, 16383, 131071});
  near({1, 1, 1.0693147181, 1.1098612289, 1.2833213344}, {plan.scale.begin(), plan.scale.end()}, 1e-7);
}

TEST_CASE("Transformer-XL: a term goes with i − j, whatever shift tricks leave behind (ZhengkunTian/OpenTransformer#25)") {
  // u = v = 0 and W_R R[Δ] picks sin Δ, so that the term is q·sin(i − j)/√D on both sides of the diagonal.
  BoundStack bound("transformer_xl", shape(1, 1, 2, 8, false));
  bound.values = {{0}, {0}, {1, 0}};
  for (size_t n = 0; n < 3; n++) bound.stack.parameters()[n]->value = bound.values[n].data();
  const Terms terms = bound.stack.content();
  REQUIRE(terms[0]->begin(4));
  const Inputs in(bound.stack.shape(), 4);
  REQUIRE(terms[0]->sequence(in.sequence(0, 4)));
  for (int i = 0; i < 4; i++) {
    float q = 2, raw[4] = {}, scores[4] = {};
    terms[0]->row({0, i, &q, 0, 4}, raw, scores);
    for (int j = 0; j < 4; j++) CHECK(scores[j] == doctest::Approx(2 * std::sin(double(i - j))).epsilon(1e-6));
  }
}

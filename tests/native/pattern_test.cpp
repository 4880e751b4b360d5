// Who sees whom: every pattern of the catalogue in attention and in a model, and how far patterns reach.
#include <algorithm>

#include "attention_case.h"
#include "encoding_case.h"
#include "model/transformer.h"

using namespace lw;
using namespace lw::test;

namespace {

std::vector<std::string> patterns() {
  std::vector<std::string> specs = {"sinks:count=2+window:width=9", "global:count=3+random:count=4+blocks:size=8", "random:count=1",
                                    "dilated:width=40:stride=1", "dilated:width=64:stride=3+sinks", "blocks:size=5:back=0",
                                    "random:count=20:seed=7+dilated:stride=7"};
  for (auto& entry : catalogue())
    if (opens(entry.descriptor->doors, Door::pattern)) specs.push_back(entry.descriptor->name);
  return specs;
}

std::vector<int> keys_of(const Plan& plan, int query) {
  std::vector<int> keys;
  for (int n = plan.pattern.begin[query]; n < plan.pattern.begin[query + 1]; n++)
    for (int j = plan.pattern.intervals[n].first; j < plan.pattern.intervals[n].last; j++) keys.push_back(j);
  return keys;
}

struct Gradients { std::vector<float> dq, dk, dv; };

Gradients gradients(const AttentionCase& c, const AttentionResult& forward) {
  Gradients g{std::vector<float>(c.q_store.size()), std::vector<float>(c.k_store.size()), std::vector<float>(c.v_store.size())};
  Random random(5);
  const auto dout = AttentionCase::normals(random, forward.out.size());
  AttentionScratch scratch;
  REQUIRE(attention_backward(c.input(), c.plan, {}, forward.out.data() + 1, dout.data() + 1, c.out_stride, forward.lse.data(),
                             {g.dq.data() + 1, g.dk.data() + 1, g.dv.data() + 1, nullptr}, scratch));
  return g;
}

// What the reference gives, and what a bias of −∞ gives where nothing is to be seen; c is made of seed 4.
void is_as_masked(const AttentionCase& c) {
  const int T = c.keys;
  AttentionCase masked(T, T, 0, c.heads, c.kv_heads, c.head_dim, false, 4);
  REQUIRE(masked.open_bias(false));
  masked.plan.bias.table.fill(-infinity);
  for (int h = 0; h < c.heads; h++)
    for (int i = 0; i < T; i++)
      for (int j : keys_of(c.plan, i)) masked.plan.bias.table[masked.plan.bias.index(h, i) + j] = 0;
  const auto fast = run(c, false), plain = run(c, true), wide = run(masked, false);
  CHECK(difference(fast.out, plain.out) < 1e-5);
  CHECK(difference(fast.lse, plain.lse) < 1e-5);
  CHECK(difference(fast.out, wide.out) < 1e-5);
  const auto a = gradients(c, fast), b = gradients(masked, wide);
  CHECK(difference(a.dq, b.dq) < 1e-5);
  CHECK(difference(a.dk, b.dk) < 1e-5);
  CHECK(difference(a.dv, b.dv) < 1e-5);
}

ModelConfig small(const std::string& encoding, int layers) {
  ModelConfig c;
  c.vocabulary = 13, c.width = 16, c.layers = layers, c.heads = 2, c.kv_heads = 2, c.hidden = 24, c.trained_length = 64, c.encoding = encoding;
  return c;
}
std::unique_ptr<Transformer> make(const ModelConfig& c) {
  std::unique_ptr<Transformer> model;
  Error e = Transformer::make(c, 3, model);
  REQUIRE_MESSAGE(!e, e.text);
  return model;
}
std::vector<int> some_tokens(int count) {
  std::vector<int> t(count);
  Random r(5);
  for (int& x : t) x = int(r.below(13));
  return t;
}

}  // namespace

TEST_CASE("attention under every pattern: the reference's outputs, and all of what −∞ outside gives") {
  for (auto& spec : patterns())
    for (bool causal : {true, false})
      for (int T : {1, 7, 67, 210}) {
        CAPTURE(spec); CAPTURE(causal); CAPTURE(T);
        AttentionCase c(T, T, 0, 2, 1, 6, causal, 4);
        c.plan = BoundStack(spec, shape(2, 6, 12, 8, causal)).plan(T);
        is_as_masked(c);
      }
}

TEST_CASE("rows that end a key later each, and rows that do not") {
  for (int pace : {0, 1, 2, 3})
    for (int start : {0, 1, 3}) {
      CAPTURE(pace); CAPTURE(start);
      AttentionCase c(67, 67, 0, 2, 1, 6, false, 4);
      c.open_pattern([&](int i, int n, std::vector<Interval>& out) {  // every fourth row out of step
        out.push_back({std::min(i * start / 4, n - 1), std::min(n, i * pace + 1 + (i % 4 == 3 ? i / 4 % 3 : 0))});
      });
      is_as_masked(c);
    }
}

TEST_CASE("patterns unite") {
  const Shape s = shape(1, 2, 2, 8);
  const Plan both = BoundStack("sinks:count=2+window:width=3", s).plan(9), again = BoundStack("window:width=3+sinks:count=2", s).plan(9);
  CHECK(keys_of(both, 1) == std::vector<int>{0, 1});
  CHECK(keys_of(both, 3) == std::vector<int>{0, 1, 2, 3});
  CHECK(both.pattern.begin[5] - both.pattern.begin[4] == 1);  // 0, 1 and 2, 3, 4 touch: one interval
  CHECK(keys_of(both, 8) == std::vector<int>{0, 1, 6, 7, 8});
  for (int i = 0; i < 9; i++) CHECK(keys_of(both, i) == keys_of(again, i));
}

TEST_CASE("global tokens: both ways without a mask, sinks with one") {
  const Shape both = shape(1, 2, 2, 8, false), causal = shape(1, 2, 2, 8);
  const Plan open = BoundStack("global:count=2", both).plan(5), masked = BoundStack("global:count=2", causal).plan(5),
             sinks = BoundStack("sinks:count=2", causal).plan(5);
  CHECK(keys_of(open, 1) == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(keys_of(open, 2) == std::vector<int>{0, 1});
  for (int i = 0; i < 5; i++) CHECK(keys_of(masked, i) == keys_of(sinks, i));
}

TEST_CASE("global tokens by their ids: later ones change nothing before them") {
  const Shape both = shape(1, 2, 2, 8, false), causal = shape(1, 2, 2, 8);
  const int tokens[] = {5, 3, 9, 5, 7}, other[] = {5, 3, 9, 3, 9};
  auto keys = [](const Shape& s, const int* tokens, int query) {
    Plan plan;
    REQUIRE(!BoundStack("global:at=3;5:count=4", s).stack.plan(5, 0, nullptr, plan, tokens));
    return keys_of(plan, query);
  };
  CHECK(keys(both, tokens, 1) == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(keys(both, tokens, 2) == std::vector<int>{0, 1, 3});
  CHECK(keys(causal, tokens, 2) == std::vector<int>{0, 1});
  CHECK(keys(causal, tokens, 3) == std::vector<int>{0, 1, 2, 3});
  CHECK(keys(causal, tokens, 4) == std::vector<int>{0, 1, 3});
  for (int i = 0; i < 3; i++) CHECK(keys(causal, tokens, i) == keys(causal, other, i));
}

TEST_CASE("random keys: different ones, the same again, whatever comes later, each equally often") {
  const Shape s = shape(1, 2, 2, 8);
  const Plan plan = BoundStack("random:count=5", s).plan(400), longer = BoundStack("random:count=5", s).plan(900),
             other = BoundStack("random:count=5:seed=1", s).plan(400);
  int differ = 0;
  for (int i = 0; i < 400; i++) {
    CHECK(int(keys_of(plan, i).size()) == std::min(i + 1, 5));
    CHECK(keys_of(plan, i) == keys_of(longer, i));
    differ += keys_of(plan, i) != keys_of(other, i);
  }
  CHECK(differ > 390);
  // Neighbouring rows of one seed, neighbouring seeds of one row: keys in each tenth of what may be seen.
  int by_row[10] = {}, by_seed[10] = {}, repeated = 0;
  for (int i = 0; i < 900; i++)
    for (int key : keys_of(longer, i)) by_row[key * 10 / (i + 1)]++;
  for (int i = 100; i < 900; i++)
    for (int key : keys_of(longer, i)) for (int before : keys_of(longer, i - 1)) repeated += key == before;
  for (int seed = 0; seed < 900; seed++)
    for (int key : keys_of(BoundStack("random:count=5:seed=" + std::to_string(seed), s).plan(60), 59)) by_seed[key / 6]++;
  for (int n = 0; n < 10; n++) CHECK((std::abs(by_row[n] - 449) < 6 * 21 && std::abs(by_seed[n] - 450) < 6 * 21));
  CHECK(std::abs(repeated - 44) < 6 * 7);  // Σ 25/(i + 1) over the rows
  const Plan both = BoundStack("random:count=5", shape(1, 2, 2, 8, false)).plan(30);
  bool later = false;
  for (int i = 0; i < 30; i++) later = later || keys_of(both, i).back() > i;
  CHECK(later);
}

// Logits of the last token change, to the bit, exactly when the changed token is within reach.
TEST_CASE("windows of w in n layers reach n·(w − 1) tokens back, not one more") {
  const struct { const char* window; int layers, reach; } rows[] = {
      {"window:width=1", 3, 0}, {"window:width=2", 4, 4}, {"window:width=4", 1, 3}, {"window:width=4", 3, 9}, {"window:width=7", 2, 12},
      {"dilated:width=3:stride=2", 2, 8}, {"blocks:size=4", 2, 11}};
  const int T = 36;
  for (auto& row : rows) {
    CAPTURE(row.window); CAPTURE(row.layers);
    auto model = make(small(row.window, row.layers));
    const int V = model->config().vocabulary;
    auto tokens = some_tokens(T);
    std::vector<float> before(T * V), after(T * V);
    REQUIRE(!model->logits_of(tokens.data(), T, before.data()));
    for (int back = 0; back < T; back++) {
      CAPTURE(back);
      int& token = tokens[T - 1 - back];
      token = (token + 1) % V;
      REQUIRE(!model->logits_of(tokens.data(), T, after.data()));
      token = (token + V - 1) % V;
      const bool steps = std::string(row.window).starts_with("dilated") && back % 2;
      CHECK(std::equal(before.end() - V, before.end(), after.end() - V) == (back > row.reach || steps));
    }
  }
}

TEST_CASE("local layers and a full last one reach every token") {
  auto model = make(small("window:width=3|window:width=3|nope+log_n", 3));
  const int T = 40, V = model->config().vocabulary;
  auto tokens = some_tokens(T);
  std::vector<float> before(T * V), after(T * V);
  REQUIRE(!model->logits_of(tokens.data(), T, before.data()));
  for (int t : {0, 1, 20, 39}) {
    tokens[t] = (tokens[t] + 1) % V;
    REQUIRE(!model->logits_of(tokens.data(), T, after.data()));
    tokens[t] = (tokens[t] + V - 1) % V;
    CHECK(!std::equal(before.end() - V, before.end(), after.end() - V));
  }
}

// Two layers x ← x + attention(x·Wq, x·Wk, x·Wv) in which nothing but the encoding knows of positions.
struct TwoLayers {
  static constexpr int H = 2, D = 4, d = H * D, layers = 2;
  std::vector<float> maps[layers][3];
  TwoLayers() {
    Random random(8);
    for (auto& layer : maps) for (auto& map : layer) map = AttentionCase::normals(random, d * d, 0.6);
  }
  // x [count][d] and what came before it → the new x; memory [before][d].
  void layer(int l, BoundStack& bound, const Plan& plan, const std::vector<float>& memory, std::vector<float>& x) const {
    std::vector<float> all = memory;
    all.insert(all.end(), x.begin(), x.end());
    const int N = int(all.size()) / d, offset = int(memory.size()) / d;
    Inputs in(shape(H, D, d, 8), N);
    std::vector<float>* to[] = {&in.q, &in.k, &in.v};
    for (int m = 0; m < 3; m++)
      for (int t = 0; t < N; t++)
        for (int c = 0; c < d; c++) {
          float& sum = (*to[m])[t * d + c] = 0;
          for (int e = 0; e < d; e++) sum += all[t * d + e] * maps[l][m][c * d + e];
        }
    in.x = all;
    const Terms terms = bound.stack.content();
    for (auto& term : terms) {
      REQUIRE(term->begin(N));
      REQUIRE(term->sequence(in.sequence(0, N)));
    }
    AttentionScratch scratch;
    std::vector<float> read(x.size());
    REQUIRE(attention(in.attention(offset, N - offset), plan, terms, read.data(), d, nullptr, scratch));
    for (size_t i = 0; i < x.size(); i++) x[i] += read[i];
  }
};

TEST_CASE("segments that keep the states of the one before equal one pass over blocks") {
  const TwoLayers net;
  const int S = 5, segments = 4, d = TwoLayers::d;
  Random random(9);
  const auto input = AttentionCase::normals(random, S * segments * d);
  BoundStack whole("transformer_xl+blocks:size=5", shape(TwoLayers::H, TwoLayers::D, d, 8)),
      plain("transformer_xl", shape(TwoLayers::H, TwoLayers::D, d, 8));
  auto once = input;
  const Plan plan = whole.plan(S * segments);
  for (int l = 0; l < TwoLayers::layers; l++) net.layer(l, whole, plan, {}, once);

  std::vector<float> memory[TwoLayers::layers], out;
  for (int s = 0; s < segments; s++) {
    std::vector<float> x(input.begin() + s * S * d, input.begin() + (s + 1) * S * d);
    const Plan own = plain.plan(s ? 2 * S : S);  // numbers begin anew with the memory: only distances count
    for (int l = 0; l < TwoLayers::layers; l++) {
      const auto before = x;
      net.layer(l, plain, own, memory[l], x);
      memory[l] = before;
    }
    out.insert(out.end(), x.begin(), x.end());
  }
  CHECK(difference(out, once) < 1e-5);
}

TEST_CASE("a model fed segment by segment gives the logits of one pass") {
  const int S = 6, N = 5 * S;
  for (const char* spec : {"transformer_xl+blocks:size=6", "transformer_xl:clamp_len=4+blocks:size=6:back=2", "rope+blocks:size=6"}) {
    CAPTURE(spec);
    auto model = make(small(spec, 3));
    const int V = model->config().vocabulary;
    const auto tokens = some_tokens(N);
    std::vector<float> whole(N * V), last(V);
    REQUIRE(!model->logits_of(tokens.data(), N, whole.data()));
    for (int t = 0; t < N; t += S) {
      REQUIRE(!model->feed(tokens.data() + t, S, last.data()));
      for (int v = 0; v < V; v++) CHECK(last[v] == doctest::Approx(whole[(t + S - 1) * V + v]).epsilon(1e-4));
    }
  }
}

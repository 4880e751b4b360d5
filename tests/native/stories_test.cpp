// A real model somebody else trained (llama2.c's stories260K) against an independent implementation's tokens, logits and
// losses. Its files are not part of the repository: without ../shared/models the test says so and passes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "json.h"
#include "model/sampling.h"
#include "model/transformer.h"

using namespace lw;
using test::Json;

namespace {

const std::string folder = std::string(LENGTHWISE_TESTS_DIR) + "/../../shared/models/";

std::string read_file(const std::string& name) {
  std::ifstream file(folder + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Tensors of the file, in its order, each for all layers at once; ours are one for each layer.
std::unique_ptr<Transformer> read_llama2(const std::string& bytes) {
  int header[7];
  std::memcpy(header, bytes.data(), sizeof header);
  ModelConfig c;
  c.width = header[0], c.hidden = header[1], c.layers = header[2], c.heads = header[3], c.kv_heads = header[4];
  c.vocabulary = header[5], c.trained_length = header[6], c.activation = Activation::swiglu, c.encoding = "rope";
  std::unique_ptr<Transformer> model;
  REQUIRE(!Transformer::make(c, 1, model));
  const char* next = bytes.data() + sizeof header;
  auto take = [&](const std::string& name) {
    for (auto& t : model->tensors())
      if (t.name == name) {
        std::memcpy(model->parameters() + t.offset, next, t.size() * 4);
        next += t.size() * 4;
        return;
      }
    FAIL(name);
  };
  take("embedding");
  for (const char* name : {"attention_norm", "wq", "wk", "wv", "wo", "ffn_norm", "w1", "w2", "w3"})
    for (int l = 0; l < c.layers; l++) take("layers." + std::to_string(l) + "." + name);
  take("final_norm");
  CHECK(next + size_t(c.trained_length) * c.head_dim() * 4 == bytes.data() + bytes.size());  // tables of angles follow
  return model;
}

std::vector<int> integers(const Json& list) {
  std::vector<int> all;
  for (auto& item : list.items) all.push_back(int(item.number));
  return all;
}

}  // namespace

TEST_CASE("stories260K: greedy tokens, logits, and losses four times past its length") {
  const std::string bytes = read_file("stories260K.bin"), text = read_file("stories260K.expected.json");
  if (bytes.empty() || text.empty()) {
    MESSAGE("SKIPPED: ../shared/models has no stories260K.bin and stories260K.expected.json");
    return;
  }
  auto model = read_llama2(bytes);
  const int V = model->config().vocabulary;
  const Json expected = Json::parse(text);
  std::vector<float> logits(V);
  Random random(1);
  for (auto& c : expected["cases"].items) {
    auto prompt = integers(c["prompt_tokens"]), greedy = integers(c["greedy_tokens"]);
    model->reset_cache();
    REQUIRE(!model->feed(prompt.data(), int(prompt.size()), logits.data()));
    for (int wanted : greedy) {
      const int token = sample(logits.data(), V, {0}, random);
      REQUIRE(token == wanted);
      REQUIRE(!model->feed(&token, 1, logits.data()));
    }
    prompt.insert(prompt.end(), greedy.begin(), greedy.end());
    std::vector<float> all(prompt.size() * V);
    REQUIRE(!model->logits_of(prompt.data(), int(prompt.size()), all.data()));
    for (auto& [position, row] : c["logits"].members)
      for (size_t i = 0; i < row.items.size(); i++)
        CHECK(std::abs(all[std::stoul(position) * V + i] - row.items[i].number) <= 2e-4);
  }
  auto tokens = integers(expected["long_text"]["tokens"]);
  std::vector<float> losses(tokens.size() - 1);
  REQUIRE(!model->losses_of(tokens.data(), int(tokens.size()), losses.data(), nullptr));
  auto& windows = expected["long_text"]["nll_by_128"].items;
  REQUIRE(windows.size() == 16);
  for (size_t w = 0; w < windows.size(); w++) {
    double sum = 0;
    const size_t first = w * 128, last = std::min(first + 128, losses.size());
    for (size_t i = first; i < last; i++) sum += losses[i];
    CHECK(std::abs(sum / double(last - first) - windows[w].number) <= 2e-3);
  }
}

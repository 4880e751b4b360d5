// Specs and their sentences, and the catalogue as JSON.
#include <algorithm>

#include "encoding_case.h"
#include "json.h"
#include "position/text.h"

using namespace lw;
using namespace lw::test;

TEST_CASE("specs") {
  auto canonical = [](const std::string& spec) {
    Stack stack;
    Error e = Stack::make(spec, plain, stack);
    return e ? e.text : stack.spec();
  };
  CHECK(canonical("rope:base=500000+log_n") == "rope:base=500000+log_n");
  CHECK(canonical(" rope : base = 5e5 : pairing=half : fraction=1 + alibi ") == "rope:base=500000:pairing=half+alibi");
  CHECK(canonical("random_sorted:max=512+alibi") == "random_sorted:max=512+alibi");
  CHECK(canonical("longrope:long_factor= 8;2.50 :short_factor=1;1e-1") == "longrope:short_factor=1;0.1:long_factor=8;2.5");
  CHECK(canonical("sinusoidal:embedding_scale=false:sin_only=1") == "sinusoidal:sin_only=true:embedding_scale=false");
  for (auto& spec : all_specs()) CHECK(canonical(spec) == spec);
}

TEST_CASE("what is refused, and how") {
  std::string names;
  for (auto& entry : catalogue()) names += std::string(entry.descriptor->name) + ", ";
  names += "or one of your own, once it is registered";
  CHECK(complaint("ropee") == "encoding is \"ropee\"; allowed: " + names);
  CHECK(complaint("") == "encoding is \"\"; allowed: " + names);
  CHECK(complaint("rope++alibi") == "encoding is \"\"; allowed: " + names);
  CHECK(complaint("rope+") == "encoding is \"rope+\"; allowed: no + at the end");
  CHECK(complaint("rope:bse=3") == "rope has no option \"bse\"; allowed: base, pairing, fraction, proportional, factor, learned");
  CHECK(complaint("nope:x=1") == "nope has no option \"x\"; allowed: none");
  CHECK(complaint("rope:base") == "rope has the setting \"base\"; allowed: option=value");
  CHECK(complaint("rope:base=x") == "rope:base is \"x\"; allowed: a number from 1 to 1000000000000");
  CHECK(complaint("rope:pairing=both") == "rope:pairing is \"both\"; allowed: interleaved, half");
  CHECK(complaint("rope:learned=maybe") == "rope:learned is \"maybe\"; allowed: true, false");
  CHECK(complaint("rope:base=2:base=3") == "rope:base is given twice; allowed: once");
  CHECK(complaint("alibi+alibi") == "encoding names alibi twice; allowed: each once");
  CHECK(complaint("rope+dynamic_ntk") == "encoding has two rotations, rope and dynamic_ntk; allowed: one");
  CHECK(complaint("rope", shape(1, 5, 5, 8)) == "headDim is 5; allowed with rope: even numbers");
  CHECK(complaint("rope:fraction=0.4") == "rope:fraction turns less than two of headDim = 4 dimensions; allowed: fraction·headDim ≥ 2");
  CHECK(complaint("longrope:long_factor=1;2;3") == "longrope:long_factor has 3 numbers; allowed: 2, one for each pair");
  CHECK(complaint("longrope:long_factor=1;0") == "longrope:long_factor is \"1;0\"; allowed: numbers from 0.001 to 1000000, with ; between them");
  CHECK(complaint("longrope:original=1") == "the original length of longrope is 1; allowed: at least 2");
  CHECK(complaint("yarn:base=1") == "yarn:base is 1; allowed: more than 1");
  CHECK(complaint("yarn:beta_fast=1:beta_slow=2") == "yarn:beta_fast is 1; allowed: at least beta_slow (2)");
  CHECK(complaint("llama3:low=5") == "llama3:low is 5; allowed: at most high (4)");
  CHECK(complaint("cope", shape(1, 4, 4, 8, false)) == "cope is asked for with causal = false; allowed: causal = true");
  CHECK(complaint("alibi:form=asymmetric") == "alibi:form is \"asymmetric\" with causal = true; allowed: symmetric");
  CHECK(complaint("t5:buckets=7", shape(1, 4, 4, 8, false)) == "t5:buckets is 7; allowed with causal = false: even numbers from 4");
  CHECK(complaint("t5:max_distance=16") == "t5:max_distance is 16; allowed with buckets=32: more than 16");
  CHECK(complaint("log_n", shape(1, 4, 4, 1)) == "trainedLength is 1; allowed with log_n: at least 2");
  CHECK(complaint("ssmax", shape(1, 4, 4, 1)) == "trainedLength is 1; allowed with ssmax: at least 2");
  CHECK(complaint("hierarchical", shape(1, 4, 4, 5000)) == "trainedLength is 5000; allowed with hierarchical:rows=0: at most 4096");
  CHECK(complaint("interpolated+transformer_xl") == "transformer_xl counts tokens and cannot follow the numbers of interpolated; allowed: one of the two");
  CHECK(complaint("random_sorted+shaw") == "shaw counts tokens and cannot follow the numbers of random_sorted; allowed: one of the two");
  CHECK(complaint("random_linspace+pope") == "pope counts tokens and cannot follow the numbers of random_linspace; allowed: one of the two");
  CHECK(complaint("pope+path") == "pope and path both set the factor on q·k; allowed: one of the two");
  CHECK(complaint("t5:scaled=false+deberta") == "t5 and deberta both set the factor on q·k; allowed: one of the two");
  CHECK(complaint("rope+path") == "path replaces q·k, which rope turns; allowed: one of the two");
  CHECK(complaint("cope+pope") == "pope replaces q·k, which cope reads; allowed: one of the two");
  CHECK(complaint("data_dependent+rope") == "data_dependent computes q·k itself and does not see what rope does to it; allowed: one of the two");
  CHECK(complaint("path+data_dependent") == "data_dependent computes q·k itself and does not see what path does to it; allowed: one of the two");
  CHECK(complaint("alibi+data_dependent") == "");
  CHECK(complaint("rope+linear_attention+random_sorted+sinusoidal") == "");
  CHECK(complaint("grid:columns=2+rope+linear_attention") == "");
  for (const char* name : {"alibi", "cope", "shaw", "window", "log_n", "path"})
    CHECK(complaint(std::string(name) + "+linear_attention") ==
          "encoding puts " + std::string(name) + " beside linear_attention, which has no scores; allowed beside it: one number a token, vectors at the input, a rotation");
  CHECK(complaint("yarn:mscale=1+linear_attention") == "");
  CHECK(complaint("linear_attention+rope+grouped").starts_with("encoding puts grouped beside linear_attention, which has one rotation for all distances; allowed"));
  CHECK(complaint("rope+deberta") == "");
  CHECK(complaint("path+forget_gate") == "");
  CHECK(complaint("learned", shape(1, 2, 1 << 14, 1 << 24)) == "learned has 274877906944 parameters; allowed: at most 400000000");
  CHECK(complaint("learned", shape(1, 2, 1 << 14, 20000)) == "");
  CHECK(complaint("learned+transformer_xl", shape(1, 2, 1 << 14, 20000)) == "");
  CHECK(complaint("learned+learned_bias:clip=1000000", shape(100, 2, 1 << 14, 20000)) == "encoding has 427680100 parameters; allowed: at most 400000000");
  CHECK(complaint("nope", shape(3, 4, 4, 8, true, 2)) == "kvHeads is 2; allowed: a divisor of heads (3)");
  CHECK(complaint("nope", shape(6, 4, 4, 8, true, 4)) == "kvHeads is 4; allowed: a divisor of heads (6)");
  CHECK(complaint("nope", shape(0, 4, 4, 8)) == "heads is 0; allowed: 1 to 1024");
  CHECK(complaint("nope", shape(1, 4, 4, -5)) == "trainedLength is -5; allowed: 1 to 16777216");
  CHECK(complaint(std::string(50000, 'x')) == "encoding has 50000 characters; allowed: at most 32768");

  Plan unread;
  CHECK(BoundStack("digits+alibi", plain).stack.plan(3, 0, nullptr, unread).text == "tokens are missing; \"digits+alibi\" looks at which tokens there are");
  for (const char* spec : {"sparse", "global"}) {
    CHECK(!BoundStack(spec, plain).stack.plan(3, 0, nullptr, unread));
    CHECK(BoundStack(std::string(spec) + ":at=3", plain).stack.plan(3, 0, nullptr, unread).text.starts_with("tokens are missing"));
    CHECK(complaint(std::string(spec) + ":at=-1").starts_with(std::string(spec) + ":at is \"-1\"; allowed: numbers from 0"));
  }
  CHECK(complaint("grouped+rectified") == "encoding maps positions twice, by grouped and rectified; allowed: once");
  CHECK(complaint("grid+alibi") == "grid needs a rotation; allowed: grid with rope or another one");
  CHECK(complaint("chunked:length=4:chunk=4") == "chunked:chunk is 4; allowed: less than length (4)");
  CHECK(complaint("shifted:shift=4:window=5") == "shifted:window is 5; allowed: at most the shift (4)");
  CHECK(complaint("grid:dimensions=3") == "grid:rows is 0; allowed with dimensions=3: at least 1");
  CHECK(plan_complaint("grouped+rope", {0, 2, 1}) == "positions[2] is 1 after 2; allowed with a map of distances: increasing numbers");

  CHECK(plan_complaint("nope", std::vector<double>{}) == "length is 0; allowed: 1 to 16777216");
  CHECK(plan_complaint("nope", {0, NAN}) == "positions[1] is NaN; allowed: numbers from -2^53 to 2^53");
  CHECK(plan_complaint("nope", {-1e300}) == "positions[0] is -1e+300; allowed: numbers from -2^53 to 2^53");
  CHECK(plan_complaint("learned", counted(9, 0)) ==
        "length is 9 with a position 8, but the table of learned has trainedLength = 8 rows; allowed: positions 0 to 7, or overflow=clamp or interpolate");
  CHECK(plan_complaint("xpos", {3, 1e7}) == "a position is 10000000; allowed with xpos:scale_base=512:center=0: -24521 to 24521");
  CHECK(plan_complaint("hierarchical:rows=3", counted(10, 0)) == "a position is 9; allowed with the 3 rows of hierarchical: 0 to 8, or overflow=clamp");
  CHECK(plan_complaint("hierarchical:rows=3", {-1}).starts_with("a position is -1; allowed"));
  CHECK(plan_complaint("random_sorted:max=8", counted(9, 0)) == "length is 9; allowed with random_sorted:max=8: at most 8");
  CHECK(plan_complaint("random_sorted+learned", counted(8, 0)).find("trainedLength = 8") != std::string::npos);
}

TEST_CASE("every option refuses what lies outside") {
  for (auto& entry : catalogue()) {
    for (auto& o : entry.descriptor->options) {
      const std::string name = std::string(entry.descriptor->name) + ":" + o.name;
      CAPTURE(name);
      std::vector<std::string> wrong = {"", "x", "nan", "inf", "-inf", "1e999", "0x10", "1,5", "--1", "true;", "1 2"};
      if (o.kind == Option::number || o.kind == Option::integer || o.kind == Option::numbers) {
        wrong.push_back(std::to_string(o.least - 1)), wrong.push_back(std::to_string(o.most * 2 + 1));
        Options options(entry.descriptor->options);
        CHECK(!options.set(entry.descriptor->name, o.name, number_text(o.least)));
        CHECK(!options.set(entry.descriptor->name, o.name, number_text(o.most)));
      }
      if (o.kind == Option::numbers)
        for (const char* list : {";", "1;", ";1", "1;;1", "1;x", "1; 1"}) wrong.push_back(list);
      if (o.kind == Option::integer) wrong.push_back(std::to_string(o.least + 0.5));
      for (auto& value : wrong) {
        Options options(entry.descriptor->options);
        const std::string said = options.set(entry.descriptor->name, o.name, value).text;
        CHECK(said.starts_with(name + " is \"" + value + "\"; allowed: "));
        CHECK(options[o.name] == o.initial);
        CHECK(options.numbers(o.name).empty());
      }
    }
  }
}

TEST_CASE("twice the trained length is refused by those that say so") {
  for (auto& entry : catalogue()) {
    const Descriptor& d = *entry.descriptor;
    CAPTURE(d.name);
    BoundStack bound(d.name, shape(2, 8, 16, 32));
    Plan plan;
    const std::vector<int> tokens(64, 0);
    CHECK(!bound.stack.plan(32, 0, nullptr, plan, tokens.data()));
    CHECK(bool(bound.stack.plan(64, 0, nullptr, plan, tokens.data())) == (d.past == Past::refuses));
  }
}

TEST_CASE("the catalogue as JSON") {
  const Json json = Json::parse(catalogue_json());
  REQUIRE(json.items.size() == catalogue().size());
  for (size_t n = 0; n < json.items.size(); n++) {
    const Json& entry = json.items[n];
    CHECK(entry["name"].text == catalogue()[n].descriptor->name);
    for (const char* field : {"title", "title_zh", "paper", "past_note", "past_note_zh"}) {
      REQUIRE((entry.find(field) != nullptr) == Prose::included);
      if (Prose::included) CHECK(!entry[field].text.empty());
    }
    CHECK(entry["options"].items.size() == catalogue()[n].descriptor->options.size());
    for (auto& option : entry["options"].items) {
      REQUIRE((option.find("meaning_zh") != nullptr) == Prose::included);
      if (Prose::included) CHECK(!option["meaning_zh"].text.empty());
      CHECK((option["kind"].text == "choice") == (option.find("choices") != nullptr));
      CHECK(option.find("default") != nullptr);
    }
    const double learned = entry["learned"].number;
    CHECK(learned == !BoundStack(catalogue()[n].descriptor->name, plain).values.empty());
  }
}

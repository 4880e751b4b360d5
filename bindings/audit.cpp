// The audit of an encoding, as JSON: NaN becomes null.
#include <emscripten/bind.h>

#include "json.h"
#include "lab/audit.h"
#include "requests.h"

using namespace lw;

namespace {

std::string audit_json(std::string spec, ShapeRequest request) {
  Shape shape;
  Audit a;
  Error e = read(request, shape);
  if (!e) e = audit(spec, shape, a);
  Json json;
  json.open('{').field("error", e.text.c_str()).field("length", double(a.length));
  auto part = [&](const char* name, const char* measured) { json.key(name).open('{').field("measured", measured); };
  part("unique", "smallest distance between two positions, as the last token sees them with equal content");
  json.field("distance", a.unique.distance).key("positions").open('[').value(double(a.unique.first)).value(double(a.unique.second)).close(']').close('}');
  part("deterministic", "largest difference between two plans: again, while training, as the first part of twice the length");
  json.field("again", a.deterministic.again).field("training", a.deterministic.training).field("longer", a.deterministic.longer).field("door", a.deterministic.door).close('}');
  part("past", "share of distances, angles, input vectors, factors and attention at 4 times the length that never came at it");
  json.field("trained", a.past.trained.c_str()).field("refused", a.past.refused.c_str()).field("distances", a.past.distances);
  json.field("angles", a.past.angles).field("rows", a.past.rows).field("factors", a.past.factors).field("weight", a.past.weight).close('}');
  part("content", "norm of what is added over that of an embedding; spread of the biases over that of the scores");
  json.field("input", a.content.input).field("bias", a.content.bias).close('}');
  part("cost", "learned numbers, bytes of tables, time to plan and to attend over that of attention without an encoding");
  json.field("parameters", a.cost.parameters).field("bytes", a.cost.bytes).field("planning", a.cost.planning);
  return json.field("attention", a.cost.attention).close('}').close('}').text();
}

}  // namespace

EMSCRIPTEN_BINDINGS(lengthwise_audit) {
  emscripten::function("audit", &audit_json);
}

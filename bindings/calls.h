// The calls that are not in module.cpp.
#pragma once
#include "edge.h"
#include "requests.h"

namespace lw {

struct DefinitionRequest;

std::string audit_json(const Text* spec, const ShapeRequest* request);
std::string register_definition(int handle, const DefinitionRequest* request, bool replace);
bool unregister_definition(const Text* name);

}  // namespace lw

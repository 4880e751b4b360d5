// Options from text.
#include <cmath>

#include "position/encoding.h"
#include "position/text.h"

namespace lw {
namespace {

std::string allowed(const Option& o) {
  std::string range = number_text(o.least) + " to " + number_text(o.most);
  switch (o.kind) {
    case Option::number: return "a number from " + range;
    case Option::integer: return "a whole number from " + range;
    case Option::flag: return "true, false";
    case Option::numbers: return "numbers from " + range + ", with ; between them";
    case Option::choice: break;
  }
  std::string list;
  for (std::string_view rest = o.choices; !rest.empty();) list += (list.empty() ? "" : ", ") + std::string(take_until(rest, '|'));
  return list;
}

bool read(const Option& o, std::string_view text, double& value) {
  if (o.kind == Option::flag) {
    value = text == "true" || text == "1";
    return value || text == "false" || text == "0";
  }
  if (o.kind == Option::choice) {
    int index = 0;
    for (std::string_view rest = o.choices; !rest.empty(); index++)
      if (take_until(rest, '|') == text) return value = index, true;
    return false;
  }
  return read_number(text, value) && value >= o.least && value <= o.most && (o.kind == Option::number || value == std::floor(value));
}

bool read(const Option& o, std::string_view text, std::vector<double>& list) {
  list.clear();
  for (std::string_view rest = text;;) {
    const bool last = rest.find(';') == rest.npos;
    double value;
    if (!read_number(take_until(rest, ';'), value) || value < o.least || value > o.most) return list.clear(), false;
    list.push_back(value);
    if (last) return true;
  }
}

}  // namespace

Error Options::set(std::string_view encoding, std::string_view name, std::string_view text) {
  std::string names;
  for (size_t i = 0; i < specs_.size(); i++) {
    if (name == specs_[i].name) {
      if (specs_[i].kind == Option::numbers ? read(specs_[i], text, lists_[i]) : read(specs_[i], text, values_[i])) return {};
      values_[i] = specs_[i].initial;
      return {std::string(encoding) + ":" + specs_[i].name + " is " + quoted(text) + "; allowed: " + allowed(specs_[i])};
    }
    names += (i ? ", " : "") + std::string(specs_[i].name);
  }
  return {std::string(encoding) + " has no option " + quoted(name) + "; allowed: " + (names.empty() ? "none" : names)};
}

}  // namespace lw

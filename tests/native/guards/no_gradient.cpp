// expect: a learned parameter without a gradient
#include "position/catalogue.h"

struct NoGradient {
  static constexpr lw::Descriptor descriptor{.name = "no_gradient", .title = "", .title_zh = "", .paper = "", .doors = unsigned(lw::Door::bias),
                                             .options = {}, .past = lw::Past::same, .past_note = "", .past_note_zh = ""};
  NoGradient(const lw::Options&, const lw::Shape&) {}
  void bias(std::span<const double>, lw::Heads) {}
  std::vector<lw::Parameter> parameters;
};

const lw::Entry no_gradient_entry = lw::entry<NoGradient>();

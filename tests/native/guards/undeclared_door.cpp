// expect: scale: the descriptor and the hook disagree
#include "position/catalogue.h"

struct Undeclared {
  static constexpr lw::Descriptor descriptor{.name = "undeclared", .title = "", .title_zh = "", .paper = "", .doors = unsigned(lw::Door::bias),
                                             .options = {}, .past = lw::Past::same, .past_note = "", .past_note_zh = ""};
  Undeclared(const lw::Options&, const lw::Shape&) {}
  void bias(std::span<const double>, lw::Heads) {}
  void scale(std::span<const int>, std::span<const double>, float*) {}
};

const lw::Entry undeclared_entry = lw::entry<Undeclared>();

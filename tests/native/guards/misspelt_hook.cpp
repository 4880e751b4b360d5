// expect: rotation: the descriptor and the hook disagree
#include "position/catalogue.h"

struct Misspelt {
  static constexpr lw::Descriptor descriptor{.name = "misspelt", .title = "", .title_zh = "", .paper = "", .doors = unsigned(lw::Door::rotation),
                                             .options = {}, .past = lw::Past::same, .past_note = "", .past_note_zh = ""};
  Misspelt(const lw::Options&, const lw::Shape&) {}
  lw::Rotary rotary() { return {1, lw::Pairing::half}; }
  void rotatoin(std::span<const double>, int, double*) {}
};

const lw::Entry misspelt_entry = lw::entry<Misspelt>();

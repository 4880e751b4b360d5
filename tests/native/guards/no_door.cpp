// expect: an encoding that opens no door must say so
#include "position/catalogue.h"

struct NoDoor {
  static constexpr lw::Descriptor descriptor{.name = "no_door", .title = "", .title_zh = "", .paper = "", .doors = 0,
                                             .options = {}, .past = lw::Past::same, .past_note = "", .past_note_zh = ""};
  NoDoor(const lw::Options&, const lw::Shape&) {}
};

const lw::Entry no_door_entry = lw::entry<NoDoor>();

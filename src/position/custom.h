// Encodings from outside the catalogue: somebody names the doors and brings a source of their tables, and the name then
// serves in every spec. They go through the same stack and the same plan as all others; the source is asked when a plan is
// made and never by a kernel. Nothing is learned, and content and value terms cannot come this way.
#pragma once
#include <functional>

#include "position/catalogue.h"

namespace lw {

// The tables of one encoding for one shape and one choice of options. What stands in a table must depend on the arguments
// alone: plans are kept. Each hook fills its whole array, or says in a sentence why it cannot; it is called only if the
// encoding opens that door.
class TableSource {
 public:
  virtual ~TableSource() = default;
  virtual Error ids(std::span<double> /*positions: in place*/) { return {}; }
  virtual Error input(std::span<const double> /*positions*/, double* /*[n][width]*/) { return {}; }
  virtual Error rotation(std::span<const double> /*positions*/, double* /*angles [n][pairs]*/) { return {}; }
  // query: of a bias by row, else 0.
  virtual Error bias(double /*query*/, std::span<const double> /*distances*/, double* /*[H][n]*/) { return {}; }
  virtual Error pattern(int /*query*/, std::span<unsigned char> /*seen: by key, 0 or 1*/) { return {}; }
  virtual Error scale(std::span<const int> /*seen*/, double* /*[H][n]*/) { return {}; }
};

struct CustomOption {
  Option::Kind kind = Option::number;
  std::string name;
  double initial = 0, least = 0, most = 0;  // as in Option
  std::string choices, meaning;
};

struct CustomEncoding {
  std::string name, title, title_zh;
  unsigned doors = 0;
  bool bias_by_row = false;  // the bias depends on query and key, not on their distance alone
  int pairs = 0;             // of the rotation; 0: all of the head
  Pairing pairing = Pairing::interleaved;
  std::vector<CustomOption> options;
  std::function<std::unique_ptr<TableSource>(const Shape&, const Options&)> tables;
};

// Refuses a name that is taken (by one of its own kind: unless `replace`) or is no name, and doors that cannot be served.
Error register_encoding(CustomEncoding encoding, bool replace = false);
// What has been made with it lives on. False: no such custom encoding.
bool unregister_encoding(std::string_view name);

}  // namespace lw

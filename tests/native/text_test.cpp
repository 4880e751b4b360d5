// Numbers as text, against the C library's.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <doctest/doctest.h>

#include "position/text.h"
#include "simd/random.h"

using namespace lw;

namespace {

std::string printed(double x) {
  char text[40];
  for (int digits : {15, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    if (std::strtod(text, nullptr) == x) break;
  }
  return text;
}

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

void there_and_back(double x) {
  CAPTURE(x);
  double read = 0;
  CHECK(number_text(x) == printed(x));
  CHECK(read_number(printed(x), read));
  CHECK(same(read, x));
}

}  // namespace

TEST_CASE("numbers are written as printf does and read back the same") {
  for (double x : {0.0, -0.0, 0.1, 0.3, 1.0 / 3, -2.5, 1e-4, 1e-5, 123456.0, 999999999999999.0, 1e15, 1e16, 9999999999999999.0, 1e17, 1e22, 1e23,
                   99999999999999994.0, 9007199254740993.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308}) there_and_back(x);
  Random random(1, 1);
  for (int n = 0; n < 2000; n++) {
    const uint64_t bits = uint64_t(random.next()) << 32 | random.next();
    double any;
    std::memcpy(&any, &bits, sizeof any);
    if (std::isfinite(any)) there_and_back(any);
    there_and_back(double(int64_t(bits >> 40)) / double(1 + bits % 1000));
  }
  CHECK(number_text(-INFINITY) == "-Infinity");
}

TEST_CASE("decimals are read as strtod does, and nothing else is") {
  Random random(2, 1);
  for (int n = 0; n < 4000; n++) {
    std::string text;
    const int digits = 1 + int(random.next() % 40), point = int(random.next() % 41);
    for (int k = 0; k < digits; k++) (k == point ? text += '.' : text) += char('0' + random.next() % 10);
    if (random.next() % 2) text += "e" + std::to_string(int(random.next() % 700) - 350);
    CAPTURE(text);
    const double wanted = std::strtod(text.c_str(), nullptr);
    double read = 0;
    REQUIRE(read_number(text, read) == std::isfinite(wanted));
    if (std::isfinite(wanted)) CHECK(same(read, wanted));
  }
  double read = 0;
  for (const char* good : {"1.", ".5", "+1", "-1", "1e5", "1E-5", "00012", "1e-9999"}) CHECK((read_number(good, read) && read == std::strtod(good, nullptr)));
  for (const char* bad : {"", "+", "-", ".", "e5", "1e", "1e+", "1 ", " 1", "inf", "nan", "0x10", "1.2.3", "1e5.", "--1", "1e400"})
    CHECK_MESSAGE(!read_number(bad, read), bad);
  CHECK(!read_number(std::string(61, '1'), read));
}

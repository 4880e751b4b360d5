// Numbers as text and back, exactly: a ratio of two large integers is divided. (The C library's printf and strtod are right
// too, and ten times as large.)
#include "position/text.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lw {
namespace {

// Up to 1792 bits: 60 digits times 10^420, or 2^1074 times 10^17.
class Big {
 public:
  explicit Big(uint64_t value) { limbs_[0] = uint32_t(value), limbs_[1] = uint32_t(value >> 32); }
  void multiply_add(uint32_t factor, uint32_t more) {
    uint64_t carry = more;
    for (auto& limb : limbs_) carry += uint64_t(limb) * factor, limb = uint32_t(carry), carry >>= 32;
  }
  // Times base^power, base at most 10.
  void raise(uint32_t base, int power) {
    while (power > 0) {
      uint32_t factor = 1;
      for (; power > 0 && factor < 1u << 28; power--) factor *= base;
      multiply_add(factor, 0);
    }
  }
  void halve() { for (int i = 0; i < size; i++) limbs_[i] = limbs_[i] >> 1 | (i + 1 < size ? limbs_[i + 1] << 31 : 0); }
  int bits() const {
    int top = size - 1;
    while (top > 0 && !limbs_[top]) top--;
    return 32 * top + std::bit_width(limbs_[top]);
  }
  int compare(const Big& other) const {
    for (int i = size - 1; i >= 0; i--)
      if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
    return 0;
  }
  void subtract(const Big& other) {
    int64_t borrow = 0;
    for (int i = 0; i < size; i++) borrow += int64_t(limbs_[i]) - other.limbs_[i], limbs_[i] = uint32_t(borrow), borrow >>= 32;
  }

 private:
  static constexpr int size = 56;
  uint32_t limbs_[size] = {};
};

// above/below to the nearest integer, ties to even; it has less than 60 bits.
uint64_t divided(Big above, Big below) {
  const int quotient_bits = std::max(above.bits() - below.bits() + 1, 0);
  below.raise(2, quotient_bits);
  uint64_t quotient = 0;
  for (int bit = quotient_bits; bit >= 0; bit--, below.halve()) {
    quotient *= 2;
    if (above.compare(below) >= 0) above.subtract(below), quotient++;
    if (!bit) break;
  }
  above.multiply_add(2, 0);
  const int half = above.compare(below);
  return quotient + (half > 0 || (half == 0 && quotient % 2));
}

// value·10^shift, value > 0, to the nearest integer.
uint64_t scaled(double value, int shift) {
  int exponent;
  const uint64_t mantissa = uint64_t(std::ldexp(std::frexp(value, &exponent), 53));
  exponent -= 53;
  Big above(mantissa), below(1);
  above.raise(2, exponent), below.raise(2, -exponent);
  above.raise(10, shift), below.raise(10, -shift);
  return divided(above, below);
}

// As "%.*g" writes it.
std::string written(double x, int digits) {
  uint64_t least = 1;
  for (int n = 1; n < digits; n++) least *= 10;
  int exponent = int(std::floor((std::ilogb(x) + 1) * 0.30103)) + 1;  // of ten; at most one or two too large
  uint64_t number = 0;
  while (number < least) number = scaled(std::fabs(x), digits - 1 - --exponent);
  if (number >= 10 * least) number /= 10, exponent++;  // rounded up to a power of ten
  std::string text = std::to_string(number);
  while (text.back() == '0') text.pop_back();
  const int count = int(text.size());
  if (exponent < -4 || exponent >= digits) {
    if (count > 1) text.insert(1, ".");
    const std::string power = std::to_string(std::abs(exponent));
    text += std::string(exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  } else if (exponent < 0) text.insert(0, "0." + std::string(size_t(-exponent - 1), '0'));
  else if (exponent + 1 < count) text.insert(size_t(exponent + 1), ".");
  else text.append(size_t(exponent + 1 - count), '0');
  return (x < 0 ? "-" : "") + text;
}

// digits·10^power to the nearest double.
double nearest(Big digits, int power) {
  Big below(1);
  digits.raise(10, power), below.raise(10, -power);
  // As many binary places as make 53 bits; where the smallest doubles are, fewer.
  int places = std::min(53 - digits.bits() + below.bits(), 1074);
  for (;; places--) {
    Big above = digits, under = below;
    above.raise(2, places), under.raise(2, -places);
    const uint64_t mantissa = divided(above, under);
    if (mantissa <= uint64_t(1) << 53) return std::ldexp(double(mantissa), -places);
  }
}

}  // namespace

std::string number_text(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-Infinity" : "Infinity";
  if (x == 0) return std::signbit(x) ? "-0" : "0";
  if (x == std::floor(x) && std::fabs(x) < 1e15) return std::to_string(int64_t(x));
  const std::string text = written(x, 15);
  double read;
  return read_number(text, read) && read == x ? text : written(x, 17);
}

bool read_number(std::string_view text, double& value) {
  const auto digit = [&] { return !text.empty() && text[0] >= '0' && text[0] <= '9'; };
  const auto take = [&](char c) { return !text.empty() && text[0] == c && (text.remove_prefix(1), true); };
  const auto sign = [&] { const bool minus = take('-'); return minus || take('+') ? minus : false; };
  if (text.size() > 60) return false;
  const bool minus = sign();
  Big digits(0);
  int count = 0, power = 0;
  const auto read = [&](int step) {
    for (; digit(); text.remove_prefix(1), count++, power -= step) digits.multiply_add(10, uint32_t(text[0] - '0'));
  };
  read(0);
  if (take('.')) read(1);
  if (!count) return false;
  if (take('e') || take('E')) {
    const bool down = sign();
    int exponent = 0;
    if (!digit()) return false;
    for (; digit(); text.remove_prefix(1)) exponent = std::min(exponent * 10 + (text[0] - '0'), 9999);
    power += down ? -exponent : exponent;
  }
  if (!text.empty()) return false;
  // Past these bounds of any number of up to 60 digits there is nothing but zero and infinity.
  value = digits.bits() == 0 || power < -400 ? 0 : power > 400 ? std::numeric_limits<double>::infinity() : nearest(digits, power);
  if (minus) value = -value;
  return std::isfinite(value);
}

}  // namespace lw

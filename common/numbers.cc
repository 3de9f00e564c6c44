#include "common/numbers.h"

#include <charconv>
#include <cmath>

namespace swarm {
namespace {

std::string print(double value, std::chars_format format, int precision) {
  if (!std::isfinite(value)) return "-";
  char buffer[512];  // the largest double has 309 digits before the point
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format, precision);
  std::string text = end.ec == std::errc() ? std::string(buffer, end.ptr) : "-";
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return zero && text[0] == '-' && text.size() > 1 ? text.substr(1) : text;
}

}  // namespace

std::string fixed(double value, int decimals) {
  return print(value, std::chars_format::fixed, decimals);
}

std::string shortest(double value, int digits) {
  return print(value, std::chars_format::general, digits);
}

std::string grouped(double value) {
  std::string text = fixed(value, 0);
  const size_t first = text[0] == '-' ? 1 : 0;
  for (size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string exact(double value) {
  if (!std::isfinite(value)) return "-";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  const std::string text(buffer, end.ptr);
  return text.find('e') == std::string::npos || std::abs(value) >= 1e15 || std::abs(value) < 1e-4
             ? text
             : shortest(value, 17);  // 100 and not 1e+02
}

}  // namespace swarm

#include "apps/report/text.h"

#include <charconv>
#include <cmath>

namespace swarm::report {
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

std::string escape(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f)
          out += "\xef\xbf\xbd";  // U+FFFD
        else
          out += c;
    }
  }
  return out;
}

std::string clip(const std::string& text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

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

}  // namespace swarm::report

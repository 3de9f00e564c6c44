#include "config/field.h"

#include <cstdio>

namespace swarm::config {
namespace {

std::string bound(double number) {
  char buffer[40];
  const bool whole = number == std::floor(number) && std::fabs(number) < 1e16;
  std::snprintf(buffer, sizeof buffer, whole ? "%.0f" : "%g", number);
  return buffer;
}

}  // namespace

std::string range_text(double min, double max) {
  if (std::isfinite(min) && std::isfinite(max)) return " from " + bound(min) + " to " + bound(max);
  if (std::isfinite(min)) return " of at least " + bound(min);
  if (std::isfinite(max)) return " of at most " + bound(max);
  return {};
}

std::string choices_text(const std::vector<std::string>& choices) {
  std::string out = choices.size() > 1 ? "one of " : "";
  for (size_t i = 0; i < choices.size(); ++i) out += (i ? ", " : "") + quote(choices[i]);
  return out;
}

}  // namespace swarm::config

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

const Value* Field<Preemption>::set(Preemption& out, const Value& value, const Limits&) {
  if (value.kind != Value::Kind::kTable) return &value;
  Preemption made;
  bool at = false;
  for (const auto& member : value.members) {
    const bool is_at = member.name == "at_s";
    if (!is_at && member.name != "for_s") return &value;
    const Limits limits = is_at ? in(0, 1e9) : in(0.05, 1e9);
    if (const Value* bad = Field<double>::set(is_at ? made.at_s : made.for_s, member.value, limits))
      return bad;
    at = at || is_at;
  }
  if (!at) return &value;
  out = made;
  return nullptr;
}

std::string Field<Preemption>::print(const Preemption& value, const Limits&) {
  return "{ at_s = " + print_float(value.at_s) + ", for_s = " + print_float(value.for_s) + " }";
}

std::string Field<Preemption>::expected(const Limits&) {
  return "{ at_s = SECONDS, for_s = SECONDS }";
}

}  // namespace swarm::config

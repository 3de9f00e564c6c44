/// How each C++ type of an Options struct is read from and printed as TOML. Internal to config/.
#pragma once

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "config/experiment.h"
#include "config/value.h"

namespace swarm::config {

/// What a value must satisfy beyond its type. Bounds are inclusive.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;
  bool seconds = false;    ///< Of a duration: the file has seconds, not milliseconds.
  bool any_stage = false;  ///< Of a list: "auto" stands for kAnyStage alone.
};
inline Limits in(double min, double max) { return {min, max, {}}; }
inline Limits in_seconds(double min, double max) { return {min, max, {}, true}; }
inline Limits stage_list(double min, double max) { return {min, max, {}, false, true}; }
inline Limits one_of(std::vector<std::string> choices) {
  Limits limits;
  limits.choices = std::move(choices);
  return limits;
}

/// Field<M>: `set` stores or returns what does not fit; `print`; `expected` for people.
template <class M, class = void>
struct Field;

template <>
struct Field<bool> {
  static const Value* set(bool& out, const Value& value, const Limits&) {
    if (value.kind != Value::Kind::kBool) return &value;
    out = value.boolean;
    return nullptr;
  }
  static std::string print(bool value, const Limits&) { return value ? "true" : "false"; }
  static std::string expected(const Limits&) { return "true or false"; }
};

/// "from 1 to 10", "of at least 1", or "" without bounds.
std::string range_text(double min, double max);

template <class M>
struct Field<M, std::enable_if_t<std::is_integral_v<M> && !std::is_same_v<M, bool>>> {
  static double low(const Limits& limits) {
    return std::max(limits.min, static_cast<double>(std::numeric_limits<M>::min()));
  }
  static const Value* set(M& out, const Value& value, const Limits& limits) {
    if (value.kind != Value::Kind::kInteger) return &value;
    const auto number = static_cast<double>(value.integer);
    if (number < low(limits) || number > limits.max) return &value;
    if constexpr (sizeof(M) < sizeof(int64_t)) {
      if (value.integer > static_cast<int64_t>(std::numeric_limits<M>::max())) return &value;
    }
    out = static_cast<M>(value.integer);
    return nullptr;
  }
  static std::string print(M value, const Limits&) { return std::to_string(value); }
  static std::string expected(const Limits& limits) {
    const double max =
        sizeof(M) < 8 ? std::min(limits.max, double(std::numeric_limits<M>::max())) : limits.max;
    const double min = std::is_unsigned_v<M> || sizeof(M) < 8 ? low(limits) : limits.min;
    return "an integer" + range_text(min, max);
  }
};

template <>
struct Field<double> {
  static const Value* set(double& out, const Value& value, const Limits& limits) {
    const bool integer = value.kind == Value::Kind::kInteger;
    if (!integer && value.kind != Value::Kind::kFloat) return &value;
    const double number = integer ? static_cast<double>(value.integer) : value.number;
    if (!std::isfinite(number) || number < limits.min || number > limits.max) return &value;
    out = number;
    return nullptr;
  }
  static std::string print(double value, const Limits&) { return print_float(value); }
  static std::string expected(const Limits& limits) {
    return "a number" + range_text(limits.min, limits.max);
  }
};

/// Absent prints as nothing: the key is left out.
template <class M>
struct Field<std::optional<M>> {
  static const Value* set(std::optional<M>& out, const Value& value, const Limits& limits) {
    M read{};
    if (const Value* bad = Field<M>::set(read, value, limits)) return bad;
    out = read;
    return nullptr;
  }
  static std::string print(const std::optional<M>& value, const Limits& limits) {
    return value ? Field<M>::print(*value, limits) : "";
  }
  static std::string expected(const Limits& limits) { return Field<M>::expected(limits); }
};

/// A count, or "auto": whoever uses it decides by itself.
template <>
struct Field<std::optional<uint32_t>> {
  static const Value* set(std::optional<uint32_t>& out, const Value& value, const Limits& limits) {
    if (value.kind == Value::Kind::kString && value.text == "auto") {
      out.reset();
      return nullptr;
    }
    uint32_t number = 0;
    if (const Value* bad = Field<uint32_t>::set(number, value, limits)) return bad;
    out = number;
    return nullptr;
  }
  static std::string print(const std::optional<uint32_t>& value, const Limits&) {
    return value ? std::to_string(*value) : "\"auto\"";
  }
  static std::string expected(const Limits& limits) {
    return Field<uint32_t>::expected(limits) + ", or \"auto\"";
  }
};

/// "one of \"a\", \"b\"".
std::string choices_text(const std::vector<std::string>& choices);

template <>
struct Field<std::string> {
  static const Value* set(std::string& out, const Value& value, const Limits& limits) {
    if (value.kind != Value::Kind::kString) return &value;
    if (!limits.choices.empty()) {
      bool found = false;
      for (const auto& choice : limits.choices) found = found || choice == value.text;
      if (!found) return &value;
    }
    out = value.text;
    return nullptr;
  }
  static std::string print(const std::string& value, const Limits&) { return quote(value); }
  static std::string expected(const Limits& limits) {
    return limits.choices.empty() ? "a string" : choices_text(limits.choices);
  }
};

/// Enums: `choices` are the names, in the order of the values 0, 1, ...
template <class M>
struct Field<M, std::enable_if_t<std::is_enum_v<M>>> {
  static const Value* set(M& out, const Value& value, const Limits& limits) {
    if (value.kind != Value::Kind::kString) return &value;
    for (size_t i = 0; i < limits.choices.size(); ++i) {
      if (limits.choices[i] != value.text) continue;
      out = static_cast<M>(i);
      return nullptr;
    }
    return &value;
  }
  static std::string print(M value, const Limits& limits) {
    return quote(limits.choices.at(static_cast<size_t>(value)));
  }
  static std::string expected(const Limits& limits) { return choices_text(limits.choices); }
};

template <>
struct Field<std::chrono::milliseconds> {
  static const Value* set(std::chrono::milliseconds& out, const Value& value,
                          const Limits& limits) {
    if (limits.seconds) {
      double seconds = 0;
      if (const Value* bad = Field<double>::set(seconds, value, limits)) return bad;
      out = std::chrono::milliseconds(std::llround(seconds * 1000));
      return nullptr;
    }
    int64_t count = 0;
    if (const Value* bad = Field<int64_t>::set(count, value, limits)) return bad;
    out = std::chrono::milliseconds(count);
    return nullptr;
  }
  static std::string print(std::chrono::milliseconds value, const Limits& limits) {
    if (limits.seconds) return print_float(static_cast<double>(value.count()) / 1000);
    return std::to_string(value.count());
  }
  static std::string expected(const Limits& limits) {
    if (limits.seconds) return Field<double>::expected(limits);
    return "milliseconds: " + Field<int64_t>::expected(limits);
  }
};

/// Of the pure decisions: seconds in the file.
template <>
struct Field<std::chrono::nanoseconds> {
  static const Value* set(std::chrono::nanoseconds& out, const Value& value, const Limits& limits) {
    double seconds = 0;
    if (const Value* bad = Field<double>::set(seconds, value, limits)) return bad;
    out = std::chrono::nanoseconds(std::llround(seconds * 1e9));
    return nullptr;
  }
  static std::string print(std::chrono::nanoseconds value, const Limits&) {
    return print_float(std::chrono::duration<double>(value).count());
  }
  static std::string expected(const Limits& limits) { return Field<double>::expected(limits); }
};

/// "host:port"; "" for an Endpoint without host.
template <>
struct Field<Endpoint> {
  static const Value* set(Endpoint& out, const Value& value, const Limits&) {
    if (value.kind != Value::Kind::kString) return &value;
    Endpoint endpoint;
    if (!value.text.empty()) {
      auto parsed = Endpoint::parse(value.text);
      if (!parsed) return &value;
      endpoint = parsed.value();
    }
    out = endpoint;
    return nullptr;
  }
  static std::string print(const Endpoint& value, const Limits&) {
    return value.host.empty() ? "\"\"" : quote(value.text());
  }
  static std::string expected(const Limits&) { return "\"HOST:PORT\" or \"\""; }
};

/// { at_s = 120, for_s = 30 }
template <>
struct Field<Preemption> {
  static const Value* set(Preemption& out, const Value& value, const Limits& limits);
  static std::string print(const Preemption& value, const Limits&);
  static std::string expected(const Limits&);
};

template <class M>
struct Field<std::vector<M>> {
  static const Value* set(std::vector<M>& out, const Value& value, const Limits& limits) {
    const bool wrapped = value.kind == Value::Kind::kArray && value.items.size() == 1;
    const Value& word = wrapped ? value.items[0] : value;  // --set makes an array of it
    if (limits.any_stage && word.kind == Value::Kind::kString && word.text == "auto") {
      out.assign(1, any_stage());
      return nullptr;
    }
    if (value.kind != Value::Kind::kArray) return &value;
    std::vector<M> items(value.items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      if (const Value* bad = Field<M>::set(items[i], value.items[i], limits)) return bad;
    }
    out = std::move(items);
    return nullptr;
  }
  static std::string print(const std::vector<M>& value, const Limits& limits) {
    if (limits.any_stage && value.size() == 1 && value[0] == any_stage()) return "\"auto\"";
    std::string out = "[";
    for (const auto& item : value)
      out += (out.size() > 1 ? ", " : "") + Field<M>::print(item, limits);
    return out + "]";
  }
  static std::string expected(const Limits& limits) {
    return "an array, each item " + Field<M>::expected(limits) +
           (limits.any_stage ? ", or \"auto\"" : "");
  }

 private:
  /// Limits of other lists never ask for it.
  static M any_stage() {
    if constexpr (std::is_same_v<M, int32_t>) return actors::kAnyStage;
    return M();
  }
};

template <class M>
struct IsVector : std::false_type {};
template <class M>
struct IsVector<std::vector<M>> : std::true_type {};

}  // namespace swarm::config

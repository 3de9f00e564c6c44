/// A parsed TOML document as plain data with source positions; the only view of TOML that the rest
/// of config/ has (toml++ stays in value.cc).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace swarm::config {

/// Where something was written. `line` 0: not in a file (`file` then says where, "--set a.b").
struct Location {
  std::string file;
  uint32_t line = 0;    ///< 1-based.
  uint32_t column = 0;  ///< 1-based, in characters.
};

struct Value {
  enum class Kind : uint8_t { kBool, kInteger, kFloat, kString, kArray, kTable, kOther };

  Kind kind = Kind::kOther;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<Value> items;  ///< If this is an array.
  struct Member;
  std::vector<Member> members;  ///< If this is a table, in file order.
  Location location;

  /// "the integer 3", "the string \"x\"", "a table": for error messages; long strings are cut.
  std::string describe() const;
};

struct Value::Member {
  std::string name;
  Location location;  ///< Where the key stands; the value has its own.
  Value value;
};

/// A table, or (when `ok` is false) the first syntax error: TOML parsers stop there.
struct ParsedToml {
  bool ok = false;
  Value root;
  Location error_location;
  std::string error;
};
/// Never throws, whatever the bytes. `file` is only for locations.
ParsedToml parse_toml(const std::string& text, const std::string& file);

/// A TOML basic string, quotes and escapes included.
std::string quote(const std::string& text);
/// Shortest decimal text that reads back as exactly `number`, always with a point or exponent.
std::string print_float(double number);

}  // namespace swarm::config

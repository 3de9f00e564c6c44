/// A JSON value as the records know it, and its text. The only place of the records that knows a
/// JSON library is value.cc. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace swarm::records {

struct Value;
using List = std::vector<Value>;
/// Members in the order in which they were added; keys are unique.
using Object = std::vector<std::pair<std::string, Value>>;

/// Null (the first alternative) stands for what was not measured.
struct Value {
  std::variant<std::monostate, bool, uint64_t, int64_t, double, std::string, List, Object> data{};

  bool is_null() const { return data.index() == 0; }
  /// Null unless the value is of that type.
  const std::string* text() const { return std::get_if<std::string>(&data); }
  const List* list() const { return std::get_if<List>(&data); }
  const Object* object() const { return std::get_if<Object>(&data); }
  /// Any number; nothing for what is none.
  std::optional<double> number() const;
  /// Whole numbers from 0 on; nothing for what is none.
  std::optional<uint64_t> whole() const;
};

/// Null if `object` has no member `key`.
const Value* find(const Object& object, const std::string& key);

/// One line without its end. Numbers that are not finite become null; text that is not UTF-8 gets
/// replacement characters.
std::string to_json(const Object& object);
std::string to_json(const Value& value);
/// The same over many lines, for files that people open.
std::string to_indented_json(const Object& object);
/// Nothing for what is no object.
std::optional<Object> parse_object(const std::string& text);

}  // namespace swarm::records

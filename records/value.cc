#include "records/value.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace swarm::records {
namespace {

using Json = nlohmann::ordered_json;

struct Printer {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  Json operator()(const List& list) const {
    Json out = Json::array();
    for (const Value& value : list) out.push_back(std::visit(*this, value.data));
    return out;
  }
  Json operator()(const Object& object) const {
    Json out = Json::object();
    for (const auto& [key, value] : object) out[key] = std::visit(*this, value.data);
    return out;
  }
  template <class Plain>
  Json operator()(const Plain& value) const {
    return value;
  }
};

Value value_of(const Json& json) {
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_number_unsigned()) return {json.get<uint64_t>()};
  if (json.is_number_integer()) return {json.get<int64_t>()};
  if (json.is_number()) return {json.get<double>()};
  if (json.is_string()) return {json.get<std::string>()};
  if (json.is_array()) {
    List list;
    for (const Json& item : json) list.push_back(value_of(item));
    return {std::move(list)};
  }
  if (json.is_object()) {
    Object object;
    for (const auto& [key, item] : json.items()) object.emplace_back(key, value_of(item));
    return {std::move(object)};
  }
  return {};
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::optional<double> Value::number() const {
  if (const auto* value = std::get_if<double>(&data)) return *value;
  if (const auto* value = std::get_if<uint64_t>(&data)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<int64_t>(&data)) return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<uint64_t> Value::whole() const {
  const auto* value = std::get_if<uint64_t>(&data);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

const Value* find(const Object& object, const std::string& key) {
  for (const auto& [name, value] : object)
    if (name == key) return &value;
  return nullptr;
}

std::string to_json(const Object& object) { return dump(Printer()(object), -1); }
std::string to_json(const Value& value) { return dump(std::visit(Printer(), value.data), -1); }
std::string to_indented_json(const Object& object) { return dump(Printer()(object), 2) + "\n"; }

std::optional<Object> parse_object(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  return std::get<Object>(value_of(json).data);
}

}  // namespace swarm::records

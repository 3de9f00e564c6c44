#include "records/event.h"

#include <cmath>

#include "records/catalogue.h"

namespace swarm::records {
namespace {

struct Words {
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(uint64_t value) const { return std::to_string(value); }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    return to_json(Value{std::round(value * 1000) / 1000});
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const List& list) const {
    std::string text;
    for (const Value& value : list)
      text += (text.empty() ? "" : ",") + std::visit(*this, value.data);
    return text;
  }
  std::string operator()(const Object& object) const { return "{" + text(object) + "}"; }
};

bool is_envelope(const std::string& key) {
  return key == "time" || key == "node" || key == "event" || key == "level" || key == "stage" ||
         key == "step";
}

int64_t small(const Object& line, const char* key) {
  const Value* value = find(line, key);
  const auto whole = value != nullptr ? value->whole() : std::nullopt;
  return whole && *whole <= INT64_MAX ? static_cast<int64_t>(*whole) : -1;
}

std::string text_of(const Object& line, const char* key) {
  const Value* value = find(line, key);
  return value != nullptr && value->text() != nullptr ? *value->text() : std::string();
}

}  // namespace

std::string Event::reason() const { return text_of(fields, "reason"); }

std::string to_json(const Event& event) {
  const EventInfo* info = info_of(event.name);
  Object line{{"time", {std::round(event.time_s * 1000) / 1000}},
              {"node", {event.node}},
              {"event", {event.name}},
              {"level", {std::string(to_string(info != nullptr ? info->level : Level::kInfo))}}};
  if (event.stage >= 0) line.push_back({"stage", {static_cast<uint64_t>(event.stage)}});
  if (event.step >= 0) line.push_back({"step", {static_cast<uint64_t>(event.step)}});
  line.insert(line.end(), event.fields.begin(), event.fields.end());
  return to_json(line);
}

std::optional<Event> parse_event(const std::string& line) {
  auto object = parse_object(line);
  if (!object) return std::nullopt;
  Event event;
  event.name = text_of(*object, "event");
  if (event.name.empty()) return std::nullopt;
  const Value* time = find(*object, "time");
  event.time_s = (time != nullptr ? time->number() : std::nullopt).value_or(0);
  event.node = text_of(*object, "node");
  event.stage = small(*object, "stage");
  event.step = small(*object, "step");
  for (auto& [key, value] : *object)
    if (!is_envelope(key)) event.fields.emplace_back(std::move(key), std::move(value));
  return event;
}

std::string text(const Event& event) { return event.node + ": " + what(event); }

std::string what(const Event& event) {
  std::string out = event.name;
  if (event.stage >= 0) out += " stage=" + std::to_string(event.stage);
  if (event.step >= 0) out += " step=" + std::to_string(event.step);
  if (!event.fields.empty()) out += " " + text(event.fields);
  return out;
}

std::string text(const Object& fields) {
  std::string out;
  for (const auto& [key, value] : fields)
    out += (out.empty() ? "" : " ") + key + "=" + std::visit(Words(), value.data);
  return out;
}

}  // namespace swarm::records

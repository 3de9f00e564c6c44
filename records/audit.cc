#include "records/audit.h"

#include <cmath>

namespace swarm::records {
namespace {

bool lengths_agree(const HeldSlots& held) { return held.slots.size() == held.attempts.size(); }
bool lengths_agree(const ClosedStep& step) {
  for (const auto& stage : step.stages)
    for (const HeldSlots& member : stage.members)
      if (!lengths_agree(member)) return false;
  return true;
}
bool lengths_agree(const CommittedStep& step) { return lengths_agree(step.held); }
bool lengths_agree(const LoadedState&) { return true; }
bool lengths_agree(const FoldedAudit&) { return true; }

template <class Record>
Status read(const Object& object, AuditLine& line) {
  std::string fault;
  Record record = read_fields<Record>(object, &fault);
  if (fault.empty() && !lengths_agree(record)) fault = "`slots` and `attempts` differ in length";
  if (!fault.empty()) return Error{ErrorCode::kInvalidArgument, fault};
  line.record = std::move(record);
  return {};
}

const std::string* find_text(const Object& object, const char* key) {
  const Value* value = find(object, key);
  return value != nullptr ? value->text() : nullptr;
}

}  // namespace

std::string to_json(const AuditLine& line) {
  if (const auto* event = std::get_if<Event>(&line.record)) {
    const std::string text = to_json(*event);
    return std::string("{\"kind\":\"") + kEventKind + "\"," + text.substr(1);
  }
  Object out;
  std::visit(
      [&](const auto& record) {
        using Record = std::decay_t<decltype(record)>;
        if constexpr (!std::is_same_v<Record, std::monostate> && !std::is_same_v<Record, Event>) {
          out = {{"kind", {std::string(Record::kKind)}},
                 {"time", {std::round(line.time_s * 1000) / 1000}}};
          for (auto& member : write_fields(record)) out.push_back(std::move(member));
          if (find(out, "node") == nullptr) out.push_back({"node", {line.node}});
        }
      },
      line.record);
  return to_json(out);
}

Result<AuditLine> parse_audit_line(const std::string& text) {
  const auto object = parse_object(text);
  if (!object) return Error{ErrorCode::kInvalidArgument, "is no JSON object"};
  AuditLine line;
  const Value* time = find(*object, "time");
  line.time_s = (time != nullptr ? time->number() : std::nullopt).value_or(0);
  if (const auto* node = find_text(*object, "node")) line.node = *node;
  const std::string* kind = find_text(*object, "kind");
  if (kind == nullptr) return Error{ErrorCode::kInvalidArgument, "has no `kind`"};
  Status read_well;
  if (*kind == ClosedStep::kKind) read_well = read<ClosedStep>(*object, line);
  if (*kind == CommittedStep::kKind) read_well = read<CommittedStep>(*object, line);
  if (*kind == LoadedState::kKind) read_well = read<LoadedState>(*object, line);
  if (*kind == FoldedAudit::kKind) read_well = read<FoldedAudit>(*object, line);
  if (*kind == kEventKind) {
    auto event = parse_event(text);
    if (!event) return Error{ErrorCode::kInvalidArgument, "is no event"};
    if (!event->fields.empty() && event->fields.front().first == "kind")
      event->fields.erase(event->fields.begin());
    line.record = std::move(*event);
  }
  if (!read_well) return read_well.error();
  return line;
}

}  // namespace swarm::records

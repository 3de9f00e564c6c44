#include "apps/sweep/sweep_state.h"

#include <fmt/format.h>

#include <utility>

#include "records/value.h"

namespace swarm::sweep {
namespace {

constexpr CellStatus kAll[] = {CellStatus::kUnfinished, CellStatus::kFinished, CellStatus::kFailed};

Error damaged(const std::string& why) { return {ErrorCode::kInvalidArgument, "damaged: " + why}; }

/// A name in a folder, never a way out of it.
bool is_entry(const std::string& name) { return name.empty() || config::is_name(name); }

}  // namespace

const char* to_string(CellStatus status) {
  switch (status) {
    case CellStatus::kUnfinished:
      return "unfinished";
    case CellStatus::kFinished:
      return "finished";
    case CellStatus::kFailed:
      return "failed";
  }
  return "unknown";
}

std::string to_json(const SweepState& state) {
  records::Object cells;
  for (const auto& [name, cell] : state) {
    records::Object out = {{"status", {std::string(to_string(cell.status))}},
                           {"hash", {cell.hash}},
                           {"folder", {cell.folder}},
                           {"after", {cell.after}}};
    if (!cell.reason.empty()) out.push_back({"reason", {cell.reason}});
    cells.push_back({name, {std::move(out)}});
  }
  return records::to_indented_json({{"cells", {std::move(cells)}}});
}

Result<SweepState> parse_state(const std::string& text) {
  const auto json = records::parse_object(text);
  const records::Value* cells = json ? records::find(*json, "cells") : nullptr;
  if (cells == nullptr || cells->object() == nullptr) return damaged("no object with cells");
  SweepState state;
  for (const auto& [name, cell] : *cells->object()) {
    auto text_of = [&cell = cell](const char* key) {
      const auto* value = cell.object() ? records::find(*cell.object(), key) : nullptr;
      return value != nullptr && value->text() ? *value->text() : std::string();
    };
    CellState one;
    bool known = false;
    for (const CellStatus status : kAll) {
      if (text_of("status") != to_string(status)) continue;
      one.status = status;
      known = true;
    }
    one.hash = text_of("hash");
    one.folder = text_of("folder");
    one.after = text_of("after");
    one.reason = text_of("reason");
    if (!known || !config::is_name(name) || !is_entry(one.folder) || !is_entry(one.after))
      return damaged("cell " + name);
    state[name] = one;
  }
  return state;
}

Action next_action(const SweepState& state, const Cell& cell, bool retry, bool has_run) {
  const auto found = state.find(cell.name);
  if (found == state.end()) return Action::kBegin;
  switch (found->second.status) {
    case CellStatus::kFinished:
      return has_run ? Action::kSkip : Action::kBegin;
    case CellStatus::kFailed:
      return retry ? Action::kBegin : Action::kSkip;
    case CellStatus::kUnfinished:
      break;
  }
  return Action::kContinue;
}

std::string changed_cells(const SweepState& state, const Plan& plan) {
  std::string out;
  for (const auto& cell : plan.cells) {
    const auto found = state.find(cell.name);
    if (found != state.end() && found->second.hash != cell.hash)
      out += fmt::format("  {} ({})\n", cell.name, to_string(found->second.status));
  }
  return out;
}

}  // namespace swarm::sweep

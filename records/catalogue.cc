#include "records/catalogue.h"

#include <map>

namespace swarm::records {
namespace {

template <class... Events>
void add(std::vector<CatalogueRow>& rows, const char* writer, EventList<Events...>) {
  (rows.push_back({Events::kInfo, writer, list_fields<Events>()}), ...);
}

std::vector<CatalogueRow> make_catalogue() {
  std::vector<CatalogueRow> rows;
  add(rows, "launcher", LauncherEvents());
  add(rows, "node", NodeEvents());
  add(rows, "coordinator", CoordinatorEvents());
  add(rows, "coordinator", RepairEvents());
  add(rows, "coordinator", MembershipEvents());
  add(rows, "coordinator", PlacementEvents());
  add(rows, "peer", PeerEvents());
  add(rows, "peer", SnapshotEvents());
  return rows;
}

}  // namespace

const char* to_string(Level level) {
  static const char* const kNames[] = {"info", "warn", "error"};
  return kNames[static_cast<size_t>(level)];
}

const char* to_string(Lane lane) {
  static const char* const kNames[kLanes] = {"kills",      "pauses",       "lost",    "joined",
                                             "recoveries", "coordinators", "trouble", "run"};
  return kNames[static_cast<size_t>(lane)];
}

const std::vector<CatalogueRow>& catalogue() {
  static const std::vector<CatalogueRow> rows = make_catalogue();
  return rows;
}

const EventInfo* info_of(const std::string& name) {
  static const auto by_name = [] {
    std::map<std::string, const EventInfo*> out;
    for (const CatalogueRow& row : catalogue()) out[row.info.name] = &row.info;
    return out;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::optional<Lane> lane_of(const Event& event) {
  const EventInfo* info = info_of(event.name);
  if (info == nullptr || info->place == Place::kNone) return std::nullopt;
  if (info->place == Place::kByAction) {
    if (has_action(event, "kill") || has_action(event, "stop")) return Lane::kKill;
    if (has_action(event, "pause")) return Lane::kPause;
    return std::nullopt;
  }
  return static_cast<Lane>(static_cast<uint8_t>(info->place) - 1);
}

bool has_action(const Event& event, const std::string& action) {
  const auto timeline = event.as<TimelineAct>();
  const auto chaos = event.as<ChaosAct>();
  return (timeline && timeline->action == action) || (chaos && chaos->action == action);
}

}  // namespace swarm::records

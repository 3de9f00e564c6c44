/// Everything that can happen: the one list of events. An event is a struct in one of the files
/// below and its name in the list at that file's end; nothing else has to know it. Pure.
///
///   events->record(stage, step, records::PeerLost{node_name, "the link is lost"});   // write
///   if (const auto lost = event.as<records::PeerLost>()) count(lost->peer);          // read
#pragma once

#include "records/event.h"
#include "records/events/coordinator_events.h"
#include "records/events/launcher_events.h"
#include "records/events/membership_events.h"
#include "records/events/node_events.h"
#include "records/events/peer_events.h"
#include "records/events/placement_events.h"
#include "records/events/repair_events.h"
#include "records/events/snapshot_events.h"

namespace swarm::records {

struct CatalogueRow {
  EventInfo info;
  const char* writer;  ///< "node", "coordinator", "peer", "launcher"
  std::vector<FieldInfo> fields;
};

/// In the order of the files above, launcher first.
const std::vector<CatalogueRow>& catalogue();

/// Null for names off the catalogue.
const EventInfo* info_of(const std::string& name);

/// The row of a report that it stands in; nothing for a run's routine.
std::optional<Lane> lane_of(const Event& event);

/// Whether `swarm run` (timeline, chaos) did `action` to the node: kill, stop, start, pause, resume.
bool has_action(const Event& event, const std::string& action);

}  // namespace swarm::records

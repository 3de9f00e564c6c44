/// Events that a coordinator writes of the configurations of the swarm (docs/one_history.md). `step`
/// stands beside an event's own fields.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct Minority {
  static constexpr EventInfo kInfo{
      "minority", Level::kWarn, Place::kTrouble, kRemarkable,
      "Half of the swarm or less is here: this part waits for the rest, which may train. Told when "
      "it begins and when somebody comes or goes."};
  uint64_t number = 0, have = 0, of = 0;
  std::vector<std::string> missing;
  template <class Visitor>
  void fields(Visitor& v) {
    v("number", number, "of the newest configuration known to hold");
    v("have", have, "its voters that have answered");
    v("of", of, "its voters");
    v("missing", missing, "names of the others' nodes");
  }
};

struct Quorum {
  static constexpr EventInfo kInfo{"quorum", Level::kInfo, Place::kRecovery, kRemarkable,
                                   "A part that has waited goes on: more than half is here."};
  uint64_t have = 0, of = 0;
  double after_s = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("have", have, "voters that have answered");
    v("of", of, "voters of the configuration");
    v("after_s", after_s, "how long it has waited");
  }
};

struct ConfigurationHolds {
  static constexpr EventInfo kInfo{"configuration_holds", Level::kInfo, Place::kNone, kPlain,
                                   "Who has to agree from `step` on: more than half of the voters "
                                   "have stored this configuration."};
  uint64_t number = 0, voters = 0;
  std::vector<std::string> joined, left;
  bool gone_back = false, forced = false;
  std::optional<std::string> line{};
  std::optional<std::vector<std::string>> lines_before{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("number", number, "of the configuration");
    v("voters", voters, "how many");
    v("joined", joined, "names of those that the one before had not");
    v("left", left, "names of those that only the one before had");
    v("gone_back", gone_back, "more may have been committed in the one before, and is given up");
    v("forced", forced, "made without more than half of the one before");
    v("line", line,
      "where this history left another one: number of the newest forced one, and who made it");
    v("lines_before", lines_before, "likewise where it had left others before that, oldest first");
  }
};

struct OneTrainer {
  static constexpr EventInfo kInfo{
      "one_trainer", Level::kWarn, Place::kNone, kRemarkable,
      "Training begins or goes on, and no other node could coordinate: if this one is lost the run "
      "waits until it is back. A second node with `trainer = true` would take over."};
  template <class Visitor>
  void fields(Visitor&) {}
};

using MembershipEvents = EventList<Minority, Quorum, ConfigurationHolds, OneTrainer>;

}  // namespace swarm::records

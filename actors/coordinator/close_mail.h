/// The CloseSteps of one round, each with its receiver's slots only. The members are named in full
/// once: after that by the id of their list, so that what a peer is sent grows neither with the
/// others' slots nor, while nobody comes or goes, with their addresses. Pure.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "actors/coordinator/peer_book.h"
#include "actors/net/mail.h"
#include "common/run_text.h"
#include "common/strong_id.h"
#include "routing/steps/orders.h"
#include "routing/steps/round_rules.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

class CloseMail {
 public:
  /// `text`: the run's.
  CloseMail(const routing::orders::CloseStep& order, const PeerBook& book, Term term,
            uint32_t microbatch, const RunText& text);

  /// Equal lists of members have equal ids.
  uint64_t members_id() const { return brief_.members_id(); }
  /// Requires a member. `in_full`: names all of them.
  Mail to(const PeerId& member, bool in_full) const;

 private:
  proto::CloseStep brief_;  // without members and slots
  std::vector<proto::Peer> members_;
  std::map<PeerId, routing::BroughtBy> counted_;
};

/// Which peers were told the members of their stage in full. One that has forgotten them, or never
/// got them, says so (NOT_FOUND): this need not be exact.
class ToldMembers {
 public:
  /// Whether the list `id` is new to `peer`; from now on it is not.
  bool is_new(Stage stage, uint64_t id, const PeerId& peer);

 private:
  struct Told {
    uint64_t id = 0;
    std::set<PeerId> peers;
  };
  std::map<Stage, Told> stages_;
};

}  // namespace swarm::actors

/// Trainers that wait for slots: first come, first served, for a moment each (design Sec. 5).
///
/// Pure: time is an argument. One owner: the Coordinator, which keeps a promise for every ticket.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/steps/step_ledger.h"
#include "routing/time.h"

namespace swarm::routing {

/// Slots of one step, as a trainer is told; none: ask again.
struct Leases {
  struct Leased {
    SlotLease lease;
    std::vector<LedgerHop> avoid;  ///< Peers to carry it round.
  };
  Step step;
  std::vector<Leased> slots;
  bool step_waits = true;  ///< For the last of them: none may be left behind.
};

class LeaseDesk {
 public:
  /// Names one waiting request; drawn by the owner, never used twice.
  using Ticket = uint64_t;
  struct Delivery {
    Ticket ticket = 0;
    Leases leases;
  };
  /// Leases up to so many slots to the trainer; without any slots there are none for now.
  using Source = std::function<Leases(const ActorId& trainer, uint32_t max_slots)>;

  /// A request waits until `give_up_at`. At most kMostSlots are leased at once. Errors:
  /// kInvalidArgument (no slot is asked for: nothing could ever answer that).
  Status wait(Ticket ticket, const ActorId& trainer, uint32_t max_slots, Time give_up_at);

  /// The requests that can be answered now, in the order they came.
  std::vector<Delivery> serve(const Source& source);
  /// Those whose time is up; all of them when training is `over`. To be answered without slots.
  std::vector<Ticket> expire(Time now, bool over);
  /// Takes out what a node's trainers have asked for; to be answered without slots, or, if the node
  /// is gone, by nothing.
  std::vector<Ticket> withdraw(const NodeId& node);
  /// Takes out all.
  std::vector<Ticket> clear();

  size_t waiting() const { return waiting_.size(); }

  static constexpr uint32_t kMostSlots = 64;

 private:
  struct Waiting {
    Ticket ticket = 0;
    ActorId trainer;
    uint32_t max_slots = 0;
    Time give_up_at{};
  };
  std::deque<Waiting> waiting_;
};

}  // namespace swarm::routing

/// Finds the first node of the swarm, and finds again those that were lost: a cut may heal that left each part
/// without the nodes that all had joined through. Belongs to one DhtNode and runs in it.
#pragma once

#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/dht/dht_node.h"
#include "routing/dht/lost_contacts.h"

namespace swarm::actors {

using join_tick_atom = caf::atom_constant<caf::atom("dhtjoin")>;

class DhtJoining {
 public:
  /// `deps` outlives it. `met`: somebody has answered. `contacts`: how many there are.
  DhtJoining(caf::event_based_actor* self, const DhtDeps& deps,
             std::function<void(const routing::Contact&)> met, std::function<size_t()> contacts);

  /// Dials until there is a contact; the pause between the rounds doubles.
  void begin();
  void tick();
  /// Who of `join` is none of `known` is dialled once more, and some of those that were lost.
  void refresh(const std::vector<routing::Contact>& known);
  void lost(const routing::Contact& contact);
  void heard_from(const routing::Contact& contact) { lost_.heard_from(contact); }
  /// Of `join`.
  std::vector<JoinFailure> failures() const;

 private:
  double now_s() const;
  void dial(const Endpoint& where, bool joins);

  caf::event_based_actor* self_;
  const DhtDeps& deps_;
  std::function<void(const routing::Contact&)> met_;
  std::function<size_t()> contacts_;
  int rounds_ = 0;  ///< Without meeting anybody.
  bool joining_ = false;
  std::map<std::string, JoinFailure> failures_;  ///< By address.
  routing::LostContacts lost_;
};

}  // namespace swarm::actors

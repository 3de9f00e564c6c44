/// The coordinator's word about the state that a peer fetches, against what neighbours hand it
/// (docs/training_protocol.md, "The end of a step").
///
/// Pure; not thread-safe; one owner.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "common/ids.h"
#include "routing/state/state_label.h"

namespace swarm::routing {

class ToldState {
 public:
  /// The newest word; nothing: the coordinator knows none.
  void told(const std::optional<StateLabel>& word) { word_ = word; }
  /// `offered` is of the same step as the word, not of a history known to be another, and has other bits.
  /// A peer cannot tell which of two histories goes on: that is for the coordinator to see.
  bool contradicts(const StateLabel& offered) const {
    return word_ && word_->step == offered.step && goes_with(offered.history, word_->history) &&
           word_->checksum != offered.checksum;
  }
  /// Of the word; 0: there is none.
  uint64_t checksum() const { return word_ ? word_->checksum : 0; }

  /// What this neighbour handed over was not it. False: that was known.
  bool refuse(const ActorId& source) { return refused_.insert(source).second; }
  bool refused(const ActorId& source) const { return refused_.count(source) != 0; }
  /// The peer has a state that is believed.
  void forget() { refused_.clear(); }

 private:
  std::optional<StateLabel> word_;
  std::set<ActorId> refused_;
};

}  // namespace swarm::routing

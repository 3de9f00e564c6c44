/// When a node may leave because training is finished. Pure: time is an argument.
#pragma once

#include <optional>
#include <tuple>

#include "common/ids.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// What an active coordinator says of the run.
struct RunWord {
  Term term;
  NodeId node;
  bool finished = false;
};

/// Told what coordinators say, knows since when training is finished. Only the coordinator that said
/// so takes it back (a swarm may have to go back even from its end); that its successor gathers
/// while nodes leave does not.
class Ending {
 public:
  void hear(const RunWord& word, double now_s) {
    if (word.finished) {
      if (!since_s_) since_s_ = now_s;
      said_by_ = {word.term, word.node};
    } else if (since_s_ && said_by_ == std::make_tuple(word.term, word.node)) {
      since_s_.reset();
    }
  }
  bool finished() const { return since_s_.has_value(); }
  /// It has been finished for `linger_s`.
  bool may_leave(double now_s, double linger_s) const {
    return since_s_ && now_s - *since_s_ >= linger_s;
  }

 private:
  std::optional<double> since_s_;
  std::tuple<Term, NodeId> said_by_{};
};

}  // namespace swarm::routing

/// When a node may leave because training is finished. Pure: time is an argument.
#pragma once

#include <algorithm>
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
  /// It has a step open that changes the model. The last validation, which a successor does again,
  /// is none: nodes may leave meanwhile, and it might never end.
  bool trains = false;
};

/// Told what coordinators say, knows since when training is finished. The coordinator that said so
/// takes it back (a swarm may have to go back even from its end), or a later one that trains on;
/// that its successor gathers while nodes leave does not.
class Ending {
 public:
  void hear(const RunWord& word, double now_s) {
    if (word.finished) {
      if (!since_s_) since_s_ = now_s;
      said_by_ = {word.term, word.node};
    } else if (since_s_) {
      const auto says = std::make_tuple(word.term, word.node);
      if (says == said_by_ || (says > said_by_ && word.trains)) since_s_.reset();
    }
  }
  bool finished() const { return since_s_.has_value(); }
  /// Somebody is at the node's records.
  void read(double now_s) { read_s_ = now_s; }
  /// It has been finished for `linger_s`, and whoever was at the records has not come back for
  /// kReaderGone_s (or `linger_s`, if that is less).
  bool may_leave(double now_s, double linger_s) const {
    const bool quiet = !read_s_ || now_s - *read_s_ >= std::min(linger_s, kReaderGone_s);
    return since_s_ && now_s - *since_s_ >= linger_s && quiet;
  }
  static constexpr double kReaderGone_s = 60;

 private:
  std::optional<double> since_s_, read_s_;
  std::tuple<Term, NodeId> said_by_{};
};

}  // namespace swarm::routing

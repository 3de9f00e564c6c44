/// Nodes that fail again and again: such a one rests, longer each time, so that it cannot hold its stage
/// up for ever. By the node's name: a process that is started again has what the one before had.
///
///   in ten minutes      of this kind make a node rest; of several kinds each counts as its part
///   kWrong     2        its numbers are wrong: once may be chance, twice is the machine
///   kHung      2        a job of its device, or an update, does not end
///   kSilent    3        it said nothing in a round that others failed for it, though it was linked
///   kLost     20        it was gone while it served. One that is killed every minute stays below; losses
///                       of several nodes at a time are of the network, and count for none
///
/// After a rest half of that is enough; an hour after it, if there was no other, one rest is forgotten.
///
/// Pure: time is an argument.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "routing/time.h"

namespace swarm::routing {

class Strikes {
 public:
  enum class Kind { kWrong, kHung, kSilent, kLost };

  /// A strike is forgotten after that.
  static constexpr Time kMemory = std::chrono::minutes(10);
  /// So long after a rest one rest is forgotten.
  static constexpr Time kGoodService = std::chrono::hours(1);
  /// Losses of two nodes within that have one reason.
  static constexpr Time kTogether = std::chrono::seconds(2);
  /// Nodes that are remembered.
  static constexpr size_t kMost = 1024;
  /// In kMemory.
  static int limit(Kind kind);

  /// Something was wrong with `node`. True: it is due to rest, if it can be spared.
  bool strike(const std::string& node, Kind kind, Time now);
  /// It rests from now on: for 1, 5, then 30 minutes.
  Time rest(const std::string& node, Time now);
  /// How long it still rests.
  std::optional<Time> rests(const std::string& node, Time now) const;
  /// It is needed.
  void call_back(const std::string& node);
  /// Whose rest is over since the last call.
  std::vector<std::string> rested(Time now);
  size_t remembered() const { return nodes_.size(); }

 private:
  struct Fault {
    Time at{};
    Kind kind{};
  };
  struct Record {
    std::vector<Fault> faults;
    Time rests_until{}, good_since{};
    int rests = 0;
    bool resting = false;
  };
  bool excuse_losses(const std::string& node, Time now);
  void forget(Time now);

  std::map<std::string, Record> nodes_;
  struct {
    std::string node;
    std::optional<Time> at;
  } last_lost_;
};

}  // namespace swarm::routing

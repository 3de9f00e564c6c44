/// Which nodes of a simulated swarm cannot reach which: faults overlap, and outlive processes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/sim/swarm.h"

namespace swarm::sim {

class Cuts {
 public:
  using Names = std::vector<std::string>;
  /// Of one direction each: what the first sends does not reach the second.
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  /// `swarm` outlives this.
  explicit Cuts(Swarm& swarm) : swarm_(swarm) {}

  /// Every one of `left` with every one of `right`.
  static Pairs between(const Names& left, const Names& right, bool to_right = true,
                       bool to_left = true);

  /// A pair that several have cut is connected again when as many have joined it.
  void cut(const Pairs& pairs);
  void join(const Pairs& pairs);
  void cut_for_good(const Pairs& pairs);
  /// Nobody can dial the node, for good.
  void close_to_dials(const std::string& name);
  /// The node has a new process: the cables are as they were.
  void started(const std::string& name);
  /// Joins all but what is for good.
  void heal();

 private:
  bool are_alive(const std::string& a, const std::string& b) const;
  /// Between `name` and those that cannot be dialled.
  void refuse_dials(const std::string& name);

  Swarm& swarm_;
  std::map<std::pair<std::string, std::string>, int> cuts_;
  Pairs lasting_;
  std::set<std::string> undialled_;
};

}  // namespace swarm::sim

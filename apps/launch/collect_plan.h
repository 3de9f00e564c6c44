/// Decides what a call of collecting takes, what it still lacks, and whether nodes may be told that
/// all of theirs is held: over all its rounds (docs/collecting.md). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "apps/launch/node_source.h"

namespace swarm::launch {

class CollectPlan {
 public:
  /// Of which step each stage's snapshot is taken in this round: the newest of which every stage has
  /// one, at a node that answers or in the folder already.
  struct Choice {
    std::optional<uint64_t> step;
    std::string word;  ///< For people, if there is anything to say.
  };
  /// `here`: what the folder holds, a node each. What was said of snapshots in earlier rounds counts
  /// no more, but for those that are damaged at their node.
  Choice begin_round(const std::vector<Holdings>& here, const std::vector<Holdings>& answering);

  /// A snapshot of the chosen step is here.
  void has_snapshot(uint32_t stage);
  /// That node could not give it, though it answers: it is damaged there, or was pruned.
  void gave_no_snapshot(const std::string& node, const HeldSnapshot& which, const Error& why);

  /// All of the node but for damaged snapshots is here: from now on, whatever becomes of it.
  /// `where`: at which address.
  void gave_all(const std::string& node, const std::string& where = {});
  /// A node, or who is at an address, owes something.
  void owes(const std::string& who, const std::string& why);
  /// After the merge: the nodes that the experiment names.
  void expects(const std::vector<std::string>& nodes);

  /// A line for each thing that is missing; empty: all is here, so nodes may be told, and the exit
  /// code is 0.
  std::vector<std::string> lacks() const;

 private:
  using Held = std::tuple<std::string, uint32_t, uint64_t>;  // node, stage, step

  void remember_lost();
  std::string stage_line(uint32_t stage) const;

  uint32_t num_stages_ = 0;
  std::optional<uint64_t> step_;              // of this round
  std::string no_step_;                       // why there is none, if there should be one
  std::set<uint32_t> obtained_;               // of step_
  std::map<uint32_t, std::string> refusals_;  // by stage, of step_
  std::set<uint32_t> pruned_;                 // stages of step_ that somebody had pruned
  std::set<Held> damaged_;
  std::map<std::pair<uint64_t, uint32_t>, std::string> lost_;  // (step, stage): damaged everywhere
  std::map<std::string, std::string> owed_;                    // who -> why
  std::set<std::string> whole_, here_, expected_;              // names of nodes
};

/// The newest step of which each of `num_stages` stages is held by somebody; kNotFound if there is
/// none. Pure.
Result<uint64_t> newest_held_step(const std::vector<Holdings>& nodes, uint32_t num_stages);

}  // namespace swarm::launch

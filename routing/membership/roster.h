/// Who is here: what every registered peer says of itself and what the coordinator knows of it, and
/// the trainers. Answers questions about them; decides nothing.
///
/// Pure. One owner, the Coordinator; the parts that it asks read and mark the same roster.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/averaging/part_weights.h"
#include "routing/membership/configuration.h"
#include "routing/membership/job_times.h"
#include "routing/membership/recovery.h"
#include "routing/time.h"

namespace swarm::routing {

/// The loss of a slot, as the peer of the last stage remembers it.
struct SlotLoss {
  Slot slot;
  double loss_sum = 0;
  uint32_t samples = 0;  ///< Never 0.
};

/// Of a peer's snapshots.
struct SaveReport {
  Time limit{};         ///< For one on its disk.
  uint32_t failed = 0;  ///< In a row until now.
  std::string error{};  ///< Of the last of them.
};

/// Of a peer's work since it registered before, and of its way to another stage (docs/elastic.md).
struct WorkReport {
  double running = 0, queued = 0, done_per_s = 0;  ///< As LoadReport.
  bool may_move = false;                           ///< Its node can give it another stage.
  uint64_t moves_by = 0;                           ///< The order that it is carrying out; 0: none.
  Term moves_term;                                 ///< Of the coordinator that gave it.
};

/// What a peer said when it registered last, corrected by what it answered since.
struct PeerReport {
  bool has_state = false;
  Step step;        ///< Updates applied.
  History history;  ///< Of its state; 0: not known.
  Step open_step;   ///< Whose microbatches it serves.
  std::vector<Step> snapshots;
  std::map<Step, History> snapshot_histories;  ///< As far as they are known.
  std::vector<std::pair<Slot, Attempt>> held;  ///< (slot, attempt), as last reported.
  std::vector<SlotLoss> losses;                ///< Of `held`, where it is known.
  bool has_average = false;
  Round round;
  double last_gradient_norm = 0;
  std::vector<Round> commit_rounds;  ///< By stage: of the commit that led to `step`, as CommitStep.
  bool state_came = false;  ///< From elsewhere: `round` and the norm are not those of its step.
  bool changed_at_rest = false;  ///< Before its last update (Replica).
  uint64_t checksum = 0;         ///< Of the parameters; 0: has trained since it was computed.
  uint32_t swarm_peers = 0;      ///< That were here when it was told to serve last.
  /// Of a learner: how much of its state it has. It has no part in anything until it has a state.
  uint64_t learned_bytes = 0, state_bytes = 0;
  double needs_bytes_per_s = 0, has_bytes_per_s = 0;  ///< Likewise, as LearnPace; 0: not known.
  SaveReport saves;
  DeviceReport device;
  MemberLink link{};           ///< Of its node; `contributes` says nothing.
  uint64_t average_bytes = 0;  ///< That it sends of its own in a round.
  bool keeps_copies = false;   ///< For its node; see routing/membership/copies.h.
  std::vector<StoredCopy> copies;
  /// Of the lines of history that its node gave up, the last that it has set aside; 0: none.
  uint64_t line_left = 0;
  ConfigurationNumber kept_before;  ///< What it had before this one lies aside.
  uint32_t node_peers = 0;          ///< Of its node, itself included; 0: not known.

  bool learns() const { return state_bytes > 0; }
  /// It has all that was applied but the last update, or all of a state but the last updates.
  bool ready(Step applied) const {
    return learns() ? learned_bytes >= state_bytes : has_state && step + 1 >= applied;
  }
};

/// What a round of averaging left.
struct RoundChecksum {
  Round round;
  uint64_t checksum = 0;  ///< Of the parameters; where they have gone on meanwhile, of the average.
};

struct PeerFacts : PeerReport {
  std::string node_name;
  Stage stage;
  bool reachable = false;       ///< Mail can be sent to it.
  bool reported = false;        ///< Registered since the gathering began.
  bool serving = false;         ///< Member at the open step.
  bool commit_pending = false;  ///< A commit is under way to it.
  bool set_aside = false;       ///< It is parted from others of its stage, for now.
  bool late_save = false;       ///< Was asked for the last snapshot after the end.
  bool told_failing = false;    ///< Somebody was told that its snapshots fail.
  bool sum_refused = false;     ///< It is to be told to drop its gradient sum.
  uint64_t wrong_checksum = 0;  ///< Of a state that is not believed; 0: of none.
  /// In place of a checksum that is not known: it has trained since.
  static constexpr uint64_t kWrongAnyhow = ~uint64_t{0};
  std::optional<Step> checksum_step;  ///< Whose parameters `checksum` is of, if known.
  /// Asynchronous: of its last round.
  std::optional<RoundChecksum> after_round;
  std::optional<Time> ahead_since;  ///< It has a later step in memory than the swarm.
  std::optional<Step> fetch_from;   ///< Asynchronous: the period when it was told to fetch.
  std::optional<Time> silent_at;    ///< In a round; until its device has another job.
  bool leaves = false;              ///< It was told to, and says so: its end is no failure.
  bool departs = false;             ///< It waits for the moment to leave its stage.
};

class Roster {
 public:
  explicit Roster(uint32_t num_stages) : num_stages_(num_stages) {}

  // -- peers
  using Peers = std::map<PeerId, PeerFacts>;
  Peers& peers() { return peers_; }
  const Peers& peers() const { return peers_; }
  PeerFacts* find(const PeerId& id);
  const PeerFacts* find(const PeerId& id) const;
  uint32_t num_stages() const { return num_stages_; }

  /// A peer registered. What it says of its state is older than the answer of a commit that is
  /// under way to it, and not taken then. True if it was not known.
  bool report(const PeerId& id, Stage stage, const std::string& node_name,
              const PeerReport& report);
  void remove(const PeerId& id) { peers_.erase(id); }
  /// A peer that will register: it is of this stage. True if it was not known.
  bool expect(const PeerId& id, Stage stage, const std::string& node_name);
  /// Actors of the same node and role as `id` that it replaces: a node's link stays up when one of
  /// its actors is started again.
  std::vector<PeerId> predecessors(const PeerId& id) const;
  std::vector<PeerId> peers_of(const NodeId& node) const;

  std::vector<PeerId> serving(Stage stage) const;
  /// Another node serves its stage, and can be reached.
  bool is_spare(const PeerId& id) const;
  /// One on another node than `node`.
  bool other_node_serves(Stage stage, const NodeId& node) const;
  std::vector<uint32_t> serving_by_stage() const;
  size_t serving_in_all() const;
  /// The first stage that nobody serves.
  std::optional<Stage> unserved_stage() const;
  /// The first stage of which nobody has registered since the gathering began.
  std::optional<Stage> silent_stage() const;
  /// Nobody of these is known, whether registered anew or not.
  std::vector<Stage> unknown_stages() const;
  /// Who does not serve and needs a moment to come in: so many updates are applied.
  std::vector<PeerId> newcomers(Step applied) const;
  uint32_t reported() const;
  /// Every stage has a serving peer with a durable snapshot of this step or a later one.
  bool everywhere(Step step) const;
  /// The newest step of whose every stage a serving peer has a durable snapshot, its own or a copy for another stage:
  /// after going back to copies there is nothing else yet. All are of one history.
  std::optional<Step> newest_everywhere() const;
  /// So many of a peer's snapshots have failed in a row that people should hear of it: true once,
  /// until one succeeds.
  bool begins_to_fail(const PeerId& id);
  /// What those that reported can supply.
  std::vector<PeerSupply> supplies() const;

  // -- trainers
  /// True if it was not known.
  bool add_trainer(const ActorId& trainer) { return trainers_.insert(trainer).second; }
  void remove_trainer(const ActorId& trainer) { trainers_.erase(trainer); }
  std::vector<ActorId> trainers_of(const NodeId& node) const;
  size_t num_trainers() const { return trainers_.size(); }

  void clear();

 private:
  uint32_t num_stages_;
  Peers peers_;
  std::set<ActorId> trainers_;
};

/// Bytes that nodes have sent, by traffic class: each node once, whatever its number of roles.
class NodeTraffic {
 public:
  using Bytes = std::vector<uint64_t>;
  /// `sent`: the node's counters since its start. They never fall: what one role says late takes
  /// nothing from what another has said.
  void report(const NodeId& node, const Bytes& sent);
  void forget(const NodeId& node) { sent_.erase(node); }
  void clear() { sent_.clear(); }
  /// By all nodes since the last call, `classes` entries. A node that was forgotten takes its
  /// counters with it.
  Bytes since_last(size_t classes);
  /// By all nodes since their start, all but control mail (the first class).
  uint64_t work_bytes() const;

 private:
  std::map<NodeId, Bytes> sent_;
  Bytes before_;
};

}  // namespace swarm::routing

/// Peers on their way to another stage, and newcomers on theirs to the first (docs/elastic.md): asks
/// Placement, keeps its orders by number until they are carried out, and answers those that have one.
///
///     ordered -> left (may_leave: yes) -> arrived (registers with the stage) -> done (serves)
///        '---------------+--------------------'--> given up: lost, too late, not allowed, another stage
///
/// An order is told again until the peer shows it. Orders are of a term: those of others have lapsed.
/// While the swarm gathers levy() asks Conscription; its orders are carried out then, all others not.
/// What is remembered of a peer is by its *place*, which is its node and role without the role's life.
///
/// Pure; `now` never falls. One owner: the Coordinator. Marks peers of the roster (departs).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/membership/conscription.h"
#include "routing/membership/departure.h"
#include "routing/membership/placement.h"
#include "routing/membership/roster.h"
#include "routing/steps/schedule.h"

namespace swarm::routing {

/// What people should hear of; peers by the names of their nodes.
struct MoveOrdered {
  std::string peer;
  uint64_t number = 0;
  PlacementOrder order;
};
struct MoveDone {
  std::string peer;
  Stage to;
  Time took{};
  uint64_t bytes = 0;  ///< Of the stage's state, as far as known.
};
struct MoveGivenUp {
  std::string peer;
  Stage to;
  std::string reason;
};
/// Told when it changes.
struct MovesHeld {
  PlacementHold hold;
};
/// A stage has lost its peers, and nobody is sent there.
struct ConscriptionHeld {
  Stage stage;
  ConscriptionHold hold;
  std::string missing;
};
using MoveNote = std::variant<MoveOrdered, MoveDone, MoveGivenUp, MovesHeld, ConscriptionHeld>;

/// What the gathering and the voters say, while the swarm gathers.
struct Levy {
  std::vector<PeerSupply> supplies;
  std::set<NodeId> barred{};     ///< Of another line of history.
  bool agreed = false;           ///< As Muster.
  bool others_may_lead = false;  ///< Who have not tried since a step was opened.
  /// By stage: the places of those that announce themselves, whom the others that may lead may reach.
  std::map<Stage, std::set<PeerId>> announced{};
};

/// What a mover that asks is told.
struct LeaveAnswer {
  enum class Kind {
    kYes,  ///< It is to be taken out of its stage in this moment, and no later registration counts.
    kAgain,  ///< Yes, as before.
    kNo,
    kLater,
  };
  Kind kind = Kind::kNo;
  std::string reason{};
};

/// Node and role, without the role's life.
PeerId place_of(const PeerId& id);

class Relocation {
 public:
  /// `roster` outlives this.
  Relocation(uint32_t stages, bool asynchronous, const PlacementOptions& options, Roster& roster);

  /// This node leads; before, and after end(), nobody is told anything.
  void begin(Term term, Time now);
  void end(Time now);

  // -- peers
  /// The order that a peer has; number 0: none.
  struct Told {
    uint64_t number = 0;
    Stage to;
    bool shown = false;      ///< It has said that it carries it out.
    bool conscript = false;  ///< It goes though it does not serve.
  };
  /// `id` stands in the roster; to be called when it is known whether it serves.
  Told registered(const PeerId& id, const WorkReport& work, Time now);
  /// It serves no stage and asks for one.
  Told wants_stage(const PeerId& id, const std::string& node_name, double bytes_per_s, Time now);
  /// The order by which it has left its stage; 0: none. It is no peer any more, whatever it says.
  uint64_t left_by(const PeerId& id) const;
  /// It registers. Who does not show the order by which it left never heard that it might: it is a peer as any.
  void comes_back(const PeerId& id, const WorkReport& work, Time now);
  /// It was told to leave the swarm.
  void leaves(const PeerId& id, Time now);
  void lost(const NodeId& node, Time now);
  /// At every tick. `open`: the swarm trains.
  void look(bool open, Time now);
  /// At every tick while it gathers.
  void levy(const Levy& levy, Time now);
  const Conscription& conscription() const { return conscription_; }
  /// `levy`: while the swarm gathers.
  LeaveAnswer may_leave(const PeerId& id, uint64_t number, Term term, const Schedule& schedule,
                        Time now, const std::optional<Levy>& levy = std::nullopt);

  // -- operators
  /// `peer`: a node's name, or NAME/ROLE where it serves several stages. Errors: kInvalidArgument
  /// (also of a peer that there is not: kNotFound would say that the coordinator is gone), kRefused.
  Result<PlacementOrder> send(const std::string& peer, Stage to, Time now);
  /// As if the period had ended, whatever the options say. Errors: kNotReady (the swarm gathers).
  Result<PlacementDecision> rebalance(Time now);

  /// What has happened since the last call.
  std::vector<MoveNote> take_notes();
  /// As events name it.
  std::string name_of(const PeerId& place) const;

 private:
  struct Known {
    std::string node_name;
    std::optional<LoadReport> load;
    Time since{};  ///< That it has told of this stage.
    bool may_move = false;
  };
  struct Waiting {
    PeerId place;
    std::string node_name;
    double bytes_per_s = 0;
    Time at{};
  };
  struct Mover {
    PlacementOrder order;
    std::string node_name;
    Time since{};
    std::optional<Round> asked_in;  ///< Asynchronous: as departure().
    bool left = false, arrived = false;
  };
  using Movers = std::map<uint64_t, Mover>;

  /// What may be decided; nothing: who could still come decides more.
  std::optional<Placement::Scope> scope(Time now) const;
  bool shows(const WorkReport& work, uint64_t number) const;
  /// With `surely`, only who is there without a doubt serves.
  PlacementView view(Time now, bool surely = false) const;
  bool is_here(const PeerFacts& peer, const Known& known, Time now) const;
  /// Without those that have been ordered to leave, but for `leaver`.
  Muster muster(const Levy& levy, Time now, const PeerId* leaver = nullptr) const;
  /// Who was to take over a stage and has not left its own, or does not come to one that nobody serves.
  void recall(bool open, Time now);
  PlacementDecision decide(Time now, Placement::Scope scope);
  void keep(const PlacementOrder& order, Time now);
  void drop_lapsed(Time now);
  void hear(Known& known, Stage stage, const WorkReport& work, Time now) const;
  void learn_bytes(const PeerFacts& peer);
  Movers::iterator mover_of(const PeerId& place);
  void give_up(Movers::iterator mover, const std::string& reason, Time now);
  void drop(Movers::iterator mover, const std::string& reason);

  const PlacementOptions options_;
  Roster& roster_;
  Term term_;
  std::optional<Placement> placement_;
  Conscription conscription_;
  std::map<PeerId, Known> known_;
  std::map<NodeId, Waiting> waiting_;  ///< One of a node.
  Movers movers_;                      ///< By number.
  uint64_t numbers_ = 0;               ///< Given in this term.
  std::map<PeerId, uint64_t> left_;
  std::vector<double> state_bytes_;  ///< By stage; 0: not known.
  std::optional<Time> open_since_, lost_at_;
  Time quiet_since_{};                     ///< No peer came since, nor has a gathering begun.
  size_t peers_ = 0;                       ///< At the last look, as is
  std::optional<Placement::Scope> scope_;  ///< what might be decided.
  bool changed_ = false;                   ///< Somebody came since.
  PlacementHold hold_ = PlacementHold::kNone;
  std::vector<MoveNote> notes_;
};

}  // namespace swarm::routing

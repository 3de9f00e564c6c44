/// Conscription (docs/elastic.md): a stage that has lost all its peers for good is taken over by peers of
/// other stages, from the newest step that every stage can supply.
///
/// A stage is lost when this coordinator has seen nobody of it for `gone_after`, while the swarm gathers: a
/// process that comes back meanwhile serves as before. Only a coordinator with which more than half agree, or
/// that was told to go on without them, may say so: a part that is cut off has lost nothing. Nor is a stage
/// lost whose peers announce themselves, as long as somebody else may lead, whom they may reach.
///
/// Who is ordered comes from the stage with the most peers, and preferably has the step on its disk. No stage
/// gives a peer that it needs to begin, and nobody goes whose absence would cost a step.
///
/// Pure; `now` never falls. One owner: Relocation, which keeps and tells the orders.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/membership/recovery.h"
#include "routing/time.h"

namespace swarm::routing {

struct ConscriptionOptions {
  Time gone_after{};  ///< 0: nobody is ever conscripted.
  uint32_t min_peers_per_stage = 1;
  bool asynchronous = false;  ///< Stages need not be at one step.
};

/// A peer that has registered since the swarm gathers.
struct MusteredPeer {
  PeerSupply supply;
  std::string node_name;
  bool may_move = false;  ///< It is surely here, and its node can give it another stage.
  bool rests = false;     ///< It has moved lately, or did not when it was to: others first.
  /// Others may have what it saved of its stage, once it serves another one.
  bool leaves_copies = false;
  /// Else, though it has registered, it may be gone: its stage is not left to it.
  bool here = true;
};

/// What is known of the swarm, each peer once; of one said twice the first counts.
struct Muster {
  std::vector<MusteredPeer> peers;
  std::vector<uint32_t>
      own;  ///< By stage: peers that are known, whether they have registered or not,
  std::vector<uint32_t> sent;  ///< and those that somebody has sent there, arrived or not.
  /// By stage: those that announce themselves and do not reach this coordinator, while others that may lead
  /// have not tried; empty: nobody does.
  std::vector<uint32_t> unreached{};
  bool agreed = false;    ///< More than half are here, or need not be.
  bool complete = false;  ///< All who are known have registered, or do not for too long.
};

struct ConscriptionOrder {
  PeerId peer;
  Stage from, to;
  Step step;              ///< That every stage can supply; the swarm is to go on from there.
  bool has_copy = false;  ///< It has that of `to` on its disk.
  uint32_t from_peers = 0, to_peers = 0;  ///< Before it, with those sent.
};

enum class ConscriptionHold {
  kNone,
  kWaits,     ///< For those that may come back, or were sent.
  kNoQuorum,  ///< The others may go on elsewhere.
  kNoCopy,    ///< There is no step that every stage can supply.
  kNoGiver,   ///< Those that have more peers than they need to begin can spare none.
};
const char* to_string(ConscriptionHold hold);

struct ConscriptionDecision {
  std::vector<ConscriptionOrder> orders;
  ConscriptionHold hold = ConscriptionHold::kNone;  ///< Why nobody (more) was ordered.
  Stage stage{};                                    ///< With a hold: that nobody serves.
  std::string missing{};                            ///< With a hold but kWaits: for people.
  bool tell = false;                                ///< They are to hear of it now.
};

class Conscription {
 public:
  /// A hold is told when it has lasted so long, or `gone_after` if that is less: a restart is none.
  static constexpr Time kTellAfter = std::chrono::seconds(5);
  /// Between two orders: who was told may have to say that it cannot.
  static constexpr Time kOrderAgain = std::chrono::seconds(2);
  /// When only the words have changed.
  static constexpr Time kTellAgain = std::chrono::seconds(60);

  Conscription(uint32_t stages, const ConscriptionOptions& options);

  bool ever() const { return options_.gone_after > Time(); }

  /// This node leads from now on, or the swarm trains: nobody has been missing.
  void begin();
  /// A node has a snapshot of a stage: what people are told when it is gone.
  void saw(Stage stage, const std::string& node_name, Step step);

  /// To be asked now and then while the swarm gathers.
  ConscriptionDecision decide(const Muster& muster, Time now);
  /// Asked again when one that was ordered is about to leave its stage.
  bool may_leave(const PeerId& peer, Stage to, const Muster& muster) const;
  /// By the last decision: stages without peers are taken over, or are going to be.
  bool acts() const;
  /// Likewise, what stands in the way; empty: nothing does.
  const std::string& missing() const { return last_.missing; }

 private:
  using Peers = std::vector<const MusteredPeer*>;
  struct Draft;  ///< Peers, those that are moved, and what the swarm could go on from.

  /// Of which nobody of their own is here, in order.
  std::vector<Stage> watch(const Muster& muster, const Draft& draft, Time now);
  ConscriptionDecision decided(const Muster& muster, Time now);
  std::string who_had(Stage stage) const;

  const uint32_t stages_;
  const ConscriptionOptions options_;
  std::vector<std::optional<Time>> missing_since_;  ///< By stage.
  std::vector<std::map<std::string, Step>> had_;    ///< Likewise: the newest step, by node.
  ConscriptionDecision last_;
  std::optional<Time> ordered_at_;
  Time holds_since_{};           ///< As the last decision.
  std::optional<Time> told_at_;  ///< That.
  std::string told_;
};

}  // namespace swarm::routing

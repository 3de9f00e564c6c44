/// Finds the active coordinator and sends it mail; part of the state of StageServers and Trainers.
///
/// The coordinator is the active record with the highest (term, node id) under the DHT's name
/// "coordinator". A lost link makes this ask again at once; a coordinator that answers is asked for
/// in the DHT now and then only, or all nodes would ask the few that keep its record all the time.
/// Not an actor: used only from the handlers of its owner.
#pragma once

#include <algorithm>
#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/dht/dht_node.h"
#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/mail.h"
#include "actors/node/options.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/membership/dead_records.h"
#include "routing/membership/term_lead.h"

namespace swarm::actors {

struct CoordinatorClientDeps {
  caf::event_based_actor* self = nullptr;
  caf::actor links;
  caf::actor dht;
  /// Between two questions while nobody is known; doubles up to kLongestRetry.
  std::chrono::milliseconds retry_every{100};
  /// Called when another coordinator (or another term) is followed.
  std::function<void()> on_change;
  /// No record of a coordinator outlives its publication by more.
  std::chrono::milliseconds record_ttl = DhtOptions().silent_after();
  /// Between two questions while the one that is followed answers: how long a peer may follow one
  /// that a part of the swarm has left, and that it alone can reach.
  std::chrono::milliseconds ask_every = DhtOptions().refresh_every;
};

class CoordinatorClient {
 public:
  using Done = std::function<void(Result<Mail>)>;
  explicit CoordinatorClient(CoordinatorClientDeps deps);

  static constexpr std::chrono::milliseconds kLongestRetry{500};

  /// Asks the DHT if there is a reason to; call on a timer.
  void tick();
  /// Asks the DHT.
  void refresh();
  /// The link to `node` is gone; if it was the coordinator's, another is looked for at once.
  void node_down(const NodeId& node);
  /// A message of this term was seen, which came over the link to `from` (none: from this process, or
  /// in answer to an own request). Errors: kStaleTerm (a newer coordinator is known), kRefused (a term
  /// that is not `from`'s, or too far above all that are known).
  Status accept(Term term, const std::optional<NodeId>& from);

  bool known() const { return proxy_ != nullptr; }
  Term term() const { return term_; }
  /// Highest term of another coordinator that has ever answered here, or sent mail: a record alone is
  /// nobody's word. When all who knew the terms are gone they start again at 1: the new coordinator
  /// must hear that there were higher ones.
  Term foreign_term() const;
  const ActorId& id() const { return id_; }
  /// Errors besides the coordinator's own: kNotReady when none is known.
  void request(const Mail& mail, Done done);

 private:
  void found(const std::vector<DhtRecordLocal>& records);
  /// A record of a coordinator; what `found` leads to.
  struct Known {
    ActorId id;
    Endpoint endpoint;
    Term term;
    uint64_t version = 0;
  };
  void follow(const Known& one);
  void reached(const Known& one, const caf::actor& proxy);
  void has_answered(const ActorId& id, Term term);
  routing::Time now() const;
  Term known_term() const { return std::max(term_, highest_); }
  double now_s() const { return std::chrono::duration<double>(now()).count(); }

  CoordinatorClientDeps deps_;
  caf::actor proxy_;
  ActorId id_;
  Term highest_;                      ///< Of any message accepted.
  routing::TermLead lead_;            ///< Of that, by messages.
  std::map<ActorId, Term> followed_;  ///< That have answered.
  Term term_;
  routing::DeadRecords dead_;  ///< Those that lost their link.
  uint64_t version_ = 0;       ///< Of the record that led to proxy_.
  bool asking_ = false, reaching_ = false;
  bool doubted_ = false;  ///< The last request to it failed.
  int retries_ = 0;       ///< Questions in vain since one was known.
  std::chrono::steady_clock::time_point asked_at_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace swarm::actors

/// The sender's side of one hop: knows the live peers of one stage, picks one for each microbatch
/// and goes round a peer that is slow or gone (design Sec. 4; paper Sec. 3.2).
///
/// Not an actor: part of the state of the actor that sends (Trainer, StageServer), used only from
/// its handlers. Callbacks run in that actor. The encoded activations are kept until the gradient
/// is back, so a dead or late successor costs one resend and nothing upstream notices.
///
/// Events: "rerouted" when a peer has failed a sending (by error or deadline; `waited_ms` since it
/// was sent there), "rerouted_served" when another has answered it (`ms` since the first failure);
/// "slow_way", once, when what is under way takes longer than the longest deadline that is configured.
#pragma once

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/dht/dht_node.h"
#include "actors/dht/peer_record.h"
#include "actors/net/link_rates.h"
#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/mail.h"
#include "actors/node/event_log.h"
#include "actors/node/options.h"
#include "common/strong_id.h"
#include "routing/wiring/occupancy.h"
#include "routing/wiring/peer_choice.h"
#include "routing/wiring/peer_estimates.h"
#include "routing/wiring/tries.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

struct StageClientDeps {
  caf::event_based_actor* self = nullptr;  ///< The actor this is part of.
  caf::actor links;
  caf::actor dht;
  std::shared_ptr<EventLog> events;
  Stage stage;
  uint32_t num_stages = 1;  ///< Deadlines grow with the stages behind this one.
  routing::PeerEstimatesOptions estimates;
  std::chrono::milliseconds retry_every{50};
  /// Peers that have not announced themselves for so long are forgotten.
  std::chrono::milliseconds silent_after = DhtOptions().silent_after();
  routing::WiringOptions wiring;
  uint32_t step_slots = 0;           ///< Training slots of a step; 0: not known.
  NodeId node;                       ///< Own; all zero: peers are not asked for the pair's rate.
  const LinkRates* rates = nullptr;  ///< The owner's, kept up to date; null: not known.
  /// What a sample weighs between stages, where the request's own body does not say it (tokens).
  uint64_t boundary_bytes_per_sample = 0;
};

class StageClient {
 public:
  struct Outcome {
    Mail reply;  ///< A ForwardReply.
    PeerId peer;
    /// What of the time since send() was waiting [s]: for a peer with room or after one that failed,
    /// in the own links' queue, and what the reply tells.
    double waited_s = 0;
    /// All that time but the way to the peer and back [s].
    double inside_s = 0;
  };
  using Done = std::function<void(Result<Outcome>)>;

  explicit StageClient(StageClientDeps deps);

  /// Peers that a sender knows of a stage, at most: each sender some of its own (dht_sample_atom), so
  /// that together they use all. More would not share the work better, and cost more to ask for.
  static constexpr uint32_t kMostPeers = 32;
  /// With so many that live, newcomers and those that are back are in no hurry.
  static constexpr size_t kManyPeers = 8;
  static constexpr uint32_t kTicksWithMany = 4;
  /// A microbatch for which nobody is there is handed back after so long: others may have a way.
  static constexpr std::chrono::seconds kNobody{10};

  /// Asks the DHT for the stage's peers, with many that live not every time; call every
  /// announce_every.
  void tick();

  /// The link to a node is gone: its peers are not used until they announce themselves again.
  /// Requests to them fail by themselves.
  void node_down(const NodeId& node);

  /// Carries `head` (the stage is filled in here) and `body` to some peer of the stage. `done` is
  /// called exactly once unless cancelled, never before this returns: with the reply, or with
  /// kPeerTimeout (`budget` is used up), kNoLivePeer (or nobody was there for kNobody), kStaleStep, kShapeMismatch, kInvalidArgument.
  /// Peers in head.avoid are taken only when there is no other; a reply may say that something was
  /// not finite. Returns the id for cancel().
  uint64_t send(proto::ForwardRequest head, Buffer body, std::chrono::milliseconds budget,
                Done done);

  /// How long one more microbatch may take, another try included: a budget for send().
  std::chrono::milliseconds patience(int64_t samples) const;

  /// Whether a step waits for its last microbatch (until told: no); bounds what a peer is given.
  void steps_wait(bool wait) {
    choice_.be_patient(wait ? choice_.kPatienceOfSteps : choice_.kPatience);
  }

  /// Gives a request up; `done` is not called. Tells the peer. Unknown ids are ignored.
  void cancel(uint64_t id);
  void cancel_all();

  size_t live_peers() const { return choice_.size(); }
  size_t in_flight() const { return sendings_.size(); }
  /// One line a peer: what it costs and by what, unfinished samples, deadline; for the console.
  std::string describe() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct KnownPeer {
    caf::actor proxy;
    std::string node_name;
    uint64_t version = 0;     ///< Of its record.
    bool first_hand = false;  ///< That came from the peer itself.
    TimePoint announced_at{};
    /// False: what is known stands before it, or is the same.
    bool takes(const DhtRecordLocal& record);
  };
  struct Sending {
    Mail request;  ///< Every try sends this one, with a budget of its own.
    TimePoint began_at{}, give_up_at{};
    routing::Tries tries;
    uint64_t round_trip = 0;  ///< Rises with each resend; answers of earlier ones are ignored.
    PeerId current;
    bool under_way = false;            ///< At `current`.
    std::optional<TimePoint> lost_at;  ///< When a peer first failed it (not: refused it).
    std::string lost_name;             ///< Of that peer's node.
    std::optional<TimePoint> nobody_since;
    Done done;

    const proto::ForwardRequest& head() const { return request.as<proto::ForwardRequest>(); }
  };

  /// One microbatch, and what is under way at its peer with it.
  struct Load {
    int64_t samples = 0, under_way = 0;
    uint64_t bytes = 0;   ///< Its own, between stages.
    double leaves_s = 0;  ///< Until the own links have carried it.
  };

  void refresh();
  void found_peers(const std::vector<DhtRecordLocal>& records);
  void withdrawn(const DhtRecordLocal& record);
  void forget_silent_peers();
  void add_peer(const AnnouncedPeer& announced, const DhtRecordLocal& record);
  /// From now on it may be picked.
  void take_in(const PeerId& id, const Endpoint& endpoint);
  /// Without `may_end`, running out of time is left to a later message.
  void try_send(uint64_t id, bool may_end = true);
  void try_later(uint64_t id, std::chrono::milliseconds pause);
  /// A request that is under way.
  struct Sent {
    PeerId peer;
    TimePoint at{};
    double queued_s = 0;  ///< In the own links, before it.
  };
  void answered(uint64_t id, uint64_t round_trip, const Sent& sent, Result<Mail> reply);
  void handle_failure(uint64_t id, const PeerId& peer, double waited_s, const Error& error);
  void finish(uint64_t id, Result<Outcome> outcome);
  /// The request to its current peer is over.
  void ended(Sending& sending);
  uint64_t boundary_bytes(const Sending& sending) const;
  double deadline_s(const PeerId& peer, const Load& load) const;
  void tell_slow_way(const PeerId& peer, const Load& load);
  void tell_to_drop(const Sending& sending);
  void rerouted(Sending& sending, const PeerId& from, double waited_s, const Error& why);
  void served_again(const Sending& sending, const PeerId& by);
  std::string name_of(const PeerId& peer) const;
  TimePoint now() const;

  StageClientDeps deps_;
  std::map<PeerId, KnownPeer> peers_;
  routing::PeerChoice choice_;
  std::map<uint64_t, Sending> sendings_;
  uint64_t next_id_ = 1;
  uint32_t ticks_ = 0;
  bool told_slow_way_ = false;
  /// Outlived by delayed callbacks; they hold it weakly.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace swarm::actors

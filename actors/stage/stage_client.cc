#include "actors/stage/stage_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/send.hpp>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "actors/dht/peer_record.h"
#include "actors/net/requests.h"
#include "actors/stage/microbatch_times.h"
#include "common/mix.h"
#include "common/names.h"
#include "routing/dht/record_store.h"
#include "routing/wiring/deadline.h"

namespace swarm::actors {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

/// The peer is of no use until it announces itself again.
bool bans(ErrorCode code) {
  return code == ErrorCode::kLinkLost || code == ErrorCode::kShuttingDown ||
         code == ErrorCode::kInternal || code == ErrorCode::kNotFound ||
         code == ErrorCode::kRefused || code == ErrorCode::kIo;
}

milliseconds millis(double seconds) {
  return milliseconds(static_cast<int64_t>(seconds * 1000) + 1);
}

/// Another peer would answer the same.
bool is_final(ErrorCode code) {
  return code == ErrorCode::kStaleStep || code == ErrorCode::kShapeMismatch ||
         code == ErrorCode::kInvalidArgument;
}

}  // namespace

StageClient::StageClient(StageClientDeps deps)
    : deps_(std::move(deps)),
      choice_(deps_.estimates, deps_.wiring.cost,
              mix(std::hash<NodeId>()(deps_.node) + deps_.stage.value())) {
  choice_.deal_steps(deps_.step_slots, deps_.stage.value());
}

StageClient::TimePoint StageClient::now() const { return deps_.self->clock().now(); }

void StageClient::tick() {
  if (live_peers() < kManyPeers || ticks_++ % kTicksWithMany == 0) refresh();
}

void StageClient::refresh() {
  std::weak_ptr<bool> alive = alive_;
  deps_.self
      ->request(deps_.dht, milliseconds(5'000), dht_sample_atom::value,
                stage_key(deps_.stage.value()), kMostPeers)
      .then(
          [this, alive](const std::vector<DhtRecordLocal>& records) {
            if (alive.expired()) return;
            found_peers(records);
            forget_silent_peers();
          },
          [](const caf::error&) {});  // the next timer asks again
}

void StageClient::found_peers(const std::vector<DhtRecordLocal>& records) {
  for (const auto& record : records) {
    if (record.value.empty()) {
      withdrawn(record);
      continue;
    }
    if (const auto peer = read_peer_record(record, deps_.stage)) add_peer(*peer, record);
  }
}

bool StageClient::KnownPeer::takes(const DhtRecordLocal& record) {
  if (!routing::stands_before(record, *this)) return false;
  version = record.version;
  first_hand = record.first_hand;
  return true;
}

/// It moves to another stage. Requests to it go on.
void StageClient::withdrawn(const DhtRecordLocal& record) {
  for (auto& [id, peer] : peers_) {
    if (subkey_of(id) == record.subkey && peer.takes(record)) choice_.forget(id);
  }
}

/// Requests to them go on.
void StageClient::forget_silent_peers() {
  for (auto it = peers_.begin(); it != peers_.end();) {
    if (now() - it->second.announced_at <= deps_.silent_after) {
      ++it;
      continue;
    }
    choice_.forget(it->first);
    it = peers_.erase(it);
  }
}

void StageClient::add_peer(const AnnouncedPeer& announced, const DhtRecordLocal& record) {
  const auto& [id, endpoint, name] = announced;
  auto [it, is_new] = peers_.try_emplace(id);
  const bool misled = record.version < it->second.version;
  if (!it->second.takes(record) && !is_new) return;
  if (misled) choice_.forget(id);  // with what others said of it
  it->second.node_name = name;
  it->second.announced_at = now();
  if (!choice_.announced(id, record.version)) return;
  if (choice_.contains(id)) return;
  if (is_new) return take_in(id, endpoint);
  // It was lost, and may be out of reach for good: no microbatch is to find that out.
  std::weak_ptr<bool> alive = alive_;
  deps_.self->request(deps_.links, milliseconds(5'000), connect_atom::value, endpoint)
      .then(
          [this, alive, id = id, endpoint = endpoint](const NodeInfo& info) {
            if (!alive.expired() && info.id == id.node) take_in(id, endpoint);
          },
          [this, alive, id = id](const caf::error& error) {
            if (!alive.expired() && nobody_reached(error))
              deps_.self->send(deps_.links, unreached_atom::value, id.node);
          });
}

void StageClient::take_in(const PeerId& id, const Endpoint& endpoint) {
  std::weak_ptr<bool> alive = alive_;
  deps_.self->request(deps_.links, milliseconds(5'000), resolve_atom::value, id, endpoint)
      .then(
          [this, alive, id](const caf::actor& proxy) {
            if (alive.expired()) return;
            auto found = peers_.find(id);
            if (found == peers_.end() || choice_.banned(id)) return;
            found->second.proxy = proxy;
            choice_.add(id);
          },
          [](const caf::error&) {});
}

void StageClient::node_down(const NodeId& node) {
  for (const auto& [id, peer] : peers_)
    if (id.node == node) choice_.ban(id, peer.version);
}

uint64_t StageClient::send(proto::ForwardRequest head, Buffer body, milliseconds budget,
                           Done done) {
  uint64_t id = next_id_++;
  head.set_stage(deps_.stage.value());
  if (deps_.node != NodeId{}) head.set_asker(deps_.node.raw());
  std::set<PeerId> avoid;
  for (const auto& hop : head.avoid()) {
    auto node = NodeId::from_bytes(hop.peer().node_id());
    if (node && Stage(hop.stage()) == deps_.stage) avoid.insert({*node, hop.peer().actor()});
  }
  Sending sending;
  sending.request = make_mail(std::move(head), std::move(body));
  sending.began_at = now();
  sending.give_up_at = sending.began_at + budget;
  sending.tries = routing::Tries(std::move(avoid), sending.head().slot(), sending.head().step(),
                                 sending.head().attempt());
  sending.done = std::move(done);
  sendings_.emplace(id, std::move(sending));
  try_send(id, /*may_end=*/false);
  return id;
}

void StageClient::try_send(uint64_t id, bool may_end) {
  auto it = sendings_.find(id);
  if (it == sendings_.end()) return;
  Sending& sending = it->second;
  auto left = duration_cast<milliseconds>(sending.give_up_at - now());
  if (left.count() <= 0) {
    if (!may_end) return try_later(id, milliseconds(0));  // fails there
    auto code = choice_.size() == 0 ? ErrorCode::kNoLivePeer : ErrorCode::kPeerTimeout;
    return finish(id, Error{code, fmt::format("no peer of stage {} answered within the budget",
                                              deps_.stage)});
  }
  auto samples = static_cast<int64_t>(sending.head().samples());
  auto picked = choice_.pick(sending.tries, samples, seconds(now().time_since_epoch()));
  if (picked || choice_.size() > 0) sending.nobody_since.reset();
  if (!picked) {  // nobody is there, or all were asked
    if (choice_.size() == 0 && !sending.nobody_since) sending.nobody_since = now();
    if (may_end && sending.nobody_since && now() - *sending.nobody_since >= kNobody)
      return finish(id, Error{ErrorCode::kNoLivePeer,
                              fmt::format("no way to any peer of stage {}", deps_.stage)});
    double pause_s = sending.tries.start_over(seconds(deps_.retry_every));
    return try_later(id, milliseconds(std::lround(pause_s * 1000)));
  }
  Sent sent{*picked, now(), 0};
  const uint64_t own_bytes = bytes_of(sending.request);
  Load load{samples, choice_.unfinished_samples(*picked), boundary_bytes(sending), 0};
  if (deps_.rates != nullptr) {
    sent.queued_s = waits_in_links_s(*deps_.rates, picked->node, own_bytes);
    load.leaves_s = sent.queued_s + routing::seconds_at(own_bytes, deps_.rates->rate(picked->node));
  }
  sending.request.budget = std::min(left, millis(deadline_s(*picked, load)));
  tell_slow_way(*picked, load);
  sending.current = *picked;
  sending.under_way = true;
  uint64_t round_trip = ++sending.round_trip;
  std::weak_ptr<bool> alive = alive_;
  request_mail(deps_.self, peers_[*picked].proxy, sending.request,
               [this, alive, id, round_trip, sent](Result<Mail> reply) {
                 if (!alive.expired()) answered(id, round_trip, sent, std::move(reply));
               });
}

uint64_t StageClient::boundary_bytes(const Sending& sending) const {
  const auto samples = uint64_t{sending.head().samples()};
  return std::max<uint64_t>(sending.request.body.size(), samples * deps_.boundary_bytes_per_sample);
}

double StageClient::deadline_s(const PeerId& peer, const Load& load) const {
  const uint32_t stage = deps_.stage.value();
  const auto samples = static_cast<double>(std::max<int64_t>(load.samples, 1));
  routing::Way way;
  way.bytes = load.bytes;
  way.boundaries = routing::boundaries_from(stage, deps_.num_stages);
  way.ahead = static_cast<double>(load.under_way) / samples - 1;
  way.leaves_s = load.leaves_s;
  way.paced_s = choice_.paced_s(peer, load.under_way);
  const double stages_behind = deps_.num_stages - 1 - stage;
  const double by_answers_s = choice_.deadline_s(peer, load.samples) * (1.0 + 0.5 * stages_behind);
  return std::max(by_answers_s, routing::least_deadline_s(way));
}

milliseconds StageClient::patience(int64_t samples) const {
  double longest_s = 0;
  for (const auto& [id, peer] : peers_) {
    if (!choice_.contains(id)) continue;
    const uint64_t bytes = static_cast<uint64_t>(samples) * deps_.boundary_bytes_per_sample;
    const Load load{samples, choice_.unfinished_samples(id) + samples, bytes, 0};
    longest_s = std::max(longest_s, deadline_s(id, load));
  }
  return millis(2 * longest_s);
}

/// What the pace of the answers makes of it, once it was seen, and what the file says.
void StageClient::tell_slow_way(const PeerId& peer, const Load& load) {
  const double has_s = deps_.estimates.max_deadline_s;
  const auto needs_s = choice_.paced_s(peer, load.under_way);
  if (told_slow_way_ || !choice_.pace_seen(peer) || !needs_s || *needs_s <= has_s) return;
  told_slow_way_ = true;
  const auto microbatches = load.under_way / std::max<int64_t>(load.samples, 1);
  deps_.events->record(
      deps_.stage.value(), -1,
      records::SlowWay{name_of(peer), static_cast<uint64_t>(microbatches), load.bytes, *needs_s,
                       has_s,
                       "it is waited for; smaller with training.microbatch, trainer.max_in_flight, "
                       "wire.activations and wire.gradients"});
}

void StageClient::answered(uint64_t id, uint64_t round_trip, const Sent& sent, Result<Mail> reply) {
  auto it = sendings_.find(id);
  if (it == sendings_.end() || it->second.round_trip != round_trip) return;
  const PeerId& peer = sent.peer;
  const double waited_s = seconds(now() - sent.at);
  auto samples = static_cast<int64_t>(it->second.head().samples());
  ended(it->second);
  if (!reply) return handle_failure(id, peer, waited_s, reply.error());
  if (reply->kind != proto::KIND_FORWARD_REPLY)
    return handle_failure(id, peer, waited_s, {ErrorCode::kInternal, "not a forward reply"});
  const auto& head = reply->as<proto::ForwardReply>();
  const double rate = deps_.rates == nullptr ? 0 : deps_.rates->to(peer.node);
  const auto took = occupancy_of(head, bytes_of(it->second.request), rate);
  const auto away = away_s(head, took, waited_s);
  choice_.answered(peer, samples, waited_s, took, away);
  if (away) choice_.came(peer, samples, waited_s, seconds(now().time_since_epoch()));
  if (it->second.lost_at) served_again(it->second, peer);
  const double before_s = seconds(sent.at - it->second.began_at);
  const double in_queues_s = std::min(sent.queued_s + told_waited_s(head, waited_s), waited_s);
  const double inside_s = std::min(sent.queued_s + told_inside_s(head, waited_s), waited_s);
  finish(id, Outcome{std::move(*reply), peer, before_s + in_queues_s, before_s + inside_s});
}

void StageClient::handle_failure(uint64_t id, const PeerId& peer, double waited_s,
                                 const Error& error) {
  Sending& sending = sendings_.at(id);
  if (is_final(error.code)) return finish(id, error);
  if (bans(error.code)) {
    auto known = peers_.find(peer);
    choice_.ban(peer, known == peers_.end() ? 0 : known->second.version);
  }
  if (error.code == ErrorCode::kPeerTimeout) {
    choice_.timed_out(peer, static_cast<int64_t>(sending.head().samples()), waited_s);
    tell_to_drop(sending);
  }
  if (error.code == ErrorCode::kNotReady)
    choice_.not_ready(peer, seconds(now().time_since_epoch()));
  if (error.code == ErrorCode::kOverloaded || error.code == ErrorCode::kNotReady)
    sending.tries.refused(error.retry_after_ms / 1000.0);
  else
    rerouted(sending, peer, waited_s, error);
  try_send(id);
}

void StageClient::try_later(uint64_t id, milliseconds pause) {
  std::weak_ptr<bool> alive = alive_;
  uint64_t round_trip = ++sendings_.at(id).round_trip;
  deps_.self->delayed_send(deps_.self, pause, run_later_atom::value,
                           LocalTask([this, alive, id, round_trip] {
                             if (alive.expired()) return;
                             auto it = sendings_.find(id);
                             if (it != sendings_.end() && it->second.round_trip == round_trip)
                               try_send(id);
                           }));
}

void StageClient::finish(uint64_t id, Result<Outcome> outcome) {
  auto node = sendings_.extract(id);
  if (!node.empty()) node.mapped().done(std::move(outcome));
}

void StageClient::ended(Sending& sending) {
  if (!std::exchange(sending.under_way, false)) return;
  choice_.ended(sending.current, static_cast<int64_t>(sending.head().samples()));
}

void StageClient::cancel(uint64_t id) {
  auto node = sendings_.extract(id);
  if (node.empty()) return;
  ended(node.mapped());
  tell_to_drop(node.mapped());
}

void StageClient::cancel_all() {
  auto all = std::move(sendings_);
  sendings_.clear();
  for (auto& [id, sending] : all) {
    ended(sending);
    tell_to_drop(sending);
  }
}

void StageClient::tell_to_drop(const Sending& sending) {
  auto it = peers_.find(sending.current);
  if (it == peers_.end() || !it->second.proxy) return;
  proto::CancelAttempt message;
  message.set_step(sending.head().step());
  message.set_slot(sending.head().slot());
  message.set_attempt(sending.head().attempt());
  caf::anon_send(it->second.proxy, make_mail(std::move(message)));
}

std::string StageClient::name_of(const PeerId& peer) const {
  auto it = peers_.find(peer);
  return it == peers_.end() ? "?" : it->second.node_name;
}

void StageClient::rerouted(Sending& sending, const PeerId& from, double waited_s,
                           const Error& why) {
  if (!sending.lost_at) {
    sending.lost_at = now();
    sending.lost_name = name_of(from);
  }
  deps_.events->record(deps_.stage.value(), static_cast<int64_t>(sending.head().step()),
                       records::Rerouted{sending.head().slot(), name_of(from),
                                         records::seconds_as_millis(waited_s), why});
}

void StageClient::served_again(const Sending& sending, const PeerId& by) {
  deps_.events->record(deps_.stage.value(), static_cast<int64_t>(sending.head().step()),
                       records::ReroutedServed{sending.head().slot(), sending.lost_name,
                                               name_of(by), now() - *sending.lost_at});
}

std::string StageClient::describe() const {
  std::ostringstream text;
  text << "peers of stage " << deps_.stage << ": " << peers_.size() << ", in flight "
       << sendings_.size() << "\n";
  for (const auto& [id, peer] : peers_) {
    const auto last = choice_.last_occupancy(id);
    text << "  " << id.brief() << " " << peer.node_name
         << (choice_.contains(id) ? "" : " (not used)")
         << " seconds_per_sample=" << choice_.seconds_per_sample(id)
         << " unfinished=" << choice_.unfinished_samples(id)
         << " deadline_s=" << choice_.deadline_s(id, 1) << " last: compute_s=" << last.compute_s
         << " uplink_s=" << last.uplink_s << " downlink_s=" << last.downlink_s
         << " pair_s=" << last.pair_s << " slowest=" << last.slowest() << "\n";
  }
  return text.str();
}

}  // namespace swarm::actors

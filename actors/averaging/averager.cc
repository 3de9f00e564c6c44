#include "actors/averaging/averager.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "actors/averaging/all_reduce.h"
#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/check.h"
#include "routing/averaging/round_pace.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;
using MailPromise = caf::typed_response_promise<Mail>;

constexpr auto kRetryPause = milliseconds(50);
constexpr auto kKeepResult = milliseconds(30'000);  // for requests that were sent again

/// A round under way or just finished.
struct ActiveRound {
  std::unique_ptr<AllReduce> work;
  caf::typed_response_promise<AverageResult> promise;
  std::vector<caf::actor> proxies;                            // by member
  std::vector<size_t> next;                                   // by member: request to send next
  std::vector<size_t> in_flight;                              // by member
  std::map<size_t, std::map<uint32_t, MailPromise>> waiting;  // by number, by member
  caf::actor_clock::time_point start, deadline;
  bool finished = false;
  AverageResult result;
};

struct HeldPart {
  Mail mail;
  MailPromise promise;
  caf::actor_clock::time_point until;
};

class Averager {
 public:
  static constexpr const char* name = "averager";
  using Self = caf::stateful_actor<Averager>;

  caf::behavior start(Self* self, AveragerDeps deps);

 private:
  Round id() const { return round_->work->spec().round; }
  bool running(Round round) const { return round_ && id() == round && !round_->finished; }

  caf::result<AverageResult> average(const AverageRound& spec);
  void start_round(const AverageRound& spec);
  void resolve(uint32_t member);
  void pump(uint32_t member);
  void ask(uint32_t member, size_t number);
  void answered(uint32_t member, size_t number, const Result<Mail>& reply);
  void check_complete();
  void fail(const Error& error);
  void abandon(Round round);

  caf::result<Mail> on_mail(const Mail& mail);
  void on_part(const Mail& mail, MailPromise promise);
  void serve(const Mail& mail, MailPromise promise);
  void hold(const Mail& mail, MailPromise promise);
  void release_held();
  void drop_expired();
  void on_node_down(const NodeInfo& node, const std::string& reason);
  std::string describe() const;
  void quit(const caf::error& reason);
  void later(milliseconds pause, std::function<void()> work) {
    self_->delayed_send(self_, pause, run_later_atom::value, LocalTask(std::move(work)));
  }

  Self* self_ = nullptr;
  AveragerDeps deps_;
  std::unique_ptr<ActiveRound> round_;
  Round newest_;  ///< Started or abandoned; parts of this and older rounds are never held.
  std::multimap<Round, HeldPart> held_;  // by round
  uint64_t held_bytes_ = 0;
  std::optional<routing::RoundPace> pace_;  ///< Set by start().
  std::string last_round_ = "none";
};

caf::behavior Averager::start(Self* self, AveragerDeps deps) {
  self_ = self;
  deps_ = std::move(deps);
  SWARM_CHECK(deps_.options.chunk_elements > 0 && deps_.options.min_part_elements > 0);
  pace_.emplace(deps_.options.min_deadline);
  install_default_handlers(self);
  const auto me = caf::actor_cast<caf::actor>(self);
  self->send(deps_.links, register_atom::value, deps_.id.actor, me);
  self->send(deps_.links, subscribe_atom::value, me);
  self->set_exit_handler([this](caf::exit_msg& exit) { quit(exit.reason); });
  return {
      [this](const Mail& mail) { return on_mail(mail); },
      [this](average_atom, const AverageRound& spec) { return average(spec); },
      [this](abandon_atom, Round round) { abandon(round); },
      [this](describe_atom) { return describe(); },
      [](node_up_atom, const NodeInfo&) {},
      [this](node_down_atom, const NodeInfo& node, const std::string& reason) {
        on_node_down(node, reason);
      },
      [](run_later_atom, const LocalTask& task) { task(); },
  };
}

void Averager::quit(const caf::error& reason) {
  const Error error{ErrorCode::kShuttingDown, "the averager stops"};
  if (round_ && !round_->finished) fail(error);
  round_.reset();
  for (auto& [round, part] : held_) part.promise.deliver(to_caf(error));
  held_.clear();
  self_->quit(reason);
}

// ---- a round ------------------------------------------------------------------------------

caf::result<AverageResult> Averager::average(const AverageRound& spec) {
  auto valid = validate(spec);
  if (!valid) return to_caf(valid.error());
  if (round_ && round_->finished && id() == spec.round) return round_->result;
  if (spec.round <= newest_)
    return to_caf(ErrorCode::kStaleStep,
                  fmt::format("averaging: round {} is not newer than {}", spec.round, newest_));
  if (round_ && !round_->finished) fail({ErrorCode::kCancelled, "a newer round replaces it"});
  start_round(spec);
  auto promise = self_->make_response_promise<AverageResult>();
  round_->promise = promise;
  for (uint32_t i = 0; i < spec.members.size(); ++i)
    if (round_->work->requests_to(i) > 0) resolve(i);
  release_held();
  if (running(spec.round)) check_complete();
  return promise;
}

void Averager::start_round(const AverageRound& spec) {
  newest_ = spec.round;
  MutableBuffer memory;
  if (round_) {
    round_->result = {};
    memory = round_->work->take_memory();
  }
  round_ = std::make_unique<ActiveRound>();
  round_->work = make_all_reduce({deps_.options.topology, deps_.options.codec,
                                  deps_.options.chunk_elements, deps_.options.min_part_elements},
                                 spec, std::move(memory));
  const size_t members = spec.members.size();
  round_->proxies.resize(members);
  round_->next.resize(members);
  round_->in_flight.resize(members);
  round_->start = self_->clock().now();
  const auto limit = pace_->limit(spec.n * sizeof(float));
  round_->deadline = round_->start + limit;
  later(limit, [this, round = spec.round, limit] {
    if (!running(round)) return;
    pace_->missed();
    fail({ErrorCode::kPeerTimeout, fmt::format("averaging: not done after {} ms; waiting for {}",
                                               limit.count(), round_->work->waiting_for())});
  });
}

void Averager::resolve(uint32_t member) {
  const auto& who = round_->work->spec().members[member];
  const Round round = id();
  self_
      ->request(deps_.links, deps_.options.min_deadline, resolve_atom::value, who.averager,
                who.endpoint)
      .then(
          [this, round, member](const caf::actor& proxy) {
            if (!running(round)) return;
            round_->proxies[member] = proxy;
            pump(member);
          },
          [this, round](const caf::error& error) {
            if (running(round)) fail(from_caf(error));
          });
}

void Averager::pump(uint32_t member) {
  const size_t requests = round_->work->requests_to(member);
  while (round_->next[member] < requests &&
         round_->in_flight[member] < std::max(1u, deps_.options.chunks_in_flight)) {
    ++round_->in_flight[member];
    ask(member, round_->next[member]++);
  }
}

void Averager::ask(uint32_t member, size_t number) {
  auto out = round_->work->request(member, number);
  auto left = std::chrono::duration_cast<milliseconds>(round_->deadline - self_->clock().now());
  auto mail = make_mail(std::move(out.head), std::move(out.body), std::max(left, milliseconds(1)));
  request_mail(self_, round_->proxies[member], mail,
               [this, round = id(), member, number](Result<Mail> reply) {
                 if (running(round)) answered(member, number, reply);
               });
}

void Averager::answered(uint32_t member, size_t number, const Result<Mail>& reply) {
  if (reply.code() == ErrorCode::kOverloaded) {  // it has not started and holds enough already
    later(kRetryPause, [this, round = id(), member, number] {
      if (running(round)) ask(member, number);
    });
    return;
  }
  Status taken;
  if (!reply.ok()) {
    taken = reply.error();
  } else if (reply->kind != proto::KIND_AVERAGE_PART_REPLY) {
    taken = Error{ErrorCode::kInternal, "answered with another kind of message"};
  } else {
    taken = round_->work->take_answer(member, number,
                                      {reply->as<proto::AveragePartReply>().chunk(), reply->body});
  }
  if (!taken.ok())
    return fail({taken.code(), "averaging with " +
                                   round_->work->spec().members[member].averager.brief() + ": " +
                                   taken.error().detail});
  --round_->in_flight[member];
  pump(member);
  check_complete();
}

void Averager::check_complete() {
  if (!round_->work->complete()) return;
  const auto& spec = round_->work->spec();
  auto& result = round_->result;
  result.mean = round_->work->result();
  result.squared_norm =
      tensor::squared_norm(reinterpret_cast<const float*>(result.mean.data()), spec.n);
  result.digest = tensor::digest(result.mean.data(), result.mean.size());
  result.seconds = Seconds(self_->clock().now() - round_->start).count();
  if (spec.members.size() > 1) pace_->done(result.seconds, result.mean.size());
  round_->finished = true;
  round_->work->drop_gradient();
  last_round_ =
      fmt::format("round {}, {} members, {:.6f} s", id(), spec.members.size(), result.seconds);
  round_->promise.deliver(result);
  later(kKeepResult, [this, round = id()] {  // nobody is late by that much
    if (round_ && id() == round && round_->finished) round_.reset();
  });
}

void Averager::fail(const Error& error) {
  log_info(fmt::format("event=round_failed stage={} round={} error=\"{}\"", deps_.stage, id(),
                       to_string(error)));
  last_round_ = fmt::format("round {} failed: {}", id(), to_string(error));
  auto failed = std::move(round_);
  failed->promise.deliver(to_caf(error));
  for (auto& [chunk, promises] : failed->waiting)
    for (auto& [member, promise] : promises)
      promise.deliver(to_caf(ErrorCode::kCancelled,
                             deps_.id.brief() + " gave the round up: " + to_string(error)));
}

void Averager::abandon(Round round) {
  if (running(round))
    fail({ErrorCode::kCancelled, "the round was abandoned"});
  else if (round_ && id() == round)
    round_.reset();
  newest_ = std::max(newest_, round);
  release_held();
}

void Averager::on_node_down(const NodeInfo& node, const std::string& reason) {
  if (!round_ || round_->finished) return;
  const auto& members = round_->work->spec().members;
  for (uint32_t i = 0; i < members.size(); ++i)
    if (members[i].averager.node == node.id && round_->work->needs(i))
      return fail({ErrorCode::kLinkLost,
                   "averaging: " + members[i].averager.brief() + " is gone: " + reason});
}

// ---- what others ask ----------------------------------------------------------------------

caf::result<Mail> Averager::on_mail(const Mail& mail) {
  auto promise = self_->make_response_promise<Mail>();
  if (mail.kind == proto::KIND_AVERAGE_PART)
    on_part(mail, promise);
  else
    promise.deliver(to_caf(ErrorCode::kInvalidArgument,
                           std::string("an averager takes no ") + kind_name(mail.kind)));
  return promise;
}

void Averager::on_part(const Mail& mail, MailPromise promise) {
  const Round round(mail.as<proto::AveragePart>().round());
  if (round_ && id() == round) return serve(mail, promise);
  if (round > newest_) return hold(mail, promise);
  promise.deliver(
      to_caf(ErrorCode::kStaleStep, fmt::format("averaging: round {} is over here", round)));
}

void Averager::serve(const Mail& mail, MailPromise promise) {
  const auto& head = mail.as<proto::AveragePart>();
  auto number = round_->work->contribute(head, mail.body);
  if (!number.ok()) {
    promise.deliver(to_caf(number.error()));
    return;
  }
  auto& waiting = round_->waiting[*number];
  auto [place, fresh] = waiting.try_emplace(head.sender(), promise);
  if (!fresh) {  // sent again: the old request is no longer waited for
    place->second.deliver(to_caf(ErrorCode::kCancelled, "asked again"));
    place->second = promise;
  }
  if (!round_->work->answerable(*number)) return;
  const auto& answer = round_->work->answer(*number);
  proto::AveragePartReply head_out;
  *head_out.mutable_chunk() = answer.meta;
  const Mail reply = make_mail(std::move(head_out), answer.data);
  for (auto& [member, one] : waiting) one.deliver(reply);
  round_->waiting.erase(*number);
  if (!round_->finished) check_complete();
}

/// The round has not started here; wait for it, within limits.
void Averager::hold(const Mail& mail, MailPromise promise) {
  const uint64_t size = mail.body.size() + 512;
  if (held_bytes_ + size > deps_.max_held_bytes) {
    Error error{ErrorCode::kOverloaded, "averaging: too many parts of rounds to come"};
    error.retry_after_ms = static_cast<uint32_t>(kRetryPause.count());
    promise.deliver(to_caf(error));
    return;
  }
  const auto budget = std::min(std::max(mail.budget, milliseconds(1)), milliseconds(3'600'000));
  held_bytes_ += size;
  held_.emplace(Round(mail.as<proto::AveragePart>().round()),
                HeldPart{mail, promise, self_->clock().now() + budget});
  later(budget, [this] { drop_expired(); });
}

/// Serves what waited for the round that runs now and refuses what is over.
void Averager::release_held() {
  std::vector<HeldPart> due;
  for (auto it = held_.begin(); it != held_.end() && it->first <= newest_; it = held_.erase(it)) {
    held_bytes_ -= it->second.mail.body.size() + 512;
    due.push_back(std::move(it->second));
  }
  for (auto& part : due) on_part(part.mail, part.promise);
}

void Averager::drop_expired() {
  const auto now = self_->clock().now();
  for (auto it = held_.begin(); it != held_.end();) {
    if (it->second.until > now) {
      ++it;
      continue;
    }
    held_bytes_ -= it->second.mail.body.size() + 512;
    it->second.promise.deliver(
        to_caf(ErrorCode::kPeerTimeout, "averaging: the round never started here"));
    it = held_.erase(it);
  }
}

std::string Averager::describe() const {
  const std::string now =
      round_ && !round_->finished
          ? fmt::format("averaging round {}, waiting for {}", id(), round_->work->waiting_for())
          : "idle";
  return fmt::format("stage {}; {}; last: {}; early parts {} ({} bytes)", deps_.stage, now,
                     last_round_, held_.size(), held_bytes_);
}

caf::behavior averager(Averager::Self* self, AveragerDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_averager(caf::actor_system& system, AveragerDeps deps) {
  return deps.detached ? system.spawn<caf::detached>(averager, std::move(deps))
                       : system.spawn(averager, std::move(deps));
}

}  // namespace swarm::actors

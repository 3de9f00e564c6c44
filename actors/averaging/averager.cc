// Averager: its own side of a round.
#include "actors/averaging/averager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "actors/averaging/averager_state.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/check.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

/// For those that take much longer: who brings nothing and reduces nothing is not waited for. The next round takes
/// its memory.
constexpr auto kKeepResult = std::chrono::hours(1);

/// Without a codec whoever adds the numbers up sees it; encoded, they may look finite.
std::set<uint32_t> own_not_finite(const AverageRound& spec, tensor::Codec codec) {
  const bool brings = spec.members[spec.self].samples > 0 && spec.members.size() > 1;
  if (codec == tensor::Codec::kNone || !brings) return {};
  const auto* numbers = reinterpret_cast<const float*>(spec.gradient.data());
  if (tensor::all_finite(numbers, spec.n)) return {};
  return {spec.self};
}

}  // namespace

caf::behavior Averager::start(Self* self, AveragerDeps deps) {
  self_ = self;
  deps_ = std::move(deps);
  SWARM_CHECK(deps_.options.chunk_elements > 0 && deps_.options.min_part_elements > 0);
  held_ = HeldParts(deps_.max_held_bytes);
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
  for (auto& part : held_.take_all()) part.promise.deliver(to_caf(error));
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
  if (refuse(own_not_finite(spec, deps_.options.codec))) return promise;
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
  round_->work = make_all_reduce(all_reduce_setup(deps_.options), spec, std::move(memory));
  const size_t members = spec.members.size();
  round_->proxies.resize(members);
  round_->next.resize(members);
  round_->in_flight.resize(members);
  round_->start = self_->clock().now();
  const auto limit = pace_->limit(spec.n * sizeof(float));
  round_->deadline = round_->start + limit;
  later(limit, [this, round = spec.round] {
    if (running(round)) missed_deadline();
  });
}

/// Means may be late because of anybody. Who has sent nothing is named, without a link that failed: he may
/// hang, and then it is for the coordinator to miss his answer.
void Averager::missed_deadline() {
  const Seconds limit = round_->deadline - round_->start;
  const auto& members = round_->work->spec().members;
  std::vector<uint32_t> silent;
  for (uint32_t i = 0; i < members.size(); ++i)
    if (!members[i].via && round_->work->nothing_from(i)) silent.push_back(i);
  AverageResult named;
  named.late = true;
  named.unreached = std::move(silent);
  end({ErrorCode::kPeerTimeout, fmt::format("averaging: not done after {:.0f} ms; waiting for {}",
                                            1e3 * limit.count(), round_->work->waiting_for())},
      std::move(named));
}

/// Where parts for a member go.
uint32_t Averager::asked_for(uint32_t member) const {
  return round_->work->spec().members[member].via.value_or(member);
}

void Averager::resolve(uint32_t member) {
  const auto& who = round_->work->spec().members[asked_for(member)];
  const Round round = id();
  self_
      ->request(deps_.links, deps_.options.min_deadline, resolve_atom::value, who.averager,
                who.endpoint)
      .then(
          [this, round, member](const caf::actor& proxy) {
            if (!round_ || id() != round) return;  // a finished one still passes parts on
            round_->proxies[member] = proxy;
            if (running(round)) pump(member);
          },
          [this, round](const caf::error& error) {
            if (running(round)) fail(from_caf(error));
          });
}

void Averager::pump(uint32_t member) {
  const size_t requests = round_->work->requests_to(member);
  while (round_->next[member] < requests && round_->proxies[member] &&
         round_->in_flight[member] < std::max(1u, deps_.options.chunks_in_flight) &&
         round_->work->ready(member, round_->next[member])) {
    ++round_->in_flight[member];
    ask(member, round_->next[member]++);
  }
}

/// True: these members' numbers were not finite, and the round is given up.
bool Averager::refuse(const std::set<uint32_t>& not_finite) {
  if (not_finite.empty()) return false;
  std::string who;
  for (const uint32_t place : not_finite)
    who += (who.empty() ? "" : ", ") + round_->work->spec().members[place].averager.brief();
  AverageResult named;
  named.not_finite.assign(not_finite.begin(), not_finite.end());
  end({ErrorCode::kNonFinite,
       fmt::format("averaging: the numbers of {} are not finite{}", who,
                   deps_.options.codec == tensor::Codec::kNone
                       ? ""
                       : "; averager.codec may not reach as far as float32 does")},
      std::move(named));
  return true;
}

/// Something came: what it was the last of is answered, and asked.
void Averager::go_on() {
  if (!round_->finished && refuse(round_->work->not_finite())) return;
  auto& waiting = round_->waiting;
  for (auto it = waiting.begin(); it != waiting.end();) {
    if (!round_->work->answerable(it->first)) {
      ++it;
      continue;
    }
    const auto& answer = round_->work->answer(it->first);
    proto::AveragePartReply head;
    *head.mutable_chunk() = answer.meta;
    const Mail reply = make_mail(std::move(head), answer.data);
    for (auto& [member, promise] : it->second) promise.deliver(reply);
    it = waiting.erase(it);
  }
  if (round_->finished) return;
  for (uint32_t i = 0; i < round_->next.size(); ++i) pump(i);
  check_complete();
}

void Averager::ask(uint32_t member, size_t number) {
  auto out = round_->work->request(member, number);
  if (asked_for(member) != member) out.head.set_relay_to(member + 1);
  auto left = std::chrono::duration_cast<milliseconds>(round_->deadline - self_->clock().now());
  auto mail = make_mail(std::move(out.head), std::move(out.body), std::max(left, milliseconds(1)));
  request_mail(self_, round_->proxies[member], mail,
               [this, round = id(), member, number](Result<Mail> reply) {
                 if (running(round)) answered(member, number, reply);
               });
}

void Averager::answered(uint32_t member, size_t number, const Result<Mail>& reply) {
  if (reply.code() == ErrorCode::kOverloaded) {  // it has not started and holds enough already
    later(kPartRetry, [this, round = id(), member, number] {
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
  // A part has as long as the round: whichever of the two is noticed first, the round needs longer.
  if (reply.code() == ErrorCode::kPeerTimeout) return missed_deadline();
  if (!taken.ok()) {
    const bool lost = taken.code() == ErrorCode::kLinkLost;
    return fail(
        {taken.code(), "averaging with " + round_->work->spec().members[member].averager.brief() +
                           ": " + taken.error().detail},
        lost ? std::vector<uint32_t>{asked_for(member)} : std::vector<uint32_t>{});
  }
  --round_->in_flight[member];
  go_on();
}

void Averager::check_complete() {
  if (refuse(round_->work->not_finite())) return;
  if (!round_->work->complete()) return;
  const auto& spec = round_->work->spec();
  auto& result = round_->result;
  result.mean = round_->work->result();
  const auto read =
      tensor::norm_and_digest(reinterpret_cast<const float*>(result.mean.data()), spec.n);
  if (!std::isfinite(read.squared_norm)) return (void)refuse(round_->work->not_finite_means());
  result.squared_norm = read.squared_norm;
  result.digest = read.digest;
  result.residuals = round_->work->residuals();
  result.seconds = Seconds(self_->clock().now() - round_->start).count();
  if (spec.members.size() > 1) pace_->done(result.seconds, result.mean.size());
  round_->finished = true;
  round_->work->drop_gradient();
  last_round_ =
      fmt::format("round {}, {} members, {:.6f} s", id(), spec.members.size(), result.seconds);
  round_->promise.deliver(result);
  later(kKeepResult, [this, round = id()] {
    if (round_ && id() == round && round_->finished) round_.reset();
  });
}

void Averager::fail(const Error& error, std::vector<uint32_t> unreached) {
  AverageResult named;
  named.unreached = std::move(unreached);
  named.link_failed = true;
  end(error, std::move(named));
}

/// The round failed because of those that are named, if any are.
void Averager::end(const Error& error, AverageResult named) {
  log_info(fmt::format("event=round_failed stage={} round={} error=\"{}\"", deps_.stage, id(),
                       to_string(error)));
  last_round_ = fmt::format("round {} failed: {}", id(), to_string(error));
  const auto& spec = round_->work->spec();
  const bool too_long = named.late || error.code == ErrorCode::kCancelled;
  if (too_long && spec.members.size() > 1)
    pace_->missed(Seconds(self_->clock().now() - round_->start).count(), spec.n * sizeof(float));
  auto failed = std::move(round_);
  named.why = error;
  if (named.failed())
    failed->promise.deliver(named);
  else
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
    if (members[i].averager.node == node.id && !members[i].via && round_->work->needs(i))
      return fail({ErrorCode::kLinkLost,
                   "averaging: " + members[i].averager.brief() + " is gone: " + reason},
                  {i});
}

std::string Averager::describe() const {
  const std::string now =
      round_ && !round_->finished
          ? fmt::format("averaging round {}, waiting for {}", id(), round_->work->waiting_for())
          : "idle";
  return fmt::format("stage {}; {}; last: {}; early parts {} ({} bytes)", deps_.stage, now,
                     last_round_, held_.size(), held_.bytes());
}

namespace {

caf::behavior averager(Averager::Self* self, AveragerDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_averager(caf::actor_system& system, AveragerDeps deps) {
  return deps.detached ? system.spawn<caf::detached>(averager, std::move(deps))
                       : system.spawn(averager, std::move(deps));
}

}  // namespace swarm::actors

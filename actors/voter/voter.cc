#include "actors/voter/voter.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "actors/coordinator/coordinator_client.h"
#include "actors/coordinator/coordinator_mail.h"
#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "actors/voter/voter_mail.h"
#include "common/names.h"
#include "routing/membership/term.h"
#include "routing/membership/term_lead.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

/// Between two questions whether it may leave.
constexpr milliseconds kRetry{50};

class VoterState {
 public:
  static constexpr const char* name = "voter";
  using Self = caf::stateful_actor<VoterState>;

  void init(Self* self, VoterDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self);
    if (auto ready = load(); !ready) log_error("event=voter_cannot_read " + text(ready.error()));
    self->send(deps_.links, register_atom::value, deps_.id.actor,
               caf::actor_cast<caf::actor>(self));
  }

  caf::behavior make_behavior() {
    return {[this](const Mail& mail) { return on_mail(mail); },
            [](run_later_atom, const LocalTask& task) { task(); },
            [this](describe_atom) { return describe(); },
            [this](drain_atom) { return on_drain(); }};
  }

 private:
  using Ask = std::function<Status(routing::Voter&)>;

  static std::string text(const Error& error) { return "reason=\"" + error.detail + "\""; }

  VoterMemory& voter() { return *deps_.memory; }

  /// Again with each mail until the disk can be read. Errors: kIo.
  Status load() {
    if (voter()) return {};
    const auto bytes = deps_.disk->load();
    if (!bytes) return Error{ErrorCode::kIo, bytes.error().detail};
    routing::VoterRecord record;
    if (*bytes) {
      auto read = read_voter_record(**bytes);
      if (!read) return Error{ErrorCode::kIo, read.error().detail};
      record = *std::move(read);
      on_disk_ = **bytes;
    }
    if (record.decided.number.value() == 0) record.decided.voters = deps_.file;
    if (!*bytes) {
      record.disk = deps_.id.node.hex();  // random, and of no process before
      if (auto stored = store(record); !stored) return stored;
    }
    known_ = std::max(known_, record.promised.term);
    voter().emplace(deps_.node_name, std::move(record), deps_.file);
    return {};
  }

  caf::result<Mail> on_mail(const Mail& mail) {
    if (auto ready = load(); !ready) return to_caf(ready.error());
    switch (mail.kind) {
      case proto::KIND_VOTER_PROMISE:
        return on_promise(mail);
      case proto::KIND_VOTER_STORE:
        return on_store(mail);
      case proto::KIND_VOTER_LEARN:
        return on_learn(mail);
      case proto::KIND_VOTER_VOTE:
        return on_vote(mail);
      default:
        return to_caf(ErrorCode::kInvalidArgument,
                      std::string("a voter takes no ") + kind_name(mail.kind));
    }
  }

  /// Of the node that sent it, and of a term that it may say. Errors: kInvalidArgument, kRefused.
  Result<routing::Ballot> ballot_of(const Mail& mail, const proto::Ballot& message) {
    auto ballot = from_proto(message);
    if (!ballot) return ballot;
    if (auto own = speaks_for(mail, ballot->node); !own) return own.error();
    if (!mail.from || lead_.allows(ballot->term, known(), now())) return ballot;
    look_up(ballot->node);
    return Error{ErrorCode::kRefused, fmt::format("term {} is too far above {}: no record says so",
                                                  ballot->term, known())};
  }

  /// The highest term of a ballot that was answered, or of the record of a coordinator that asked.
  Term known() {
    known_ = std::max(known_, voter()->record().promised.term);
    return known_;
  }

  /// What the record of that coordinator says: who was away for long, or is new, is asked again.
  void look_up(const NodeId& coordinator) {
    if (!deps_.dht || std::exchange(looks_up_, true)) return;
    self_
        ->request(deps_.dht, milliseconds(5'000), dht_get_atom::value, std::string(kCoordinatorKey))
        .then(
            [this, coordinator](const DhtRecords& records) {
              looks_up_ = false;
              for (const DhtRecordLocal& record : records) {
                const auto one = read_record(record);
                if (one && one->candidate.active && one->candidate.node == coordinator)
                  known_ = lead_.follow(one->candidate.term, known(), now());
              }
            },
            [this](const caf::error&) { looks_up_ = false; });
  }

  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  caf::result<Mail> on_promise(const Mail& mail) {
    const auto ballot = ballot_of(mail, mail.as<proto::VoterPromise>().ballot());
    if (!ballot) return to_caf(ballot.error());
    return carry_out([&](routing::Voter& voter) { return voter.promise(*ballot); }, true,
                     mail.as<proto::VoterPromise>().knows());
  }

  caf::result<Mail> on_store(const Mail& mail) {
    const auto& message = mail.as<proto::VoterStore>();
    const auto ballot = ballot_of(mail, message.ballot());
    if (!ballot) return to_caf(ballot.error());
    const auto decided = from_proto(message.decided());
    if (!decided) return to_caf(decided.error());
    const auto next = from_proto(message.next());
    if (!next) return to_caf(next.error());
    return carry_out([&](routing::Voter& voter) { return voter.store(*ballot, *decided, *next); },
                     true, message.knows());
  }

  caf::result<Mail> on_learn(const Mail& mail) {
    const auto& message = mail.as<proto::VoterLearn>();
    const auto ballot = ballot_of(mail, message.ballot());
    if (!ballot) return to_caf(ballot.error());
    const auto decided = from_proto(message.decided());
    if (!decided) return to_caf(decided.error());
    const auto learn = [&](routing::Voter& voter) {
      if (!message.gives_up().empty()) return voter.give_up(message.gives_up(), *decided);
      return voter.learn(*ballot, *decided);
    };
    return carry_out(learn, true, message.knows());
  }

  caf::result<Mail> on_vote(const Mail& mail) {
    const auto& message = mail.as<proto::VoterVote>();
    const auto ballot = ballot_of(mail, message.ballot());
    if (!ballot) return to_caf(ballot.error());
    if (!message.has_place())
      return to_caf(ErrorCode::kInvalidArgument, "a vote names the place that it leads on from");
    const routing::ConfigurationNumber number(message.number());
    const routing::Place place = from_proto(message.place());
    const auto vote = [&](routing::Voter& voter) {
      if (auto there = voter.apply(*ballot, number, place); !there) return there;
      return voter.vote(*ballot, number, place.step);
    };
    return carry_out(vote, false, message.knows());
  }

  /// What cannot be stored has not happened: the rule is asked on a copy.
  caf::result<Mail> carry_out(const Ask& ask, bool to_disk, uint64_t knows) {
    routing::Voter after = *voter();
    const Status taken = ask(after);
    if (taken.code() == ErrorCode::kInvalidArgument || taken.code() == ErrorCode::kRefused)
      return to_caf(taken.error());
    if (taken.ok()) {
      if (auto stored = to_disk ? store(after.record()) : Status(); !stored)
        return to_caf(stored.error());
      if (after.record().given_up > voter()->record().given_up)
        log_warn(fmt::format("event=line_given_up voter={} configuration={}", after.answer().voter,
                             after.record().decided.number));
      lead_.led(known(), after.record().promised.term, now());
      voter() = std::move(after);
    }
    return make_mail(write_voter(voter()->answer(), taken, knows));
  }

  /// Errors: kIo.
  Status store(const routing::VoterRecord& record) {
    const std::string bytes = write_voter_record(record);
    if (on_disk_ == bytes) return {};
    on_disk_.reset();  // either may be there if it fails
    if (auto saved = deps_.disk->save(bytes); !saved) {
      if (!std::exchange(failing_, true))
        log_error("event=voter_cannot_store " + text(saved.error()));
      return Error{ErrorCode::kIo, saved.error().detail};
    }
    on_disk_ = bytes;
    failing_ = false;
    return {};
  }

  // -- leaving

  caf::result<bool> on_drain() {
    if (!deps_.dht || coordinator_) return true;
    auto left = self_->make_response_promise();
    has_left_ = [left]() mutable { left.deliver(true); };
    coordinator_ = std::make_unique<CoordinatorClient>(CoordinatorClientDeps{
        self_, deps_.links, deps_.dht, kRetry, [] {}, deps_.dht_options.silent_after()});
    later(deps_.leave_limit, [this] { has_left(); });
    leave();
    return left;
  }

  /// Again until a coordinator says that it may go.
  void leave() {
    if (!has_left_) return;
    coordinator_->tick();
    proto::VoterLeaves message;
    *message.mutable_voter() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
    coordinator_->request(make_mail(std::move(message), {}, deps_.leave_limit),
                          [this](const Result<Mail>& reply) {
                            if (reply) return has_left();
                            later(kRetry, [this] { leave(); });
                          });
  }

  void has_left() {
    if (const auto tell = std::exchange(has_left_, nullptr)) tell();
  }

  void later(milliseconds pause, std::function<void()> task) {
    self_->delayed_send(self_, pause, run_later_atom::value, LocalTask(std::move(task)));
  }

  /// "configuration 4 of 5 voters since step 120, promised term 3 of 1a2b3c4d, at step 130, voted".
  std::string describe() {
    if (auto ready = load(); !ready) return "cannot read its record: " + ready.error().detail;
    const auto answer = voter()->answer();
    const auto& record = answer.record;
    std::string line =
        fmt::format("configuration {} of {} voters since step {}", record.decided.number,
                    record.decided.voters.size(), record.decided.base.step);
    if (record.proposal)
      line += fmt::format(", stored {} of {} voters", record.proposal->next.number,
                          record.proposal->next.voters.size());
    if (record.promised != routing::Ballot())
      line += fmt::format(", promised term {} of {}", routing::term_number(record.promised.term),
                          record.promised.node.brief());
    if (answer.mark)
      line += fmt::format(", at step {}{}", answer.mark->place.step,
                          answer.mark->voted ? ", voted" : "");
    if (record.given_up > 0) line += fmt::format(", has given up {} lines", record.given_up);
    if (!answer.remembers) line += ", has not been told where the swarm is";
    return line;
  }

  Self* self_ = nullptr;
  VoterDeps deps_;
  std::unique_ptr<CoordinatorClient> coordinator_;  // while it leaves
  std::function<void()> has_left_;                  // likewise, until that was answered
  std::optional<std::string> on_disk_;              // nothing: not known, or there is none
  Term known_;
  routing::TermLead lead_;  // of `known_`
  bool looks_up_ = false;
  bool failing_ = false;
};

}  // namespace

caf::actor spawn_voter(caf::actor_system& system, VoterDeps deps) {
  const bool detached = deps.detached;
  const auto body = [deps = std::move(deps)](VoterState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  };
  return detached ? system.spawn<caf::detached>(body) : system.spawn(body);
}

}  // namespace swarm::actors

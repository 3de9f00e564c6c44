/// Inside of the Averager. Included by averager.cc (its own side of a round) and averager_parts.cc (what
/// the others ask) only.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/averaging/averager.h"
#include "actors/averaging/held_parts.h"
#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/mail.h"
#include "routing/averaging/round_pace.h"

namespace swarm::actors {

using MailPromise = caf::typed_response_promise<Mail>;

/// Before a part is sent again.
constexpr std::chrono::milliseconds kPartRetry{50};

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
  void go_on();
  void ask(uint32_t member, size_t number);
  void answered(uint32_t member, size_t number, const Result<Mail>& reply);
  void check_complete();
  void fail(const Error& error, std::vector<uint32_t> unreached = {});
  bool refuse(const std::set<uint32_t>& not_finite);
  void end(const Error& error, AverageResult named);
  void missed_deadline();
  uint32_t asked_for(uint32_t member) const;
  void abandon(Round round);

  caf::result<Mail> on_mail(const Mail& mail);
  void on_part(const Mail& mail, MailPromise promise);
  Status check_sender(const Mail& mail) const;
  void serve(const Mail& mail, MailPromise promise);
  void pass_on(const Mail& mail, MailPromise promise);
  void hold(const Mail& mail, MailPromise promise);
  void release_held();
  void drop_expired();
  void on_node_down(const NodeInfo& node, const std::string& reason);
  std::string describe() const;
  void quit(const caf::error& reason);
  void later(std::chrono::milliseconds pause, std::function<void()> work) {
    self_->delayed_send(self_, pause, run_later_atom::value, LocalTask(std::move(work)));
  }

  Self* self_ = nullptr;
  AveragerDeps deps_;
  std::unique_ptr<ActiveRound> round_;
  Round newest_;  ///< Started or abandoned; parts of this and older rounds are never held.
  HeldParts held_;
  std::optional<routing::RoundPace> pace_;  ///< Set by start().
  std::string last_round_ = "none";
};

}  // namespace swarm::actors

#include "actors/node/node_supervisor.h"

#include <fmt/format.h>

#include <caf/stateful_actor.hpp>

#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "routing/state/last_bytes.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
/// How often a node that leaves looks what its links still have.
constexpr milliseconds kLook{50};

class SupervisorState {
 public:
  static constexpr const char* name = "node_supervisor";
  using Self = caf::stateful_actor<SupervisorState>;

  void init(Self* self, NodeSupervisorDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
    self_->send(deps_.links, register_atom::value, std::string(kSupervisorName),
                caf::actor_cast<caf::actor>(self_));
    for (const caf::actor& needed : {deps_.links, deps_.dht})
      if (needed) self_->monitor(needed);
    if (!deps_.hold) spawn_all();
  }

  caf::behavior make_behavior() {
    return {
        [this](const Mail& mail) { return on_mail(mail); },
        [this](list_actors_atom) { return ids(); },
        [this](describe_atom, const std::string& id) { return describe(id); },
        [this](begin_atom) { spawn_all(); },
        [this](drain_atom) { return drain(); },
        [](run_later_atom, const LocalTask& task) { task(); },
    };
  }

 private:
  struct Running {
    RoleActors actors;
    uint32_t life = 0;
    int failures_in_a_row = 0;
    caf::actor_clock::time_point spawned_at;
  };

  void spawn_all() {
    if (draining_ || !running_.empty()) return;
    running_.resize(deps_.groups.size());
    for (size_t i = 0; i < running_.size(); ++i) spawn_group(i);
  }

  void spawn_group(size_t index) {
    Running& group = running_[index];
    group.spawned_at = self_->clock().now();
    group.actors = deps_.groups[index].spawn(group.life);
    for (const auto& [name, actor] : group.actors) self_->monitor(actor);
  }

  caf::result<Mail> on_mail(const Mail& mail) {
    if (mail.kind != proto::KIND_STOP_NODE)
      return to_caf(ErrorCode::kInvalidArgument, "a supervisor takes only stop_node");
    const auto& stop = mail.as<proto::StopNode>();
    log_warn(fmt::format("event=stop_asked at_once={:d} reason={}", stop.at_once(), stop.reason()));
    deps_.events->record(-1, -1, records::StopAsked{stop.at_once(), stop.reason()});
    if (stop.at_once())
      deps_.kill_process();
    else
      deps_.stop_process(/*failed=*/false);
    return make_mail(proto::Ack());
  }

  std::vector<std::string> ids() const {
    std::vector<std::string> result;
    for (const auto& group : running_)
      for (const auto& [name, actor] : group.actors)
        if (is_described(name.role)) result.push_back(name.text());
    return result;
  }

  /// Compute actors, checkpointers and mirrors are busy or blocked for long and have no state to tell.
  static bool is_described(Role role) {
    return role != Role::kCompute && role != Role::kCheckpointer && role != Role::kMirror;
  }

  /// The roles that have something to hand over.
  static bool drains(Role role) {
    return role == Role::kStage || role == Role::kTrainer || role == Role::kVoter;
  }

  caf::result<std::string> describe(const std::string& id) {
    const auto name = RoleName::parse(id);
    for (const auto& group : running_) {
      if (!name || !is_described(name->role)) break;
      auto it = group.actors.find(*name);
      if (it == group.actors.end()) continue;
      auto promise = self_->make_response_promise();
      self_->request(it->second, milliseconds(2'000), describe_atom::value)
          .then([promise](const std::string& text) mutable { promise.deliver(text); },
                [promise](const caf::error& error) mutable { promise.deliver(error); });
      return promise;
    }
    return to_caf(ErrorCode::kNotFound, "no actor '" + id + "' on this node");
  }

  void on_down(const caf::down_msg& down) {
    if (draining_) return;
    if (down.source == deps_.links.address() || (deps_.dht && down.source == deps_.dht.address()))
      return end_process(down.source == deps_.links.address() ? "links" : kDhtName,
                         caf::to_string(down.reason));
    for (size_t i = 0; i < running_.size(); ++i) {
      for (const auto& [name, actor] : running_[i].actors) {
        if (actor.address() != down.source) continue;
        if (down.reason == caf::exit_reason::user_shutdown) return begin_anew(i);
        return restart(i, name.text(), caf::to_string(down.reason));
      }
    }
  }

  void end_process(const std::string& actor, const std::string& reason) {
    deps_.events->record(-1, -1, records::ActorFailed{actor, reason});
    log_error("event=actor_failed actor=" + actor + " reason=" + reason + " action=exit");
    deps_.stop_process(/*failed=*/true);
  }

  /// The next spawn is in the next life.
  void end_group(Running& group) {
    RoleActors old = std::move(group.actors);
    group.actors.clear();
    for (const auto& [other, actor] : old) {
      self_->demonitor(actor.address());
      self_->send_exit(actor, caf::exit_reason::kill);
    }
    ++group.life;
  }

  void begin_anew(size_t index) {
    end_group(running_[index]);
    spawn_group(index);
  }

  void restart(size_t index, const std::string& id, const std::string& reason) {
    Running& group = running_[index];
    deps_.events->record(-1, -1, records::ActorFailed{id, reason});
    log_error("event=actor_failed actor=" + id + " reason=" + reason);
    end_group(group);
    if (self_->clock().now() - group.spawned_at >= kGoodService) group.failures_in_a_row = 0;
    if (++group.failures_in_a_row > kMaxRestarts) return deps_.stop_process(/*failed=*/true);
    auto pause = milliseconds(100) * (1 << group.failures_in_a_row);
    self_->delayed_send(self_, pause, run_later_atom::value, LocalTask([this, index] {
                          if (!draining_) spawn_group(index);
                        }));
  }

  caf::result<bool> drain() {
    draining_ = true;
    auto promise = self_->make_response_promise();
    auto left = std::make_shared<size_t>(1);
    const routing::LastBytes bytes(now() + deps_.drain_limit);
    auto one_done = [this, promise, left, bytes] {
      if (--*left == 0) send_rest(bytes, promise);
    };
    for (const auto& group : running_)
      for (const auto& [name, actor] : group.actors) {
        if (!drains(name.role)) continue;
        ++*left;
        const bool stage = name.role == Role::kStage;
        self_->request(actor, deps_.drain_limit, drain_atom::value)
            .then(
                [this, one_done, stage, name = name.text()](bool saved) mutable {
                  if (stage && !saved) unsaved(name, "its last snapshot could not be written");
                  one_done();
                },
                [this, one_done, stage, name = name.text()](const caf::error& error) mutable {
                  const std::string why = to_string(from_caf(error));
                  log_warn(fmt::format("event=drain_failed actor={} error={}", name, why));
                  if (stage) unsaved(name, "it does not say that it was written: " + why);
                  one_done();
                });
      }
    one_done();
    return promise;
  }

  void unsaved(const std::string& actor, const std::string& why) {
    saved_ = false;
    log_error(fmt::format("event=state_unsaved actor={} reason=\"{}\"", actor, why));
    deps_.events->record(-1, -1, records::StateUnsaved{actor, why});
  }

  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  /// Answers that were computed, states that somebody fetches.
  void send_rest(routing::LastBytes bytes, const caf::response_promise& promise) {
    auto look = [this, bytes, promise](const LinksStats& stats) mutable {
      uint64_t queued = 0;
      for (const LinkStats& link : stats.links) queued += link.queued_answer_bytes;
      if (!bytes.go_on(queued, stats.send_bytes_per_s, now())) return end(promise);
      self_->delayed_send(self_, kLook, run_later_atom::value,
                          LocalTask([this, bytes, promise] { send_rest(bytes, promise); }));
    };
    self_->request(deps_.links, milliseconds(1'000), stats_atom::value)
        .then(look, [this, promise](const caf::error&) { end(promise); });
  }

  void end(caf::response_promise promise) {
    for (const auto& group : running_)
      for (const auto& [name, actor] : group.actors)
        self_->send_exit(actor, caf::exit_reason::user_shutdown);
    promise.deliver(saved_);
    self_->quit();
  }

  Self* self_ = nullptr;
  NodeSupervisorDeps deps_;
  std::vector<Running> running_;
  bool draining_ = false;
  bool saved_ = true;  ///< What its stages held is on the disk.
};

}  // namespace

caf::actor spawn_node_supervisor(caf::actor_system& system, NodeSupervisorDeps deps) {
  return system.spawn([deps = std::move(deps)](SupervisorState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors

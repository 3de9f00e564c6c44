#include "actors/node/node.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <thread>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/echo.h"
#include "actors/net/links/knock.h"
#include "actors/net/links/links.h"
#include "actors/net/links/refusal_gate.h"
#include "actors/net/links/socket.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/mail_roles.h"
#include "actors/net/requests.h"
#include "actors/net/system_config.h"
#include "actors/node/audit_keeping.h"
#include "actors/node/call_back.h"
#include "actors/node/console.h"
#include "actors/node/dial_back.h"
#include "actors/node/entrance.h"
#include "actors/node/farewell.h"
#include "actors/node/node_log.h"
#include "actors/node/node_supervisor.h"
#include "actors/node/records_desk.h"
#include "actors/node/roles.h"
#include "actors/node/watch.h"
#include "actors/node/watchdog.h"
#include "common/hangups.h"
#include "records/folder_lock.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr char kUnsaved[] = "leaves, and its last state is not on its disk (event state_unsaved)";

class RunningNode : public Node {
 public:
  RunningNode(const NodeOptions& options, const NodeDeps& deps) : options_(options), deps_(deps) {}

  Status start() {
    block_signals();
    if (auto opened = open_folder(); !opened) return opened;
    if (options_.trainer) {
      auto data = tensor::open_text_data(options_.data, options_.model.sequence);
      if (!data) return data.error();
      data_ = *data;
    }
    system_ = std::make_unique<caf::actor_system>(config_);
    if (auto linked = start_links(); !linked) return linked;
    DhtDeps dht{id_, endpoint_, links_, options_.dht, options_.run_id, options_.join};
    dht_ = spawn_dht_node(*system_, dht);
    echo_ = spawn_echo(*system_, links_);
    joining_.dial_back = spawn_dial_back(*system_, links_, knock());
    joining_.call_back = spawn_call_back(*system_, CallBackDeps{id_, endpoint_, links_, dht_});
    NodeSupervisorDeps supervisor;
    supervisor.links = links_;
    supervisor.dht = dht_;
    supervisor.events = events_;
    supervisor.groups = role_groups(role_context());
    supervisor.kill_process = [] { ::kill(::getpid(), SIGKILL); };
    supervisor.stop_process = [this](bool failed) { stop(failed); };
    supervisor.hold = true;
    supervisor.drain_limit = drain_times(options_.grace_s).roles;
    supervisor_ = spawn_node_supervisor(*system_, std::move(supervisor));
    console_ = spawn_console(
        *system_, {id_, options_.name, options_.dht, links_, dht_, supervisor_, disk_.lost_lines});
    events_->record(-1, -1, records::NodeStarted{endpoint_.text(), id_.hex()});
    log_info("event=started name=" + options_.name + " id=" + id_.hex() +
             " endpoint=" + endpoint_.text());
    if (!options_.launched) spawn_farewell_actor();
    spawn_records_actor();
    spawn_entrance_actor();
    watch_actors();
    return {};
  }

  const NodeId& id() const override { return id_; }
  const Endpoint& endpoint() const override { return endpoint_; }
  const Endpoint& listening() const override { return listening_; }
  Endpoint reached_here() const override {
    return links::is_wildcard(listening_.host) ? Endpoint{"127.0.0.1", listening_.port}
                                               : listening_;
  }

  int run() override {
    sigset_t signals = handled_signals();
    timespec pause{0, 100'000'000};
    while (!stop_) {
      int signal = ::sigtimedwait(&signals, nullptr, &pause);
      if (signal > 0) break;
      if (deps_.spot_notice && must_leave(deps_.spot_notice(), *events_, deps_.say)) break;
    }
    shut_down();
    return exit_code();
  }

  ~RunningNode() override {
    if (system_) shut_down();
  }

 private:
  /// Who was told to leave has not failed, whatever became of its last snapshot (kUnsaved).
  int exit_code() const { return failed_ ? 1 : 0; }

  void stop(bool failed) {
    failed_ = failed_ || failed;
    stop_ = true;
  }

  /// Roles are spawned anew by the supervisor, which watches links and DHT too; these are not.
  void watch_actors() {
    for (const auto& [name, actor] : {std::pair("supervisor", supervisor_),
                                      {"console", console_},
                                      {"echo", echo_},
                                      {"records", joining_.records},
                                      {"entrance", joining_.entrance},
                                      {"farewell", joining_.farewell},
                                      {"dial_back", joining_.dial_back},
                                      {"call_back", joining_.call_back},
                                      {"links_follower", follower_}})
      if (actor)
        watch(actor, [this, name = std::string(name)](const std::string& why) {
          events_->record(-1, -1, records::ActorFailed{name, why});
          log_error("event=actor_failed actor=" + name + " reason=" + why + " action=exit");
          stop(/*failed=*/true);
        });
  }

  Knock knock() const {
    return [options = links_options_](const Endpoint& at) { return links::knock(at, options); };
  }

  /// Lets the roles begin once the node is in its swarm.
  void spawn_entrance_actor() {
    EntranceDeps deps;
    deps.self = id_;
    deps.endpoint = endpoint_;
    deps.node_name = options_.name;
    deps.join = options_.join;
    deps.dht_options = options_.dht;
    deps.launched = options_.launched;
    deps.links = links_;
    deps.dht = dht_;
    deps.events = events_;
    deps.knock = knock();
    deps.say = deps_.say;
    deps.how_to_join = deps_.how_to_join;
    deps.alive = deps_.alive;
    deps.admitted = [supervisor = supervisor_, farewell = joining_.farewell] {
      caf::anon_send(supervisor, begin_atom::value);
      if (farewell) caf::anon_send(farewell, begin_atom::value);
    };
    deps.turned_away = [this] { stop(/*failed=*/true); };
    deps.hard_to_reach = [flag = joining_.hard_to_reach] { *flag = true; };
    joining_.entrance = spawn_entrance(*system_, std::move(deps));
  }

  void spawn_farewell_actor() {
    FarewellDeps deps;
    deps.dht = dht_;
    deps.linger_s = options_.linger_s;
    deps.stays = options_.stays;
    deps.collects = options_.collects;
    deps.trainer = options_.trainer;
    deps.records = options_.node_folder();
    deps.finished = deps_.finished;
    deps.alive = deps_.alive;
    deps.say = deps_.say;
    deps.leave = [this] { stop(/*failed=*/false); };
    joining_.farewell = spawn_farewell(*system_, std::move(deps));
  }

  void spawn_records_actor() {
    RecordsDeskDeps deps;
    deps.links = links_;
    deps.dht = dht_;
    deps.node_folder = options_.node_folder();
    deps.run_id = options_.run_id;
    deps.node_name = options_.name;
    deps.num_stages = static_cast<uint32_t>(options_.num_stages);
    deps.store = disk_.store;
    deps.collected = [farewell = joining_.farewell](bool finished) {
      if (farewell) caf::anon_send(farewell, collected_atom::value, finished);
    };
    deps.read = [farewell = joining_.farewell] {
      if (farewell) caf::anon_send(farewell, reading_atom::value);
    };
    joining_.records = spawn_records_desk(*system_, std::move(deps));
  }

  /// On the links' thread.
  std::function<void(const Refusal&)> tell_refusals() const {
    auto gate = std::make_shared<links::RefusalGate>();  // one owner: the links
    auto mail_gate = std::make_shared<links::RefusalGate>();
    return [gate, mail_gate, events = events_](const Refusal& refusal) {
      const auto now = std::chrono::steady_clock::now();
      if (!refusal.node.empty()) {
        if (!mail_gate->passes(refusal.address, refusal.dialled, now)) return;
        log_warn("event=mail_refused sender=" + refusal.node + " reason=\"" + refusal.reason +
                 "\"");
        return events->record(-1, -1,
                              records::MailRefused{refusal.node, refusal.address, refusal.reason});
      }
      if (!gate->passes(refusal.address, refusal.dialled, now)) return;
      log_warn("event=refused address=" + refusal.address + " reason=\"" + refusal.reason + "\"");
      events->record(-1, -1, records::Refused{refusal.address, refusal.dialled, refusal.reason});
    };
  }

  static sigset_t handled_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (!hangups_are_ignored()) sigaddset(&signals, SIGHUP);
    return signals;
  }

  static void block_signals() {
    sigset_t signals = handled_signals();
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // inherited by every later thread
    ::signal(SIGPIPE, SIG_IGN);
  }

  Status open_folder() {
    std::error_code error;
    std::string folder = options_.node_folder();
    std::filesystem::create_directories(folder, error);
    if (error) return Error{ErrorCode::kIo, "cannot make " + folder + ": " + error.message()};
    auto lock = records::FolderLock::take(folder, std::chrono::seconds(5));
    if (!lock) return lock.error();
    disk_.lock = std::move(*lock);
    const records::SegmentLimits limits = {uint64_t(options_.records_mb) << 20};
    auto log = open_node_log(folder + "/log.txt", limits, disk_.lost_lines);
    if (!log) return log.error();
    open_log(std::move(*log), options_.log_level, options_.name);
    auto events = records::open_event_log(folder, options_.name, limits,
                                          audit_limits(options_, options_.name), disk_.lost_lines);
    if (!events) return events.error();
    events_ = *events;
    if (options_.stages.empty()) return {};
    auto store = deps_.open_store(options_.checkpoint.store, folder);
    if (store.code() == ErrorCode::kCorruptCheckpoint) store = begin_empty(folder, store.error());
    if (!store) return store.error();
    disk_.store = *store;
    return {};
  }

  /// The state is fetched from others; whatever can still be read of the damaged one is kept.
  Result<std::shared_ptr<storage::CheckpointStore>> begin_empty(const std::string& folder,
                                                                const Error& damage) {
    const auto kind = options_.checkpoint.store;
    const auto aside = deps_.set_store_aside(kind, folder, fmt::format("{}", ::time(nullptr)));
    if (!aside) return Error{aside.code(), damage.detail + "; " + aside.error().detail};
    log_error("event=store_set_aside path=" + *aside + " reason=\"" + damage.detail + "\"");
    events_->record(-1, -1, records::StoreSetAside{*aside, damage});
    deps_.say("sets its damaged database aside as " + *aside + " and begins with an empty one");
    return deps_.open_store(kind, folder);
  }

  Status start_links() {
    LinksOptions& links = links_options_ = options_.links;
    links.node_id = id_ = NodeId::random();
    links.on_refused = tell_refusals();
    links.node_name = options_.name;
    links.run_id = options_.run_id;
    links.config_fingerprint = options_.config_fingerprint;
    links.roles = (options_.stages.empty() ? 0u : links::kPeer) |
                  (options_.trainer ? links::kTrainer | links::kCoordinator : 0u);
    auto announced = links::announced(links);
    if (!announced) return announced.error();
    links.announce = *announced;
    auto listening = spawn_tcp_links(*system_, links);
    if (!listening) return listening.error();
    links_ = listening->links;
    listening_ = listening->endpoint;
    if (deps_.new_shape)
      follower_ = spawn_links_follower(*system_, {links_, events_, deps_.new_shape});
    endpoint_ = links.announce.host.empty() ? listening->endpoint : links.announce;
    if (endpoint_.port == 0) endpoint_.port = listening->endpoint.port;
    return {};
  }

  std::shared_ptr<const RoleContext> role_context() const {
    auto context = std::make_shared<RoleContext>();
    context->system = system_.get();
    context->options = options_;
    context->node = id_;
    context->endpoint = endpoint_;
    context->links = links_;
    context->dht = dht_;
    context->events = events_;
    context->store = disk_.store;
    context->serves = std::make_shared<records::KeptStages>(options_.node_folder(), options_.run_id,
                                                            options_.stages);
    context->voter_disk = voter_file(options_.node_folder(), events_);
    context->data = data_;
    if (data_)
      context->own_text = {data_->fingerprint(), options_.data.train.front(), options_.name};
    context->text = std::make_shared<records::KeptText>(options_.node_folder(), options_.run_id);
    context->hard_to_reach = joining_.hard_to_reach;
    context->say = deps_.say;
    context->make_stage = [deps = deps_,
                           threads = options_.threads](const tensor::StageOptions& stage) {
      if (deps.set_compute_threads) deps.set_compute_threads(threads);  // OpenMP counts by thread
      return deps.make_stage(stage);
    };
    return context;
  }

  /// Top-down, each with a deadline: roles, console, DHT, links, the actor system, the database.
  void shut_down() {
    const DrainTimes times = drain_times(options_.grace_s);
    Watchdog watchdog(times.process, exit_code());
    deps_.leaving();
    events_->record(-1, -1, records::NodeLeaving{});
    if (supervisor_) {
      caf::scoped_actor self(*system_);
      self->request(supervisor_, times.node, drain_atom::value)
          .receive([this](bool saved) { saved ? void() : deps_.say(kUnsaved); },
                   [this](const caf::error& error) {
                     deps_.say(kUnsaved);  // first: a hung disk takes no record
                     events_->record(-1, -1,
                                     records::StateUnsaved{kSupervisorName, caf::to_string(error)});
                   });
    }
    for (caf::actor* actor :
         {&joining_.entrance, &joining_.farewell, &joining_.dial_back, &joining_.call_back,
          &joining_.records, &console_, &echo_, &supervisor_, &dht_, &follower_, &links_}) {
      if (!*actor) continue;
      caf::anon_send_exit(*actor, caf::exit_reason::user_shutdown);
      *actor = nullptr;
    }
    wait_for_actors();
    disk_.store.reset();  // every actor has ended: this closes the database
    // CAF's destructor stops its clock and then waits for every detached actor to be freed, which a
    // pending timer may prevent for ever. Nothing is left to end: the process exits instead.
    static_cast<void>(system_.release());
    events_->record(-1, -1, records::NodeLeft{});
    log_info("event=left");
  }

  void wait_for_actors() {
    auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (system_->registry().running() > 0) {
      if (std::chrono::steady_clock::now() >= give_up_at) {
        log_warn("event=actors_left count=" + std::to_string(system_->registry().running()));
        return;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  NodeOptions options_;
  NodeDeps deps_;
  NodeId id_;
  Endpoint endpoint_, listening_;
  LinksOptions links_options_;
  struct {
    std::unique_ptr<records::FolderLock> lock;        // until all that writes there is gone
    std::shared_ptr<storage::CheckpointStore> store;  // shared with every stage
    records::LostLines lost_lines = std::make_shared<std::atomic<uint64_t>>(0);
  } disk_;
  std::shared_ptr<EventLog> events_;              // shared with every role
  std::shared_ptr<const tensor::TextData> data_;  // shared with the trainer
  std::atomic<bool> stop_{false}, failed_{false};
  SystemConfig config_;
  std::unique_ptr<caf::actor_system> system_;  // dies before what its actors use
  caf::actor links_, dht_, supervisor_, console_, echo_, follower_;
  struct {
    caf::actor dial_back, call_back, entrance, farewell, records;
    // Shared with the coordinator.
    std::shared_ptr<std::atomic<bool>> hard_to_reach = std::make_shared<std::atomic<bool>>(false);
  } joining_;
};

}  // namespace

Result<std::unique_ptr<Node>> Node::start(const NodeOptions& options, const NodeDeps& deps) {
  auto node = std::make_unique<RunningNode>(options, deps);
  auto started = node->start();
  if (!started) return started.error();
  return std::unique_ptr<Node>(std::move(node));
}

}  // namespace swarm::actors

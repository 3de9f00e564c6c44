#include "apps/launch/launcher.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "actors/node/drain_times.h"
#include "apps/launch/child_process.h"
#include "apps/launch/devices.h"
#include "apps/launch/full_disk.h"
#include "apps/launch/programs.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/timeline.h"
#include "common/hangups.h"
#include "records/files.h"

namespace swarm::launch {
namespace {

using Clock = std::chrono::steady_clock;
using config::TimelineAction;

constexpr int kPollMs = 100;
constexpr size_t kMaxJoin = 4;
volatile std::sig_atomic_t g_interrupts = 0;

void on_interrupt(int) { g_interrupts = g_interrupts + 1; }

}  // namespace

Launcher::Launcher(config::Experiment experiment, LaunchOptions options)
    : experiment_(std::move(experiment)),
      options_(std::move(options)),
      state_(static_cast<uint32_t>(experiment_.base.num_stages), experiment_.base.training.steps),
      merged_(options_.folder, experiment_.base),
      tensorboard_(options_.folder, most_bytes(experiment_.base)),
      stall_(experiment_.run.stall_limit_s),
      links_(links_file(options_.folder)),
      chaos_(experiment_) {
  experiment_.timeline = with_preemptions(experiment_);
  for (const auto& spec : experiment_.nodes) {
    const std::string folder = options_.folder + "/nodes/" + spec.name;
    nodes_.push_back(
        std::unique_ptr<Node>(new Node{spec,
                                       folder,
                                       {},
                                       {},
                                       false,
                                       false,
                                       LineTail(folder + "/events.jsonl"),
                                       LineTail(folder + "/metrics.jsonl"),
                                       LineTail(folder + "/audit.jsonl", kMaxAuditLine),
                                       Restarts(experiment_.run.restarts),
                                       0,
                                       {}}));
  }
}

Launcher::~Launcher() {
  for (auto& node : nodes_)
    if (node->process) node->process->signal(SIGKILL);
}

RunReport Launcher::run() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
  if (!hangups_are_ignored()) ::sigaction(SIGHUP, &action, nullptr);
  g_interrupts = 0;
  started_at_ = Clock::now();
  if (nodes_.empty()) {
    fail("the experiment lists no [[nodes]]");
    return report_;
  }
  if (crowded_threads(experiment_, cores_here()) > 0) spin_briefly();
  if (options_.resume) load_history();
  stall_.begin(state_.progress_seen(), seconds_since_start());
  while (!over_) {
    poll_children();
    if (!over_) start_next_nodes();
    poll_files();
    if (!over_) follow_timeline();
    if (!over_) follow_chaos();
    if (!over_ && !judge()) break;
    ::poll(nullptr, 0, kPollMs);  // a signal wakes it
  }
  stop_all();
  poll_files();
  for (const auto& node : nodes_)
    if (node->audit.unfinished())
      record(node->spec.name, records::AuditLineDamaged{node->folder + "/audit.jsonl", 0});
  report_.seconds = seconds_since_start();
  return report_;
}

/// The first node alone, the second joins it, all others join these two. Those that crashed, when their
/// time has come.
bool Launcher::start_next_nodes() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = *nodes_[i];
    if (node.process) {
      const bool due = node.start_at_s && *node.start_at_s <= seconds_since_start();
      if (due && !start(node)) return false;
      if (i < 2 && !node.listening && node.process->running()) return true;
      continue;
    }
    if (!start(node)) return false;
    if (i < 2) return true;
  }
  return true;
}

bool Launcher::start(Node& node) {
  std::error_code ignored;
  std::filesystem::create_directories(node.folder, ignored);
  std::filesystem::remove(node.folder + "/node.json", ignored);
  end_torn_lines(node);
  std::vector<std::string> arguments = {
      options_.program, "node",         options_.folder + "/config.toml",
      "--name",         node.spec.name, "--run-folder",
      options_.folder,  "--launched"};
  if (links_.wanted(experiment_)) {
    arguments.push_back("--follow-links");
    arguments.push_back(links_file(options_.folder));
  }
  if (const auto listen = restart_at(node)) {
    arguments.push_back("--listen");
    arguments.push_back(listen->text());
  }
  for (const auto& endpoint : living_endpoints(node)) {
    arguments.push_back("--join");
    arguments.push_back(endpoint.text());
  }
  if (uses(experiment_, TimelineAction::kFullDisk)) {
    const auto prefix = full_disk_prefix(node.folder);
    if (!prefix) return fail(to_string(prefix.error())), false;
    if (options_.program == "/proc/self/exe") arguments[0] = *own_program();
    arguments.insert(arguments.begin(), prefix->begin(), prefix->end());
  }
  auto process = ChildProcess::start(arguments, node.folder + "/output.txt");
  if (!process) {
    fail(fmt::format("cannot start {}: {}", node.spec.name, to_string(process.error())));
    return false;
  }
  node.process = *process;
  node.listening = false;
  node.stop_expected = false;
  node.began_at_s = seconds_since_start();
  node.start_at_s.reset();
  return true;
}

/// A node that starts again takes the port that others know; where it is told that by the
/// configuration, there is nothing to add.
std::optional<Endpoint> Launcher::restart_at(const Node& node) const {
  const auto& base = experiment_.base.links;
  Endpoint listen = node.spec.listen.host.empty() ? base.listen : node.spec.listen;
  const Endpoint& announced = node.spec.announce.host.empty() ? base.announce : node.spec.announce;
  if (!node.endpoint || listen.port != 0 || announced.port != 0) return std::nullopt;
  listen.port = node.endpoint->port;
  return listen;
}

std::vector<Endpoint> Launcher::living_endpoints(const Node& except) const {
  std::vector<Endpoint> out;
  for (const auto& node : nodes_) {
    const bool alive = node->process && node->process->running() && node->listening;
    if (alive && node.get() != &except && out.size() < kMaxJoin) out.push_back(*node->endpoint);
  }
  return out;
}

void Launcher::poll_children() {
  for (auto& node : nodes_) {
    if (!node->process) continue;
    if (node->process->reap()) {
      on_exit(*node);
    } else if (node->process->running() && !node->listening) {
      const auto file = read_node_file(node->folder);
      if (!file || file->pid != node->process->pid()) continue;
      node->listening = true;
      node->endpoint = file->endpoint;
      record(node->spec.name, records::ProcessStarted{file->pid, file->endpoint.text()});
    }
  }
}

void Launcher::on_exit(Node& node) {
  const std::string how = node.process->exit()->text();
  const bool never_listened = !node.listening;
  node.listening = false;
  if (node.stop_expected || over_) {
    record(node.spec.name, records::ProcessEnded{how});
    return;
  }
  // Told by somebody else: a spot notice, the console, a signal by hand.
  const bool left = node.process->exit()->signal == 0 && node.process->exit()->code == 0;
  if (left)
    record(node.spec.name, records::ProcessEnded{how});
  else
    record(node.spec.name, records::ProcessLost{how});
  const bool never_served = never_listened && !node.endpoint;  // nor did a process before it
  if (never_served && node.process->exit()->signal == 0)
    return fail(node.spec.name + " did not start (" + how + "): " + last_output(node));
  const auto lived_s = seconds_since_start() - node.began_at_s;
  if (const auto pause = left ? std::nullopt : node.restarts.next(lived_s)) {
    node.start_at_s = seconds_since_start() + *pause;
    return record(node.spec.name,
                  records::ProcessRestarts{node.restarts.in_a_row(), experiment_.run.restarts,
                                           records::seconds_as_millis(*pause)});
  }
  if (!left && experiment_.run.restarts > 0)
    record(node.spec.name, records::ProcessStaysDown{experiment_.run.restarts});
  std::set<std::string> alive = chaos_.returning();
  for (const auto& other : nodes_)
    if (!other->process || other->process->running() || other->start_at_s)
      alive.insert(other->spec.name);
  const auto now = as_served(experiment_, options_.folder);
  const std::string why = cannot_go_on(now, alive, state_.timeline_done());
  poll_files();
  if (!why.empty() && !state_.finished()) fail(why + " (" + node.spec.name + ": " + how + ")");
}

void Launcher::follow_timeline() {
  const auto all_started = [&] {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const auto& n) { return bool(n->process); });
  };
  if (!all_started()) return;
  for (const size_t index : due(experiment_.timeline, state_.timeline_done(), state_.steps_closed(),
                                seconds_since_start()))
    act(index);
}

void Launcher::act(size_t index) {
  const auto& entry = experiment_.timeline[index];
  Node* node = find(entry.node);
  record(entry.node, records::TimelineAct{index, config::to_string(entry.action)});
  if (entry.action == TimelineAction::kLink) {
    if (const auto written = links_.append(entry.link); !written)
      fail("cannot change links: " + to_string(written.error()));
    return;
  }
  if (node != nullptr && node->process) apply(*node, entry.action);
}

void Launcher::apply(Node& node, TimelineAction action) {
  switch (action) {
    case TimelineAction::kKill:
      node.start_at_s.reset();
      node.stop_expected = true;
      node.process->signal(SIGKILL);
      break;
    case TimelineAction::kStart:
      if (node.stop_expected) wait_until_gone(node);
      if (!node.process->running()) start(node);
      break;
    case TimelineAction::kPause:
      node.process->signal(SIGSTOP);
      break;
    case TimelineAction::kResume:
      node.process->signal(SIGCONT);
      break;
    case TimelineAction::kStop:
      node.start_at_s.reset();
      node.stop_expected = true;
      node.process->signal(SIGTERM);
      break;
    case TimelineAction::kCut:
    case TimelineAction::kHeal:
      if (const auto done = links_.cut(node.spec.name, action == TimelineAction::kCut); !done)
        fail("cannot change links: " + to_string(done.error()));
      break;
    case TimelineAction::kFullDisk:
    case TimelineAction::kFreeDisk:
      if (const auto done = set_disk_full(node.folder, action == TimelineAction::kFullDisk); !done)
        fail(to_string(done.error()));
      break;
    case TimelineAction::kLink:
      break;  // not done to a node
  }
}

/// What was killed is gone within milliseconds; its port is free then. What was asked to stop had
/// its time.
void Launcher::wait_until_gone(Node& node) {
  node.process->signal(SIGKILL);
  for (int i = 0; i < 200 && node.process->running(); ++i) {
    if (node.process->reap()) return on_exit(node);
    ::poll(nullptr, 0, 10);
  }
}

bool Launcher::judge() {
  if (g_interrupts > 0) {
    report_.outcome = Outcome::kInterrupted;
    report_.reason = "interrupted";
    over_ = true;
  } else if (state_.finished()) {
    report_.reason = state_.not_durable();
    report_.outcome = report_.reason.empty() ? Outcome::kFinished : Outcome::kNotDurable;
    over_ = true;
  } else if (state_.diverged()) {
    fail("the model has diverged; " + state_.last_trouble());
  } else if (resume_.hopeless(!state_.nothing_common().empty(), chaos_facts().down.empty(),
                              seconds_since_start())) {
    fail("no step can be supplied for every stage: " + state_.nothing_common() +
         "; put the missing databases back, or begin anew with: swarm run --restart " +
         options_.folder);
  } else if (const double now_s = seconds_since_start();
             stall_.stalls(state_.progress_seen(), now_s)) {
    const std::string& trouble = state_.last_trouble();
    const size_t missing = nodes_.size() - state_.nodes_begun();
    fail(fmt::format("no step was finished for {:.0f} s (run.stall_limit_s is {:g}){}{}",
                     stall_.waits_s(now_s), experiment_.run.stall_limit_s,
                     missing == 0 ? "" : fmt::format("; {} nodes have not begun", missing),
                     trouble.empty() ? "" : "; last trouble: " + trouble));
  }
  return !over_;
}

/// SIGTERM to all, paused ones too; SIGKILL when the limit has passed or on another interrupt.
void Launcher::stop_all() {
  over_ = true;
  const auto limit = Clock::now() + actors::drain_times(experiment_.base.grace_s).launcher;
  const std::sig_atomic_t interrupts = g_interrupts;
  for (auto& node : nodes_) {
    if (!node->process) continue;
    node->process->signal(SIGCONT);
    node->process->signal(SIGTERM);
  }
  while (any_running() && Clock::now() < limit && g_interrupts <= interrupts) {
    poll_children();
    poll_files();
    ::poll(nullptr, 0, kPollMs / 2);
  }
  for (auto& node : nodes_)
    if (node->process) node->process->signal(SIGKILL);
  while (any_running()) {
    poll_children();
    ::poll(nullptr, 0, 10);
  }
}

bool Launcher::any_running() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const auto& node) { return node->process && node->process->running(); });
}

std::string Launcher::last_output(const Node& node) const {
  const auto lines = LineTail(node.folder + "/output.txt").poll();
  std::string out;
  for (size_t i = lines.size() > 3 ? lines.size() - 3 : 0; i < lines.size(); ++i)
    out += (out.empty() ? "" : "\n  ") + lines[i];
  return out.empty() ? "see " + node.folder : out;
}

void Launcher::record_event(const std::string& node, records::Event event) {
  event.time_s = records::unix_now_s();
  event.node = node;
  merge_event(to_json(event));
}

void Launcher::fail(const std::string& reason) {
  report_.outcome = Outcome::kFailed;
  report_.reason = reason;
  over_ = true;
}

double Launcher::seconds_since_start() const {
  return std::chrono::duration<double>(Clock::now() - started_at_).count();
}

Launcher::Node* Launcher::find(const std::string& name) {
  for (auto& node : nodes_)
    if (node->spec.name == name) return node.get();
  return nullptr;
}

}  // namespace swarm::launch

// `swarm bench averaging`: forks one process a peer, says when rounds start, times them.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "apps/bench.h"
#include "apps/bench_averaging_peer.h"
#include "apps/bench_figures.h"
#include "apps/bench_gloo.h"
#include "common/result.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;

/// The processes of one measurement.
class Peers {
 public:
  ~Peers();
  /// Requires that this process has no threads. Errors: kIo, and what the peers say.
  Status start(uint32_t count, uint64_t elements, const std::string& folder);
  /// Tells all, waits for all; the seconds it took. Errors: kInternal with the peer's words.
  Result<double> tell(PeerCommand command);
  const std::vector<PeerAnswer>& answers() const { return answers_; }

 private:
  struct Child {
    pid_t pid;
    int control;
  };
  Status collect();

  std::vector<Child> children_;
  std::vector<PeerAnswer> answers_;
};

Peers::~Peers() {
  for (auto& child : children_) ::close(child.control);  // they end by themselves
  for (auto& child : children_) {
    for (int i = 0; i < 300 && child.pid > 0; ++i) {
      if (::waitpid(child.pid, nullptr, WNOHANG) != 0)
        child.pid = 0;
      else
        ::usleep(10'000);
    }
    if (child.pid == 0) continue;
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
  }
}

Status Peers::start(uint32_t count, uint64_t elements, const std::string& folder) {
  std::fflush(nullptr);  // a child must not print what the parent has not yet printed
  for (uint32_t index = 0; index < count; ++index) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      return Error{ErrorCode::kIo, "no socket pair"};
    const pid_t pid = ::fork();
    if (pid < 0) return Error{ErrorCode::kIo, "cannot fork"};
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      for (auto& child : children_) ::close(child.control);
      ::_exit(run_averaging_peer(ends[1], index, count, elements, folder));
    }
    ::close(ends[1]);
    children_.push_back({pid, ends[0]});
  }
  if (auto opened = collect(); !opened) return opened;
  std::vector<char> packet(sizeof(PeerCommand) + count * sizeof(PeerAddress));
  PeerCommand members;
  members.count = count;
  std::memcpy(packet.data(), &members, sizeof members);
  for (uint32_t i = 0; i < count; ++i)
    std::memcpy(packet.data() + sizeof members + i * sizeof(PeerAddress), &answers_[i].address,
                sizeof(PeerAddress));
  for (auto& child : children_)
    (void)!::send(child.control, packet.data(), packet.size(), MSG_NOSIGNAL);
  return collect();
}

Status Peers::collect() {
  answers_.assign(children_.size(), {});
  for (size_t i = 0; i < children_.size(); ++i) {
    auto& answer = answers_[i];
    if (::recv(children_[i].control, &answer, sizeof answer, 0) != sizeof answer)
      return Error{ErrorCode::kInternal, "peer " + std::to_string(i) + " died"};
    if (!answer.good)
      return Error{ErrorCode::kInternal, "peer " + std::to_string(i) + ": " + answer.error};
  }
  return {};
}

Result<double> Peers::tell(PeerCommand command) {
  const auto start = Clock::now();
  for (auto& child : children_)
    (void)!::send(child.control, &command, sizeof command, MSG_NOSIGNAL);
  if (auto done = collect(); !done) return done.error();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Measurement {
 public:
  Measurement(uint64_t elements, uint32_t peers, int rounds) : rounds_(rounds) {
    figures_.elements = elements;
    figures_.peers = peers;
  }
  Result<AveragingFigures> run(const std::string& folder);

 private:
  Result<double> ours();
  Result<double> gloo();
  Status choose_gloo();
  Status check();

  int rounds_;
  uint64_t round_ = 0;
  AveragingFigures figures_;
  Peers peers_;
};

Result<double> Measurement::ours() {
  auto seconds = peers_.tell({PeerCommand::kOurs, 0, ++round_});
  if (!seconds) return seconds;
  for (const auto& answer : peers_.answers())
    if (answer.digest != peers_.answers()[0].digest)
      return Error{ErrorCode::kInternal, "the peers' means are not the same bits"};
  return seconds;
}

Result<double> Measurement::gloo() {
  if (auto filled = peers_.tell({PeerCommand::kRefill, 0, 0}); !filled) return filled;
  return peers_.tell({PeerCommand::kGloo, 0, 0});
}

/// Gloo's fastest all-reduce here: each one once to warm up, once to measure.
Status Measurement::choose_gloo() {
  size_t best = 0;
  double best_s = 0;
  for (size_t i = 0; i <= GlooPeer::algorithms().size(); ++i) {
    const bool last = i == GlooPeer::algorithms().size();
    auto made = peers_.tell({PeerCommand::kPrepare, 0, last ? best : i});
    if (!made) return made.error();
    auto warm = gloo();
    if (!warm) return warm.error();
    if (last) break;
    auto seconds = gloo();
    if (!seconds) return seconds.error();
    if (i == 0 || *seconds < best_s) {
      best = i;
      best_s = *seconds;
    }
  }
  figures_.gloo_algorithm = GlooPeer::algorithms()[best];
  return {};
}

Status Measurement::check() {
  auto checked = peers_.tell({PeerCommand::kCheck, 0, GlooPeer::available() ? 1u : 0u});
  return checked ? Status() : checked.error();
}

Result<AveragingFigures> Measurement::run(const std::string& folder) {
  auto started =
      peers_.start(figures_.peers, figures_.elements, GlooPeer::available() ? folder : "");
  if (!started) return started.error();
  auto first = ours();
  if (!first) return first.error();
  figures_.first_s = *first;
  if (GlooPeer::available())
    if (auto chosen = choose_gloo(); !chosen) return chosen.error();
  for (int i = 0; i < rounds_; ++i) {  // turn and turn about: machines drift
    auto seconds = ours();
    if (!seconds) return seconds.error();
    figures_.ours_s.push_back(*seconds);
    if (!GlooPeer::available()) continue;
    auto theirs = gloo();
    if (!theirs) return theirs.error();
    figures_.gloo_s.push_back(*theirs);
  }
  if (auto checked = check(); !checked) return checked.error();
  return figures_;
}

Result<AveragingFigures> measure(uint64_t elements, uint32_t peers, int rounds) {
  char folder[] = "/tmp/swarm-bench-averaging-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return Error{ErrorCode::kIo, "cannot make a folder in /tmp"};
  auto figures = Measurement(elements, peers, rounds).run(folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return figures;
}

}  // namespace

int bench_averaging(const AveragingBenchOptions& options) {
  if (!GlooPeer::available())
    std::fprintf(stderr, "built without Gloo (libgloo-dev): nothing to compare with\n");
  std::vector<AveragingFigures> all;
  for (uint64_t elements : options.elements)
    for (uint32_t peers : options.peers) {
      auto figures = measure(elements, peers, options.rounds);
      if (!figures) {
        std::fprintf(stderr, "swarm bench: %s\n", to_string(figures.error()).c_str());
        return 1;
      }
      all.push_back(*figures);
    }
  std::fputs((options.json ? averaging_json(all) : averaging_table(all)).c_str(), stdout);
  return 0;
}

}  // namespace swarm::apps

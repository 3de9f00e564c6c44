// `swarm bench averaging`: forks one process a peer, says when rounds start, times them.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "apps/bench/bench.h"
#include "apps/bench/figures/bench_figures.h"
#include "apps/compute/bench_averaging_peer.h"
#include "apps/compute/bench_gloo.h"
#include "apps/compute/compute.h"
#include "common/result.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kNoLimit{600};
constexpr std::chrono::seconds kGlooLimit{20};  // of one all-reduce; a healthy one takes 2

/// The processes of one measurement.
class Peers {
 public:
  ~Peers();
  /// Requires that this process has no threads. Errors: kIo, and what the peers say.
  Status start(uint32_t count, uint64_t elements, const std::string& folder);
  /// Tells all, waits for all; the seconds it took. Errors: kInternal with the peer's words,
  /// kPeerTimeout after `limit`: then the peers are of no more use.
  Result<double> tell(PeerCommand command, std::chrono::seconds limit = kNoLimit);
  const std::vector<PeerAnswer>& answers() const { return answers_; }

 private:
  struct Child {
    pid_t pid;
    int control;
  };
  Status collect(std::chrono::seconds limit = kNoLimit);

  std::vector<Child> children_;
  std::vector<PeerAnswer> answers_;
};

Peers::~Peers() {
  for (auto& child : children_) ::close(child.control);
  for (auto& child : children_) ::kill(child.pid, SIGKILL);  // nothing of theirs is worth keeping
  for (auto& child : children_) ::waitpid(child.pid, nullptr, 0);
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

Status Peers::collect(std::chrono::seconds limit) {
  answers_.assign(children_.size(), {});
  const auto until = Clock::now() + limit;
  for (size_t i = 0; i < children_.size(); ++i) {
    auto& answer = answers_[i];
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd wait{children_[i].control, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(std::max<int64_t>(left.count(), 0))) == 0)
      return Error{ErrorCode::kPeerTimeout, "no answer of peer " + std::to_string(i)};
    if (::recv(children_[i].control, &answer, sizeof answer, 0) != sizeof answer)
      return Error{ErrorCode::kInternal, "peer " + std::to_string(i) + " died"};
    if (!answer.good)
      return Error{ErrorCode::kInternal, "peer " + std::to_string(i) + ": " + answer.error};
  }
  return {};
}

Result<double> Peers::tell(PeerCommand command, std::chrono::seconds limit) {
  const auto start = Clock::now();
  for (auto& child : children_)
    (void)!::send(child.control, &command, sizeof command, MSG_NOSIGNAL);
  if (auto done = collect(limit); !done) return done.error();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Measurement {
 public:
  /// `broken`: Gloo's algorithms to leave out.
  Measurement(uint64_t elements, uint32_t peers, int rounds, std::set<size_t> broken)
      : rounds_(rounds), broken_(std::move(broken)) {
    figures_.elements = elements;
    figures_.peers = peers;
  }
  Result<AveragingFigures> run(const std::string& folder);
  /// The one of Gloo's algorithms that was under way last.
  size_t algorithm() const { return algorithm_; }

 private:
  Result<double> ours();
  Result<double> gloo();
  Status choose_gloo();
  Status check();

  bool with_gloo() const { return broken_.size() < GlooPeer::algorithms().size(); }

  int rounds_;
  std::set<size_t> broken_;
  size_t algorithm_ = 0;
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
  return peers_.tell({PeerCommand::kGloo, 0, 0}, kGlooLimit);
}

/// Gloo's fastest all-reduce here: each one once to warm up, once to measure.
Status Measurement::choose_gloo() {
  std::optional<size_t> best;
  double best_s = 0;
  auto measure_one = [&](size_t algorithm) -> Result<double> {
    algorithm_ = algorithm;
    if (auto made = peers_.tell({PeerCommand::kPrepare, 0, algorithm}); !made) return made;
    if (auto warm = gloo(); !warm) return warm;
    return gloo();
  };
  for (size_t i = 0; i < GlooPeer::algorithms().size(); ++i) {
    if (broken_.count(i) > 0) continue;
    auto seconds = measure_one(i);
    if (!seconds) return seconds.error();
    if (best && *seconds >= best_s) continue;
    best = i;
    best_s = *seconds;
  }
  figures_.gloo_algorithm = GlooPeer::algorithms()[*best];
  auto again = measure_one(*best);
  return again ? Status() : again.error();
}

Status Measurement::check() {
  auto checked = peers_.tell({PeerCommand::kCheck, 0, with_gloo() ? 1u : 0u});
  return checked ? Status() : checked.error();
}

Result<AveragingFigures> Measurement::run(const std::string& folder) {
  auto started = peers_.start(figures_.peers, figures_.elements, with_gloo() ? folder : "");
  if (!started) return started.error();
  auto first = ours();
  if (!first) return first.error();
  figures_.first_s = *first;
  if (with_gloo())
    if (auto chosen = choose_gloo(); !chosen) return chosen.error();
  for (int i = 0; i < rounds_; ++i) {  // turn and turn about: machines drift
    auto seconds = ours();
    if (!seconds) return seconds.error();
    figures_.ours_s.push_back(*seconds);
    if (!with_gloo()) continue;
    auto theirs = gloo();
    if (!theirs) return theirs.error();
    figures_.gloo_s.push_back(*theirs);
  }
  if (auto checked = check(); !checked) return checked.error();
  return figures_;
}

/// Seen with Linux 6.18 and 4 peers of 100 M: the kernel cuts the send buffer of a socket of Gloo's
/// to 4,608 bytes, and from then on it moves 64 KiB in 40 ms. What stalls is left out.
Result<AveragingFigures> measure(uint64_t elements, uint32_t peers, int rounds) {
  for (std::set<size_t> broken;;) {
    char folder[] = "/tmp/swarm-bench-averaging-XXXXXX";
    if (::mkdtemp(folder) == nullptr) return Error{ErrorCode::kIo, "cannot make a folder in /tmp"};
    Measurement measurement(elements, peers, rounds, broken);
    auto figures = measurement.run(folder);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    if (figures || figures.error().code != ErrorCode::kPeerTimeout ||
        broken.size() == GlooPeer::algorithms().size())
      return figures;
    std::fprintf(stderr,
                 "%llu floats, %u peers: Gloo's %s does not finish within %lld s; without it\n",
                 static_cast<unsigned long long>(elements), peers,
                 GlooPeer::algorithms()[measurement.algorithm()].c_str(),
                 static_cast<long long>(kGlooLimit.count()));
    broken.insert(measurement.algorithm());
  }
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

#include "apps/sim/many_runs.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "common/check.h"

namespace swarm::sim {
namespace {

bool write_all(int to, const void* bytes, size_t size) {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(to, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool read_all(int from, void* bytes, size_t size) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t found = ::read(from, to, size);
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return false;
    to += found;
    size -= static_cast<size_t>(found);
  }
  return true;
}

/// A process that runs every so many-th seed and sends a RunLine, the size of its text and the text.
class Job {
 public:
  Job(uint64_t first, uint64_t to, uint64_t every, const RunOne& run)
      : seed_(first), to_(to), every_(every), run_(run) {
    start();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { end(); }

  /// The next run, in order. A crash counts as one; the process is started anew behind it.
  RunLine next(std::string& text) {
    RunLine line;
    uint64_t size = 0;
    if (read_all(pipe_, &line, sizeof(line)) && read_all(pipe_, &size, sizeof(size))) {
      text.resize(size);
      if (read_all(pipe_, text.data(), size)) {
        seed_ += every_;
        return line;
      }
    }
    const int status = end();
    line = {};
    line.seed = seed_;
    line.violated = line.crashed = true;
    line.lost_s = NAN;
    text = fmt::format("seed {}: the run crashed, {}\n", seed_,
                       WIFSIGNALED(status) ? std::string("signal ") + ::strsignal(WTERMSIG(status))
                                           : fmt::format("exit code {}", WEXITSTATUS(status)));
    const bool last = to_ - seed_ < every_;
    seed_ += every_;
    if (!last) start();
    return line;
  }

 private:
  void start() {
    int ends[2];
    SWARM_CHECK(::pipe(ends) == 0);
    std::fflush(stdout);
    child_ = ::fork();
    SWARM_CHECK(child_ >= 0);
    if (child_ == 0) {
      ::close(ends[0]);
      work(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  void work(int to) {
    for (uint64_t seed = seed_; seed <= to_; seed += every_) {
      std::string text;
      const RunLine line = run_(seed, text);
      const uint64_t size = text.size();
      if (!write_all(to, &line, sizeof(line)) || !write_all(to, &size, sizeof(size)) ||
          !write_all(to, text.data(), size))
        return;
      if (to_ - seed < every_) return;  // no overflow
    }
  }
  int end() {
    int status = 0;
    if (child_ < 0) return status;
    ::close(pipe_);
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return status;
  }

  uint64_t seed_, to_, every_;
  const RunOne& run_;
  pid_t child_ = -1;
  int pipe_ = -1;
};

double in_order(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace

void run_seeds(uint64_t from, uint64_t to, uint32_t jobs, const RunOne& run,
               const std::function<void(const RunLine&, const std::string& text)>& done) {
  SWARM_CHECK(jobs > 0 && from <= to);
  std::vector<std::unique_ptr<Job>> processes;
  for (uint64_t i = 0; jobs > 1 && i < jobs && i <= to - from; ++i)
    processes.push_back(std::make_unique<Job>(from + i, to, jobs, run));
  for (uint64_t seed = from;; ++seed) {
    std::string text;
    const RunLine line = jobs == 1 ? run(seed, text) : processes[(seed - from) % jobs]->next(text);
    done(line, text);
    if (seed == to) return;
  }
}

double lost_per_fault(const SimulationOptions& options, const SimulationReport& report) {
  if (report.faults == 0 || !report.last_step_s) return NAN;
  SimulationOptions calm = options;
  calm.max_faults = 0;
  const auto undisturbed = simulate(calm);
  if (!undisturbed.last_step_s) return NAN;
  return (*report.last_step_s - *undisturbed.last_step_s) / static_cast<double>(report.faults);
}

void RunsSummary::add(const RunLine& line) {
  ++runs_;
  violations_ += line.violated ? 1 : 0;
  lost_stages_ += line.lost_stage ? 1 : 0;
  faults_ += line.faults;
  recoveries_ += line.recoveries;
  moves_ += line.moves;
  given_up_ += line.given_up;
  virtual_s_ += line.virtual_s;
  if (std::isnan(line.lost_s)) return;
  lost_s_.push_back(line.lost_s);
  if (lost_s_.size() > 1 && line.lost_s <= worst_s_) return;
  worst_s_ = line.lost_s;
  worst_seed_ = line.seed;
}

std::string RunsSummary::text(const char* profile, double wall_s) const {
  std::string text = fmt::format("{:<10} runs {}, violations {}, ", profile, runs_, violations_);
  if (lost_stages_ > 0) text += fmt::format("stages lost for good {}, ", lost_stages_);
  text += fmt::format("faults {}, recoveries {}, ", faults_, recoveries_);
  if (moves_ + given_up_ > 0) text += fmt::format("moves {}, given up {}, ", moves_, given_up_);
  if (!lost_s_.empty())
    text += fmt::format("seconds lost per fault {:.2f} median, {:.2f} worst (seed {}), ",
                        in_order(lost_s_, 0.5), worst_s_, worst_seed_);
  return text + fmt::format("virtual hours {:.2f}, wall seconds {:.1f}, {:.2f} a run",
                            virtual_s_ / 3600, wall_s, wall_s / static_cast<double>(runs_));
}

}  // namespace swarm::sim

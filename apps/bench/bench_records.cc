#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "actors/node/audit_keeping.h"
#include "apps/bench/bench.h"
#include "apps/bench/resident.h"
#include "common/numbers.h"
#include "records/event_log.h"
#include "records/folded_audit.h"
#include "records/segments.h"

namespace swarm::apps {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kStages = 4, kReplicas = 2, kSlots = 16, kMicrobatch = 8;
constexpr uint64_t kTold = 1'000'000;      // steps between two lines of progress
constexpr uint64_t kMeasured = 10'000;     // steps between two looks at the disk
constexpr uint64_t kLoss = 200;            // steps between two peers that are lost
constexpr uint64_t kRecoveryEvery = 5000;  // steps between two gatherings

/// What a node writes that coordinates and serves the first stage. Numbers are drawn as they come in
/// training, so that they compress no better: losses, digests, and who computed which slot.
class SyntheticNode {
 public:
  explicit SyntheticNode(std::shared_ptr<records::EventLog> log) : log_(std::move(log)) {
    log_->loaded({0, peer(0, 0), name(0, 0), 0, random_(), "seed", history_});
  }

  void step(uint64_t step) {
    events(step);
    const auto closed = closing(step);
    log_->closed(closed);
    const auto& stage = closed.stages.front();
    log_->committed(
        {step, 0, stage.round, stage.digest, random_(), stage.members.front(), closed.history});
    log_->metrics(metrics(step));
  }

 private:
  static std::string name(uint32_t stage, uint32_t replica) {
    return "stage" + std::to_string(stage) + "-" + std::to_string(replica);
  }
  static PeerId peer(uint32_t stage, uint32_t replica) {
    PeerId id;
    for (size_t i = 0; i < id.node.bytes.size(); ++i)
      id.node.bytes[i] = static_cast<uint8_t>(stage * 37 + replica * 101 + i * 13);
    id.actor = "stage.0";
    return id;
  }

  records::ClosedStep closing(uint64_t step) {
    records::ClosedStep closed;
    closed.step = closed.computed_on = step;
    closed.term = 1 + step / kRecoveryEvery;
    closed.slots = kSlots;
    closed.samples = kSlots * kMicrobatch;
    closed.first_sample = step * closed.samples;
    closed.microbatch = kMicrobatch;
    closed.attempts = kSlots + static_cast<uint32_t>(random_() % 2);
    closed.configuration = closed.term;
    closed.history = history_ = random_();
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      records::ClosedStep::Stage one{step + 1, random_(), {}};
      for (uint32_t replica = 0; replica < kReplicas; ++replica)
        one.members.push_back({peer(stage, replica), name(stage, replica), {}, {}});
      const uint64_t first_attempt = step * (kSlots + 1);
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        auto& member = one.members[random_() % kReplicas];
        member.slots.push_back(slot);
        member.attempts.push_back(first_attempt + slot);
      }
      closed.stages.push_back(std::move(one));
    }
    return closed;
  }

  records::StepMetrics metrics(uint64_t step) {
    records::StepMetrics line;
    const auto part = [this] { return static_cast<double>(random_() % 1'000'000) / 1e6; };
    line.step = step;
    line.train_loss = 2 + part();
    line.tokens = (step + 1) * kSlots * kMicrobatch * 128;
    line.tokens_per_second = 5000 + 500 * part();
    line.seconds = 0.06 + 0.01 * part();
    line.live_peers.assign(kStages, kReplicas);
    for (size_t i = 0; i < 4; ++i) line.bytes_sent[i] = random_() % 10'000'000;
    line.gradient_norm = part();
    line.slots = line.attempts = kSlots;
    line.term = 1 + step / kRecoveryEvery;
    return line;
  }

  void events(uint64_t step) {
    const auto number = static_cast<int64_t>(step);
    if (step % kLoss == kLoss / 2) {
      const auto one = name(static_cast<uint32_t>(random_() % kStages), 1);
      log_->record(0, number,
                   records::PeerLost{one, "its link fell silent after " +
                                              std::to_string(random_() % 5000) + " ms"});
      log_->record(0, number, records::Joined{"at step " + std::to_string(step)});
    }
    if (step > 0 && step % kRecoveryEvery == 0)
      log_->record(-1, number, records::Recovered{step, {}, {}, "no peer of stage 1 is left"});
  }

  std::shared_ptr<records::EventLog> log_;
  std::mt19937_64 random_{1};
  uint64_t history_ = 1;
};

/// A file with its pieces.
struct Kept {
  std::string name;
  uint64_t cap = 0, bytes = 0, most = 0;
};

/// Files that come and go meanwhile count once.
uint64_t bytes_of(const std::string& folder, const std::string& name) {
  const std::string stem = name.substr(0, name.find('.'));
  uint64_t sum = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const uint64_t size = entry->file_size(gone);
    if (entry->path().filename().string().rfind(stem, 0) == 0 && !gone) sum += size;
  }
  return sum;
}

void look(const std::string& folder, std::vector<Kept>& kept) {
  for (auto& file : kept) {
    file.bytes = bytes_of(folder, file.name);
    file.most = std::max(file.most, file.bytes);
  }
}

/// What the folded lines say of themselves. False: something is wrong with them.
bool tell_folded(const std::string& folder) {
  const auto folded = records::read_folded(folder + "/audit.jsonl");
  if (!folded) {
    std::printf("the folded lines cannot be read: %s\n", to_string(folded.error()).c_str());
    return false;
  }
  if (!*folded) {
    std::printf("no line of the audit was folded\n");
    return true;
  }
  const auto line = records::parse_audit_line((*folded)->line);
  const auto* sum = line ? std::get_if<records::FoldedAudit>(&line->record) : nullptr;
  if (sum == nullptr) {
    std::printf("the folded lines are no line of an audit\n");
    return false;
  }
  std::printf("folded and checked: %s lines, the steps before %s, in %zu bytes; violations: %s\n",
              grouped(static_cast<double>(sum->lines)).c_str(),
              grouped(static_cast<double>(sum->end)).c_str(), (*folded)->line.size(),
              sum->num_violations == 0 ? "none" : sum->violation.value_or("some").c_str());
  return sum->num_violations == 0;
}

bool print_table(const std::vector<Kept>& kept, uint64_t steps) {
  bool fits = true;
  std::printf("%-14s %10s %10s %10s %12s\n", "file", "MiB now", "MiB most", "cap", "bytes/step");
  const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  for (const auto& file : kept) {
    std::printf("%-14s %10.1f %10.1f %10.0f %12.1f\n", file.name.c_str(), mib(file.bytes),
                mib(file.most), mib(file.cap),
                static_cast<double>(file.bytes) / static_cast<double>(steps));
    fits = fits && file.most <= file.cap + (1u << 16);  // the folded line
  }
  return fits;
}

Result<bool> write_steps(const std::string& folder, const RecordsBenchOptions& options) {
  actors::NodeOptions node;
  node.records_mb = options.records_mb;
  node.audit_mb = options.audit_mb;
  node.training.batch = kSlots * kMicrobatch;
  node.training.microbatch = kMicrobatch;
  const records::SegmentLimits limits{uint64_t(node.records_mb) << 20};
  std::vector<Kept> kept = {{"events.jsonl", limits.total_bytes},
                            {"metrics.jsonl", limits.total_bytes},
                            {"audit.jsonl", uint64_t(node.audit_mb) << 20}};
  const double before = resident_mb(::getpid());
  const auto began = Clock::now();
  {
    auto log =
        records::open_event_log(folder, "stage0-0", limits, actors::audit_limits(node, "stage0-0"));
    if (!log) return log.error();
    SyntheticNode writes(*log);
    for (uint64_t step = 0; step < options.steps; ++step) {
      writes.step(step);
      if ((step + 1) % kMeasured == 0) look(folder, kept);
      if ((step + 1) % kTold != 0) continue;
      std::fprintf(stderr, "%s steps, %.0f s\n", grouped(static_cast<double>(step + 1)).c_str(),
                   std::chrono::duration<double>(Clock::now() - began).count());
    }
    std::printf("memory: %.1f MB before, %.1f MB after\n", before, resident_mb(::getpid()));
  }
  look(folder, kept);
  std::printf("%s steps in %.0f s\n", grouped(static_cast<double>(options.steps)).c_str(),
              std::chrono::duration<double>(Clock::now() - began).count());
  const bool fits = print_table(kept, options.steps);
  return tell_folded(folder) && fits;
}

}  // namespace

int bench_records(const RecordsBenchOptions& options) {
  char folder[] = "/tmp/swarm-records-XXXXXX";
  if (::mkdtemp(folder) == nullptr) {
    std::fprintf(stderr, "swarm bench: cannot make a folder in /tmp\n");
    return 1;
  }
  const auto good = write_steps(folder, options);
  if (!good) std::fprintf(stderr, "swarm bench: %s\n", to_string(good.error()).c_str());
  std::error_code error;
  fs::remove_all(folder, error);
  return good && *good ? 0 : 1;
}

}  // namespace swarm::apps

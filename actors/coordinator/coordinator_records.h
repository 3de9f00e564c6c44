/// What the coordinator leaves behind: its events, a line of metrics and of audit for every step,
/// and the numbers that people ask for. Used by the coordinator's handlers only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/coordinator/peer_book.h"
#include "actors/coordinator/staleness.h"
#include "actors/node/event_log.h"
#include "common/strong_id.h"
#include "records/token_rate.h"
#include "routing/membership/roster.h"
#include "routing/steps/orders.h"
#include "routing/steps/progress_watch.h"

namespace swarm::actors {

struct CoordinatorRecordsOptions {
  uint32_t num_stages = 1;
  uint64_t steps = 0;          ///< Of the run.
  uint32_t batch = 0;          ///< Samples of a step.
  uint32_t microbatch = 0;     ///< Samples of a slot.
  uint64_t sequence = 0;       ///< Tokens of a sample.
  uint32_t open_together = 1;  ///< Steps or periods that may be open at once.
};

class CoordinatorRecords {
 public:
  CoordinatorRecords(const CoordinatorRecordsOptions& options, std::shared_ptr<EventLog> events,
                     const PeerBook& book)
      : options_(options),
        events_(std::move(events)),
        book_(book),
        token_rate_(options.open_together) {}

  /// No stage: does not apply.
  template <class Event>
  void record(Step step, const Event& event, std::optional<Stage> stage = std::nullopt) {
    const int64_t at_stage = stage ? int64_t{stage->value()} : -1;
    events_->record(at_stage, static_cast<int64_t>(step.value()), event);
  }
  void write(const routing::orders::Note& note);
  /// Of no stage.
  void write(std::vector<routing::Fact> facts, Step step) {
    for (routing::Fact& fact : facts)
      write(routing::orders::Note{std::nullopt, step, std::move(fact)});
  }
  void write(const routing::orders::WriteAudit& line, Term term);
  void write(const routing::orders::WriteMetrics& line,
             std::vector<records::LearnerProgress> learners, Term term);

  /// Says, the first time, that no other node could coordinate. `rivals`: those that could.
  void training_begins(Step step, size_t rivals);
  /// People should hear that a peer's snapshots fail.
  void snapshots_fail(const routing::PeerFacts& peer, Step step);
  /// How far the open step is; says so if it takes long (StepGoesOn).
  void watch(Step step, uint32_t slots_done, routing::Time now);

  /// What was measured of the speed so far is of another time.
  void swarm_gathers() { token_rate_.clear(); }
  /// Bytes that the nodes have sent, for the next line of metrics.
  routing::NodeTraffic& traffic() { return traffic_; }
  /// Asynchronous mode: what a stage's peer says of its updates since it said so last.
  void add_staleness(Stage stage, const Staleness& staleness);

  /// Missing before the first step has closed.
  std::optional<double> last_loss() const { return last_loss_; }
  double tokens_per_second() const { return tokens_per_second_; }

 private:
  CoordinatorRecordsOptions options_;
  std::shared_ptr<EventLog> events_;  ///< Shared by all actors of the node.
  const PeerBook& book_;
  routing::NodeTraffic traffic_;
  routing::ProgressWatch progress_;
  std::vector<Staleness> staleness_;  ///< By stage, since the last line of metrics.
  records::TokenRate token_rate_;
  std::optional<double> last_loss_;
  double tokens_per_second_ = 0;
  bool said_alone_ = false;
};

/// Peers that are joining, for a line of metrics.
std::vector<records::LearnerProgress> learners_of(const routing::Roster& roster);

}  // namespace swarm::actors

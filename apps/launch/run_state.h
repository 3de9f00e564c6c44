/// What a run's events and metrics add up to: which lines are new, how far training is, the
/// progress line and summary.json. Pure; time comes from the lines. One owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/launch/stall_watch.h"
#include "records/catalogue.h"
#include "records/token_rate.h"

namespace swarm::launch {

class RunState {
 public:
  /// `steps`: that the run has to close, for the display.
  RunState(uint32_t num_stages, uint64_t steps) : num_stages_(num_stages), steps_(steps) {}

  /// True if the line is new and well-formed: it belongs into the merged file. Of several lines for
  /// one step (a coordinator that came back, a step done again) the first counts.
  bool take_metrics(const std::string& line);
  /// True if the line is well-formed and was not seen before.
  bool take_event(const std::string& line);

  /// The oldest lines are given up: events older than the oldest so far, and steps before the first,
  /// were seen before.
  void nothing_new_before_known();

  uint64_t steps_closed() const { return steps_closed_; }
  /// Lines of metrics so far, those of steps done again included: it grows while anything is
  /// trained.
  uint64_t closings() const { return closings_; }
  /// For StallWatch.
  RunProgress progress_seen() const { return {closings_ + going_.done, going_.moved}; }
  size_t nodes_begun() const { return going_.begun.size(); }
  bool finished() const { return finished_; }
  /// Finished, but the last snapshots are not on a disk in every stage: why; empty: they are.
  const std::string& not_durable() const { return not_durable_; }
  /// The run goes on after a stop: it finishes, or diverges, when it says so again.
  void resumed() {
    finished_ = diverged_ = false;
    not_durable_.clear();
    nothing_common_.clear();
    last_trouble_.clear();
    going_.begun.clear();
  }
  /// No step is common to what the peers can supply, and nothing was trained since: what is missing.
  const std::string& nothing_common() const { return nothing_common_; }
  /// Of the last "cannot_go_on" or similar event; for messages.
  const std::string& last_trouble() const { return last_trouble_; }
  /// A step came to nothing but numbers that are not finite: it can never close.
  bool diverged() const { return diverged_; }
  std::optional<double> train_loss() const { return latest_.train_loss; }
  std::optional<double> validation_loss() const { return latest_.validation_loss; }
  uint64_t tokens() const { return tokens_; }
  /// See records::RunRate.
  std::optional<double> tokens_per_second() const { return rate_.tokens_per_second(); }
  const std::map<std::string, uint64_t>& events() const { return events_; }
  uint64_t recoveries() const;
  /// Indexes of timeline entries that were carried out, in this process or before a resume.
  const std::set<size_t>& timeline_done() const { return timeline_done_; }

  /// Entries of the chaos schedule that are behind the run, likewise.
  size_t chaos_done() const { return chaos_done_; }

  /// Node of the coordinator with the highest term; empty while there is none.
  const std::string& coordinator() const { return coordinator_; }
  /// Serving peers of each stage when the last step closed; maybe empty.
  const std::vector<int64_t>& live_peers() const { return latest_.live_peers; }

  /// "step 27/80  loss 2.813  5210 tokens/s  peers 2 1 2 2".
  std::string progress() const;

 private:
  /// The newest of each that a line of metrics had.
  struct Latest {
    std::optional<double> train_loss, validation_loss, tokens_per_second;
    std::vector<int64_t> live_peers;
  };

  void take_end(const records::Event& event);
  void take_schedule(const records::Event& event);
  void take_progress(const records::Event& event);

  /// Of events that say that a step goes on, and of nodes that begin.
  struct Going {
    uint64_t done = 0, moved = 0;
    std::set<std::string> begun;  ///< Nodes that have, since the run began or went on.
    int64_t step = -1;            ///< The latest that had a microbatch done ...
    uint64_t slots_done = 0;      ///< ... and the most of it.
  };

  struct Seen {
    bool insert(uint64_t step);
    void close_gap();
    uint64_t below = 0;              ///< Steps before are all seen or given up.
    std::set<uint64_t> steps;        ///< Others.
    std::set<size_t> events;         ///< Hashes.
    std::optional<double> oldest_s;  ///< Time of an event.
    std::optional<double> from_s;    ///< Older events do not count,
    uint64_t from_step = 0;          ///< nor do steps before.
  };

  uint32_t num_stages_;
  uint64_t steps_;
  Going going_;
  Latest latest_;
  Seen seen_;
  uint64_t steps_closed_ = 0, closings_ = 0, tokens_ = 0;
  records::RunRate rate_;
  bool finished_ = false;
  std::string last_trouble_, coordinator_, not_durable_, nothing_common_;
  bool diverged_ = false;
  uint64_t term_ = 0;
  std::map<std::string, uint64_t> events_;
  std::set<size_t> timeline_done_;
  size_t chaos_done_ = 0;
};

}  // namespace swarm::launch

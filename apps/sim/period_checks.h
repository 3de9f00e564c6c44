/// The invariants of the asynchronous mode (docs/asynchronous.md), where nobody knows what the
/// parameters should be. They take the place of I1, I2 and I7 of the synchronous mode:
///
///   I1  a period closes when every stage has trained on each of its slots; a peer trains on a slot
///       once; parameters are made of the updates of their stage and of nothing else, all elements
///       of the same; whatever fails, a peer has what it took last, an average or a state, and its own
///       updates that are not in that, once; while nothing fails all take part in the same rounds, and every
///       update is in the next average, once, with the weight of its peer's samples since the last one: the
///       replicas end with the first weights and the sum of all updates so weighted
///   I2  an average is the mean of what some replicas sent, this one's own among them, by their samples
///       since the last one, or equally; what is loaded was a replica's state, whole; replicas are
///       equal at the end
///   I7  periods close one after the other; they skip some or go back only with a new coordinator,
///       and skip or go back further than any peer was told only with a recovery that was logged
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/sim/mode_checks.h"
#include "common/strong_id.h"

namespace swarm::sim {

/// Called from within actors; it only notes what it sees.
class PeriodChecks : public ModeChecks {
 public:
  /// `swarm` outlives this.
  PeriodChecks(Swarm& swarm, Report report) : swarm_(swarm), report_(std::move(report)) {}

  void noted(const std::string& node, const ArithmeticStage& stage, const StageNote& note) override;
  void parameters(const std::string& node, const ArithmeticStage& stage, const char* how) override;
  void event(const records::Event& event) override;
  void loaded(const std::string& node, const records::LoadedState& state) override;
  void metrics(const records::StepMetrics& line) override;
  void before_start(const std::string& node) override;
  void at_end(const std::set<std::string>& left_behind) override;

  /// Nothing has happened that may lose an update or count it twice.
  bool exact() const { return exact_; }

 private:
  using PeriodSlot = std::pair<Step, Slot>;
  struct Work {          ///< What a replica did since it sent its parameters last.
    double updates = 0;  ///< Of the first parameter.
    double samples = 0;
  };
  struct Sent {
    float value = 0;     ///< The first parameter.
    Work before;         ///< Since the last one.
    double samples = 0;  ///< Since the last average that it took.
    /// That it had made on top of its base; nothing: it has taken a state since.
    std::optional<double> own{};
    bool loaded = false;  ///< It has taken a state, and no average since: it may count for nothing.
  };
  struct Replica {
    double base = 0;  ///< First parameter of the average or state that it took last.
    double own = 0;   ///< Updates of it that are not in that.
    Work work;
    double samples = 0;  ///< Since it sent what the last average that it took was made of.
    bool loaded = false;
    std::vector<Work> rounds;
    std::deque<Sent> sent;  ///< The latest few.
  };
  struct StageHistory {
    double updates = 0;                       ///< Sum over all peers, of the first parameter.
    std::set<PeriodSlot> trained;             ///< Or left out by all: not finite.
    std::set<uint64_t> saved;                 ///< Checksums.
    std::map<std::string, Replica> replicas;  ///< By node.
  };

  void trained(const std::string& node, StageHistory& stage, const PeriodSlot& slot);
  void sent(Replica& replica, const StageNote& note);
  using Weight = std::function<double(const Sent&)>;
  /// The average is the mean of what this one and some others sent, so weighted.
  static bool is_mean_of_sent(const std::string& node, const StageHistory& stage,
                              const StageNote& note, const Weight& weight);
  void averaged(const std::string& node, StageHistory& stage, const StageNote& note);
  static void rebase(Replica& replica, const StageNote& note, double now);
  static std::optional<double> expected(const StageHistory& stage);
  void check_values(const std::string& node, const ArithmeticStage& stage, const char* how);
  void check_own(const std::string& node, const ArithmeticStage& arithmetic, const char* how);
  void check_rounds(Stage stage);
  void check_order(const records::StepMetrics& line);
  uint32_t slots() const { return swarm_.training.batch / swarm_.training.microbatch; }

  Swarm& swarm_;
  Report report_;
  std::map<Stage, StageHistory> stages_;
  std::map<std::string, std::set<PeriodSlot>> trained_here_;  ///< By node, since its start.
  std::set<Step> closed_;
  std::optional<Step> last_closed_;
  Term highest_term_;
  bool recovered_ = false;  ///< Since the last line.
  bool ever_recovered_ = false;
  bool forced_ = false;  ///< A part went on without the rest.
  bool exact_ = true;
  bool missed_ = false;  ///< Somebody was away for a while: there may have been a round.
};

}  // namespace swarm::sim

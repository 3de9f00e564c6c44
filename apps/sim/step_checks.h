/// The invariants of training in steps, where every peer's parameters are known beforehand:
///
///   I1  every replica's parameters at each step are those of a run in which every sample counted
///       once per stage, its gradient computed on the parameters that the closing names, the same
///       of all stages, and up to what a codec may take if they are averaged through one; the recorded steps,
///       done again, give them then; `swarm audit` finds nothing
///   I2  replicas of a stage have the same checksum after a round; only states that replicas
///       reached are loaded; where bits turn nobody else is replaced
///   I7  no step is committed after a later one unless a recovery was logged; peers that one
///       coordinator closes a step with have one history, so that snapshots that are restored together
///       do as well; a step is committed after its configuration was told
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/audit/audit.h"
#include "apps/sim/histories.h"
#include "apps/sim/mode_checks.h"
#include "apps/sim/replay_check.h"
#include "common/strong_id.h"

namespace swarm::sim {

class StepChecks : public ModeChecks {
 public:
  /// `swarm` outlives this.
  StepChecks(Swarm& swarm, Report report)
      : swarm_(swarm), report_(std::move(report)), replay_(swarm) {}

  void parameters(const std::string& node, const ArithmeticStage& stage, const char* how) override;
  void event(const records::Event& event) override;
  void closed(const std::string& node, const records::ClosedStep& step) override;
  void committed(const std::string& node, const records::CommittedStep& step) override;
  void loaded(const std::string& node, const records::LoadedState& state) override;
  void metrics(const records::StepMetrics& line) override;
  void bit_turned(const std::string& node) override;
  bool has_turned(int stage) const override;
  void at_end(const std::set<std::string>& left_behind) override;

 private:
  using RoundOf = std::tuple<Stage, Step, Round, uint64_t>;  ///< And the digest.
  /// What somebody has after a round in whose memory a bit has turned.
  struct Doubtful {
    RoundOf round;
    std::pair<Stage, Step> after;
    uint64_t checksum = 0;
  };
  Histories& histories();
  void believe_again(const std::string& node, std::vector<Doubtful>& rounds);
  void one_history(const records::ClosedStep& step);
  bool is_turned(const std::string& node) const;
  bool rounds() const { return swarm_.averager_options.codec != tensor::Codec::kNone; }

  Swarm& swarm_;
  Report report_;
  ReplayCheck replay_;
  std::unique_ptr<Histories> histories_;  ///< From the first look on: the swarm has its size.
  /// By (stage, step, round, digest): the checksum after it.
  std::map<RoundOf, uint64_t> rounds_;
  std::map<std::pair<Stage, Step>, std::set<uint64_t>> reached_;  ///< By (stage, step).
  struct State {
    Step step;
    uint64_t history = 0;  ///< 0: not known.
  };
  std::map<PeerId, State> states_;  ///< As each peer said last.
  launch::AuditLog audit_;
  launch::AuditContext context_;
  /// In whose memory a bit has turned; true: nobody knows what it has, as it has not fetched yet.
  std::map<std::string, bool> turned_;
  std::map<std::string, std::vector<Doubtful>> doubtful_;  ///< By node.
  std::set<std::string> settled_;  ///< Have learned a state that they have not yet taken for right.
  bool forced_ = false;            ///< A part went on without the rest.
  std::map<std::string, uint64_t> leads_;  ///< The term of each node that led last, as it says.
  std::set<uint64_t> agreed_;              ///< Terms whose configuration was told.
  std::optional<Step> last_committed_;
  /// To where, as the coordinator said whose first step is awaited.
  std::optional<Step> recovered_;
  Term highest_term_;
};

}  // namespace swarm::sim

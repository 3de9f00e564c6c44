#include "apps/sim/period_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace swarm::sim {
namespace {

constexpr size_t kSentKept = 4;

/// Means of three or six samples, or of three replicas, are rounded.
bool about_equal(double a, double b) {
  return std::abs(a - b) <= 1e-4 * std::max({1.0, std::abs(a), std::abs(b)});
}

/// Whether `average` is the mean of `sum` of `count` members and one value of some of the others.
bool is_mean(double average, double sum, int count, const std::vector<const std::deque<float>*>& of,
             size_t from) {
  if (about_equal(average, sum / count)) return true;
  for (size_t i = from; i < of.size(); ++i)
    for (float value : *of[i])
      if (is_mean(average, sum + static_cast<double>(value), count + 1, of, i + 1)) return true;
  return false;
}

std::string text_of(Step period, Slot slot) {
  return fmt::format("slot {} of period {}", slot, period);
}

Stage stage_of(const Swarm::Node& peer) { return Stage(static_cast<uint32_t>(peer.stage)); }

}  // namespace

void PeriodChecks::noted(const std::string& node, const ArithmeticStage& arithmetic,
                         const StageNote& note) {
  StageHistory& stage = stages_[stage_of(swarm_.nodes.at(node))];
  switch (note.what) {
    case StageNote::What::kTrained:
      return trained(node, stage, {note.key.step, note.key.slot});
    case StageNote::What::kUpdated:
      stage.updates += static_cast<double>(note.value);
      return check_values(node, arithmetic, "a local update");
    case StageNote::What::kSent: {
      auto& sent = stage.sent[node];
      sent.push_back(note.value);
      if (sent.size() > kSentKept) sent.pop_front();
      return;
    }
    case StageNote::What::kAveraged:
      averaged(node, stage, note);
      return check_values(node, arithmetic, "an average");
    case StageNote::What::kSaved:
      stage.saved.insert(arithmetic.checksum());
      return;
  }
}

void PeriodChecks::trained(const std::string& node, StageHistory& stage, const PeriodSlot& slot) {
  stage.trained.insert(slot);
  if (!trained_here_[node].insert(slot).second)
    report_("I1", node + " trains on " + text_of(slot.first, slot.second) + " a second time");
}

void PeriodChecks::averaged(const std::string& node, const StageHistory& stage,
                            const StageNote& note) {
  std::vector<const std::deque<float>*> others;
  for (const auto& [name, sent] : stage.sent)
    if (name != node) others.push_back(&sent);
  if (!is_mean(static_cast<double>(note.value), static_cast<double>(note.sent), 1, others, 0))
    report_("I2", fmt::format("{} takes the average {} for the {} that it sent, which is the mean "
                              "of nothing that its replicas sent",
                              node, note.value, note.sent));
}

/// The gradient of parameter i is (i + 1) times that of the first, of whatever samples.
void PeriodChecks::check_values(const std::string& node, const ArithmeticStage& arithmetic,
                                const char* how) {
  const Stage number = stage_of(swarm_.nodes.at(node));
  const std::string where = fmt::format("{} stage {}, after {}", node, number, how);
  const double first = static_cast<double>(arithmetic.parameters()[0]);
  const double most = stages_[number].updates;
  if (!std::isfinite(first) || first > 1e-3 || (first < -most && !about_equal(first, -most)))
    report_("I1", fmt::format("{}: first parameter {} is not within 0 to minus all updates of the "
                              "stage, {}",
                              where, first, most));
  for (uint64_t i = 1; i < kExactParameters; ++i) {
    const double value =
        static_cast<double>(arithmetic.parameters()[i]) / (1.0 + static_cast<double>(i));
    if (about_equal(value, first)) continue;
    return report_("I1", fmt::format("{}: first parameter {}, but parameter {} tells of other "
                                     "samples, {}",
                                     where, first, i, value));
  }
}

void PeriodChecks::parameters(const std::string& node, const ArithmeticStage& stage, const char*) {
  trained_here_[node].clear();
  check_values(node, stage, "a load");
}

void PeriodChecks::event(const records::Event& event) {
  if (event.is<records::Recovered>()) recovered_ = ever_recovered_ = true;
  if (event.is<records::RoundFailed>() || event.is<records::MemberFailed>() ||
      event.is<records::Suspended>())
    exact_ = false;
}

void PeriodChecks::loaded(const std::string& node, const records::LoadedState& state) {
  if (state.source == "seed") return;
  exact_ = false;
  if (stages_[Stage(state.stage)].saved.count(state.checksum) == 0)
    report_("I2", fmt::format(
                      "{} loaded stage {} period {} from {}, with a checksum that no replica saved",
                      node, state.stage, state.step, state.source));
}

void PeriodChecks::before_start(const std::string& node) {
  trained_here_[node].clear();
  exact_ = false;
}

void PeriodChecks::metrics(const records::StepMetrics& line) {
  const Step period(line.step);
  for (Stage stage; stage.value() < swarm_.num_stages && line.step < swarm_.training.steps; ++stage)
    for (Slot slot; slot.value() < slots(); ++slot)
      if (stages_[stage].trained.count({period, slot}) == 0)
        report_("I1", fmt::format("period {} was closed, but no peer of stage {} has trained on "
                                  "its slot {}",
                                  period, stage, slot));
  closed_.insert(period);
  if (Term(line.term) >= highest_term_)
    check_order(line);  // others were replaced; peers refuse them
}

void PeriodChecks::check_order(const records::StepMetrics& line) {
  const Step period(line.step);
  const Term term(line.term);
  if (last_closed_ && !recovered_) {
    const std::string what =
        fmt::format("period {} was closed after period {}", period, *last_closed_);
    if (period > *last_closed_ + 1)
      report_("I7", what + ": those between were skipped without a logged recovery");
    if (period <= *last_closed_ && term == highest_term_)
      report_("I7", what + " by the same coordinator without a logged recovery");
  }
  highest_term_ = term;
  last_closed_ = period;
  recovered_ = false;
}

void PeriodChecks::at_end(const std::set<std::string>& left_behind) {
  for (Step period; period.value() <= swarm_.training.steps; ++period)
    if (closed_.count(period) == 0 && !ever_recovered_)
      report_("I7", fmt::format("period {} was never closed", period));
  std::map<Stage, double> sum;
  for (const auto& [name, node] : swarm_.nodes) {
    exact_ &= node.alive;
    exact_ &= left_behind.count(name) == 0;
    if (!node.alive || node.arithmetic == nullptr || left_behind.count(name) != 0) continue;
    check_values(name, *node.arithmetic, "the end");
    sum[stage_of(node)] += static_cast<double>(node.arithmetic->parameters()[0]);
  }
  for (const auto& [stage, value] : sum)
    if (exact_ && !about_equal(value, -stages_[stage].updates))
      report_("I1", fmt::format("nothing failed, but the replicas of stage {} have {} together, "
                                "not the {} of all their updates",
                                stage, value, -stages_[stage].updates));
}

}  // namespace swarm::sim

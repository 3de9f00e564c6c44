#include "apps/sim/period_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "apps/sim/mean_check.h"

namespace swarm::sim {
namespace {

constexpr size_t kSentKept = 4;

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
    case StageNote::What::kUpdated: {
      const auto change = static_cast<double>(note.value);
      const auto samples = static_cast<double>(note.samples);
      Replica& replica = stage.replicas[node];
      stage.updates += change;
      replica.own += change;
      replica.work.updates += change;
      replica.work.samples += samples;
      replica.samples += samples;
      check_values(node, arithmetic, "a local update");
      return check_own(node, arithmetic, "a local update");
    }
    case StageNote::What::kSent:
      return sent(stage.replicas[node], note);
    case StageNote::What::kAveraged:
      averaged(node, stage, note);
      rebase(stage.replicas[node], note, static_cast<double>(arithmetic.parameters()[0]));
      check_values(node, arithmetic, "an average");
      return check_own(node, arithmetic, "an average");
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

void PeriodChecks::sent(Replica& replica, const StageNote& note) {
  replica.rounds.push_back(replica.work);
  replica.sent.push_back(
      {note.value, std::exchange(replica.work, {}), replica.samples, replica.own, replica.loaded});
  if (replica.sent.size() > kSentKept) replica.sent.pop_front();
}

bool PeriodChecks::is_mean_of_sent(const std::string& node, const StageHistory& stage,
                                   const StageNote& note, const Weight& weight) {
  Candidates others;
  for (const auto& [name, replica] : stage.replicas) {
    if (name == node) continue;
    others.emplace_back();
    for (const Sent& one : replica.sent)
      others.back().emplace_back(static_cast<double>(one.value), weight(one));
  }
  const auto& own = stage.replicas.at(node).sent;
  return std::any_of(own.begin(), own.end(), [&](const Sent& one) {
    const Sum sum = Sum().with(static_cast<double>(one.value), weight(one));
    return one.value == note.sent && is_mean(static_cast<double>(note.value), sum, others);
  });
}

void PeriodChecks::averaged(const std::string& node, StageHistory& stage, const StageNote& note) {
  Replica& own = stage.replicas[node];
  double most = 0;
  for (const auto& [name, replica] : stage.replicas)
    for (const Sent& one : replica.sent) most = std::max(most, one.samples);
  const auto by_samples = [](double limit) {
    return [limit](const Sent& one) { return one.loaded ? 0 : std::min(one.samples, limit); };
  };
  bool found = is_mean_of_sent(node, stage, note, by_samples(most)) ||
               is_mean_of_sent(node, stage, note, [](const Sent&) { return 1; });
  // A coordinator that saw no earlier average counts at most so many periods of each.
  const double period = swarm_.training.batch;
  for (double limit = period; !found && limit < most; limit += period)
    found = is_mean_of_sent(node, stage, note, by_samples(limit));
  if (!found)
    report_("I2", fmt::format("{} takes the average {} for the {} that it sent, which is the mean "
                              "of nothing that its replicas sent",
                              node, note.value, note.sent));
  own.samples = own.work.samples;
  own.loaded = false;
}

/// It has the average now, and the updates that it has made since it sent what that was made of. Where nobody
/// knows what that was it has what it has.
void PeriodChecks::rebase(Replica& replica, const StageNote& note, double now) {
  const auto found =
      std::find_if(replica.sent.rbegin(), replica.sent.rend(),
                   [&note](const Sent& one) { return one.value == note.sent && one.own; });
  if (found == replica.sent.rend()) {
    replica.base = now;
    replica.own = 0;
    return;
  }
  replica.base = static_cast<double>(note.value);
  replica.own -= *found->own;
  for (Sent& one : replica.sent) one.own.reset();  // they had another base
}

/// The first parameter after the last round, if all took part in each: the first weights are 0. A round
/// in which nobody has samples changes nothing.
std::optional<double> PeriodChecks::expected(const StageHistory& stage) {
  double value = 0;
  if (stage.replicas.empty()) return value;
  const auto& any = stage.replicas.begin()->second;
  for (size_t round = 0; round < any.rounds.size(); ++round) {
    double updates = 0, samples = 0;
    for (const auto& [name, replica] : stage.replicas) {
      if (replica.rounds.size() != any.rounds.size()) return std::nullopt;
      const Work& work = replica.rounds[round];
      updates += work.updates * work.samples;
      samples += work.samples;
    }
    if (samples > 0) value -= updates / samples;
  }
  return value;
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

/// What it took last and its own updates, whatever has failed.
void PeriodChecks::check_own(const std::string& node, const ArithmeticStage& arithmetic,
                             const char* how) {
  const Stage number = stage_of(swarm_.nodes.at(node));
  const Replica& replica = stages_[number].replicas[node];
  const auto has = static_cast<double>(arithmetic.parameters()[0]);
  if (!about_equal(has, replica.base - replica.own))
    report_("I1",
            fmt::format("{} stage {}, after {}: has {}, not the {} that it took last less its own "
                        "updates since, {}",
                        node, number, how, has, replica.base, replica.own));
}

void PeriodChecks::parameters(const std::string& node, const ArithmeticStage& stage, const char*) {
  trained_here_[node].clear();
  Replica& replica = stages_[stage_of(swarm_.nodes.at(node))].replicas[node];
  replica.loaded = true;
  replica.base = static_cast<double>(stage.parameters()[0]);
  replica.own = 0;
  for (Sent& one : replica.sent) one.own.reset();
  check_values(node, stage, "a load");
}

void PeriodChecks::event(const records::Event& event) {
  if (event.is<records::Recovered>()) recovered_ = ever_recovered_ = true;
  if (const auto now = event.as<records::ConfigurationHolds>()) forced_ |= now->forced;
  if (event.is<records::RoundFailed>() || event.is<records::MemberFailed>() ||
      event.is<records::Suspended>())
    exact_ = false;
  if (event.is<records::SlotSkipped>())
    for (Stage stage; stage.value() < swarm_.num_stages; ++stage)
      stages_[stage].trained.insert(
          {Step(static_cast<uint64_t>(event.step)), Slot(event.as<records::SlotSkipped>()->slot)});
  if (event.is<records::PeerLost>() || event.is<records::PeerSetAside>() ||
      event.is<records::StageLeft>())
    missed_ = true;
  if (event.is<records::Joined>() && event.step > 0) missed_ = true;
}

void PeriodChecks::loaded(const std::string& node, const records::LoadedState& state) {
  if (state.source == "seed") {  // all begin with the same
    stages_[Stage(state.stage)].replicas[node].loaded = false;
    return;
  }
  exact_ = false;
  if (stages_[Stage(state.stage)].saved.count(state.checksum) == 0)
    report_("I2", fmt::format(
                      "{} loaded stage {} period {} from {}, with a checksum that no replica saved",
                      node, state.stage, state.step, state.source));
}

void PeriodChecks::before_start(const std::string& node) {
  trained_here_[node].clear();
  exact_ &= swarm_.nodes.at(node).stage < 0;  // a trainer has no updates to lose
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
  if (forced_ && term != highest_term_) last_closed_.reset();  // that may have been the other part
  if (last_closed_ && !recovered_) {
    const std::string what =
        fmt::format("period {} was closed after period {}", period, *last_closed_);
    if (period > *last_closed_ + 1)
      report_("I7", what + ": those between were skipped without a logged recovery");
    // Behind the last period there is the validation only: after a gathering it is done again.
    const bool same_end = period == *last_closed_ && period.value() == swarm_.training.steps;
    if (period <= *last_closed_ && term == highest_term_ && !same_end)
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
  std::map<Stage, std::vector<std::pair<std::string, double>>> values;
  for (const auto& [name, node] : swarm_.nodes) {
    if (node.stage < 0) continue;  // a trainer has no updates to lose
    exact_ &= node.alive;
    exact_ &= left_behind.count(name) == 0;
    if (!node.alive || node.arithmetic == nullptr || left_behind.count(name) != 0) continue;
    check_values(name, *node.arithmetic, "the end");
    values[stage_of(node)].emplace_back(name,
                                        static_cast<double>(node.arithmetic->parameters()[0]));
  }
  for (const auto& [stage, of_stage] : values) {
    if (!exact_) continue;
    for (const auto& [name, value] : of_stage)
      if (stages_[stage].replicas[name].work.samples > 0)
        report_("I1", fmt::format("nothing failed, but {} of stage {} made updates that are in no "
                                  "average",
                                  name, stage));
    check_rounds(stage);
    const auto right = expected(stages_[stage]);
    if (!right) continue;
    for (const auto& [name, value] : of_stage)
      if (!about_equal(value, *right))
        report_("I1", fmt::format("nothing failed, but {} of stage {} has {}, not the {} of all "
                                  "updates, each with the weight of its peer's samples",
                                  name, stage, value, *right));
  }
  for (const auto& [stage, of_stage] : values)
    for (const auto& [name, value] : of_stage)
      check_own(name, *swarm_.nodes.at(name).arithmetic, "the end");
}

/// Nobody failed a round: then nobody was left out of one, unless it was away.
void PeriodChecks::check_rounds(Stage stage) {
  const auto& replicas = stages_[stage].replicas;
  for (const auto& [name, replica] : replicas) {
    const auto& [first, any] = *replicas.begin();
    if (missed_ || replica.rounds.size() == any.rounds.size()) continue;
    report_("I1",
            fmt::format("nothing failed, but {} of stage {} took part in {} rounds and {} in {}",
                        name, stage, replica.rounds.size(), first, any.rounds.size()));
  }
}

}  // namespace swarm::sim

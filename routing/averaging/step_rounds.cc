#include "routing/averaging/step_rounds.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "common/check.h"

namespace swarm::routing {
namespace {

/// A member's links are the reason only if they are slower than this, of what the others tell.
constexpr double kSlow = 0.5;
/// Who is slow is slow beside so many others of its swarm at least, as one may lie.
constexpr size_t kFewest = 2;

double slowest(const MemberLink& link) { return std::min(link.up, link.down); }
bool is_known(const MemberLink& link) { return link.up > 0 && link.down > 0; }

/// The one that so many are not above; 0 if there is none.
double nth(std::vector<double> rates, size_t place) {
  if (place >= rates.size()) return 0;
  const auto found = rates.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(rates.begin(), found, rates.end());
  return *found;
}

/// The lower median: half of those that tell would have to lie to raise it.
double median(std::vector<double> rates) {
  const size_t count = rates.size();
  return nth(std::move(rates), count == 0 ? 0 : (count - 1) / 2);
}

}  // namespace

StepWithout::StepWithout(const StepRounds& step, std::vector<std::vector<double>> slots)
    : step_(step) {
  SWARM_CHECK(slots.size() == step.rounds.size());
  for (size_t stage = 0; stage < slots.size(); ++stage) {
    OfStage& one = stages_.emplace_back();
    one.gone.assign(step.rounds[stage].members.size(), false);
    one.slots = std::move(slots[stage]);
    SWARM_CHECK(one.slots.size() == one.gone.size());
    one.round_s = seconds(stage);
  }
  with_all_s_ = stall_s();
}

std::vector<StepWithout::Place> StepWithout::slow_ones() const {
  std::vector<double> all;
  for (size_t stage = 0; stage < stages_.size(); ++stage)
    for (const double rate : rates(stage)) all.push_back(rate);
  const double fast = nth(all, all.size() * 3 / 4);  // without half of them no median is higher
  std::vector<Place> found;
  for (size_t stage = 0; stage < stages_.size(); ++stage)
    for (size_t i = 0; i < stages_[stage].gone.size(); ++i) {
      const MemberLink& link = step_.rounds[stage].members[i].link;
      if (is_known(link) && slowest(link) < kSlow * fast) found.push_back({stage, i});
    }
  const auto key = [this](const Place& place) {
    const StepRounds::Round& round = step_.rounds[place.stage];
    const StepRounds::Member& member = round.members[place.member];
    return std::tuple(-round.bytes / slowest(member.link), stages_[place.stage].slots[place.member],
                      member.peer);
  };
  std::sort(found.begin(), found.end(),
            [&key](const Place& a, const Place& b) { return key(a) < key(b); });
  return found;
}

void StepWithout::set_gone(const Place& place, bool gone) {
  OfStage& stage = stages_[place.stage];
  stage.gone[place.member] = gone;
  stage.touched = std::count(stage.gone.begin(), stage.gone.end(), true) > 0;
  stage.round_s = seconds(place.stage);
}

double StepWithout::seconds(size_t stage) const {
  const StepRounds::Round& round = step_.rounds[stage];
  std::vector<MemberLink> links;
  for (size_t i = 0; i < round.members.size(); ++i)
    if (!stages_[stage].gone[i]) links.push_back(round.members[i].link);
  if (links.size() < 2) return 0;
  return round_seconds(links, best_weights(links), round.bytes);
}

/// Of those that are here and known.
std::vector<double> StepWithout::rates(size_t stage) const {
  std::vector<double> found;
  const auto& members = step_.rounds[stage].members;
  for (size_t i = 0; i < members.size(); ++i)
    if (!stages_[stage].gone[i] && is_known(members[i].link))
      found.push_back(slowest(members[i].link));
  return found;
}

bool StepWithout::all_slow() const {
  std::vector<double> all, medians;
  size_t gone = 0;
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    const auto of_stage = rates(stage);
    medians.push_back(median(of_stage));
    all.insert(all.end(), of_stage.begin(), of_stage.end());
    for (const bool one : stages_[stage].gone) gone += one ? 1 : 0;
  }
  if (all.size() < std::max(kFewest, gone)) return false;
  const double of_all = median(all);
  for (size_t stage = 0; stage < stages_.size(); ++stage)
    for (size_t i = 0; i < stages_[stage].gone.size(); ++i)
      if (stages_[stage].gone[i] &&
          slowest(step_.rounds[stage].members[i].link) >= kSlow * std::min(of_all, medians[stage]))
        return false;
  return true;
}

double StepWithout::stall_of(double longest_s) const {
  return std::max(0.0, longest_s - step_.hidden_s);
}

double StepWithout::stall_s() const {
  double longest_s = 0;
  for (const OfStage& stage : stages_) longest_s = std::max(longest_s, stage.round_s);
  return stall_of(longest_s);
}

double StepWithout::most_saved_s() const {
  double all_s = 0, others_s = 0;
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    const double took_s = step_.rounds[stage].took_s;
    all_s = std::max(all_s, took_s);
    if (!stages_[stage].touched) others_s = std::max(others_s, took_s);
  }
  return stall_of(all_s) - stall_of(others_s);
}

double StepWithout::costs_s() const { return std::min(with_all_s_ - stall_s(), most_saved_s()); }

double StepWithout::slots(size_t stage, bool gone) const {
  double sum = 0;
  for (size_t i = 0; i < stages_[stage].slots.size(); ++i)
    if (stages_[stage].gone[i] == gone) sum += stages_[stage].slots[i];
  return sum;
}

/// Of the stage that would take longest.
double StepWithout::saves_s() const {
  double longest_s = 0;
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    const double gone = slots(stage, true), left = slots(stage, false);
    if (gone <= 0) continue;
    if (left <= 0) return std::numeric_limits<double>::infinity();
    longest_s = std::max(longest_s, step_.filling_s * gone / left);
  }
  return longest_s;
}

double StepWithout::saves_s(const Place& place) const {
  const double left = slots(place.stage, false);
  return left > 0 ? step_.filling_s * stages_[place.stage].slots[place.member] / left : 0;
}

}  // namespace swarm::routing

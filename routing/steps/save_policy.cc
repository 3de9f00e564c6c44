#include "routing/steps/save_policy.h"

namespace swarm::routing {
namespace {
constexpr Time kLookEvery = std::chrono::milliseconds(100);
}  // namespace

bool SavePolicy::decide(Step next, const Roster& roster, Time now) {
  const bool regular = options_.every_steps > 0 && next.value() % options_.every_steps == 0;
  const bool due = overdue_ || next.value() == options_.steps || regular;
  overdue_ = due && !may_save(roster, now);
  if (!due || overdue_) return false;
  asked(next, now);
  return true;
}

bool SavePolicy::may_save(const Roster& roster, Time now) const {
  if ((last_ == Step() && !ordered_) || now - last_at_ >= options_.patience) return true;
  return !ordered_ && roster.everywhere(last_);
}

uint64_t SavePolicy::order_begins(Time now) {
  ordered_ = true;
  last_at_ = now;
  return ++orders_;
}

void SavePolicy::asked(Step step, Time now) {
  last_ = step;
  last_at_ = now;
}

std::optional<KeepStep> SavePolicy::keep(const Roster& roster) const {
  const auto newest = roster.newest_everywhere();
  if (newest && (!kept_ || kept_->step != *newest)) kept_ = KeepStep{*newest, ++words_};
  return kept_;
}

void SavePolicy::look(const Roster& roster, Time now) {
  if (looked_at_ && now - *looked_at_ < kLookEvery) return;
  looked_at_ = now;
  keep(roster);
}

void SavePolicy::gone_back(Step step) {
  if (kept_ && kept_->step > step) kept_.reset();
  if (last_ > step) last_ = Step();  // nobody will have it
}

bool SavePolicy::try_again() {
  last_ = Step();  // the next try is for the same step
  return ++tries_ <= options_.final_tries;
}

}  // namespace swarm::routing

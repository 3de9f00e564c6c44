#include "routing/membership/assembly.h"

#include "common/check.h"

namespace swarm::routing {

void Assembly::came(const std::string& voter, const NodeId& process) {
  const auto [known, is_new] = processes_.try_emplace(voter, process);
  if (is_new || known->second == process) return;
  known->second = process;
  votes_.erase(voter);
}

void Assembly::voted(const std::string& voter, const NodeId& process, ConfigurationNumber number,
                     Step step) {
  const auto known = processes_.find(voter);
  if (known == processes_.end() || known->second != process) return;
  if (!change_ && number == decided_.number && step == place_.step) votes_.insert(voter);
}

void Assembly::commit(History after) {
  SWARM_CHECK(may_commit());
  place_ = {place_.step + 1, after};
  votes_.clear();
}

void Assembly::begin_change(const Voters& voters) {
  SWARM_CHECK(!change_);
  votes_.clear();
  change_ = Change{decided_, {decided_.number + 1, voters, place_, false, decided_.forks}, {}};
}

bool Assembly::stored(const std::string& voter, ConfigurationNumber number) {
  if (!change_ || number != change_->to.number) return false;
  change_->stored.insert(voter);
  if (!change_->holds()) return false;
  decided_ = change_->to;
  change_.reset();
  return true;
}

}  // namespace swarm::routing

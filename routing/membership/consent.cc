#include "routing/membership/consent.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace swarm::routing {
namespace {

bool most_of(const Voters& list, const Voters& there) {
  return list.empty() || count(list, there).most();
}

VoterAsk ask_to_store(VoterAsk asks, const Configuration& from, const Configuration& to) {
  asks.what = VoterAsk::What::kStore;
  asks.decided = from;
  asks.next = to;
  return asks;
}

std::vector<VoterAnswer> values(const std::map<std::string, VoterAnswer>& answers) {
  std::vector<VoterAnswer> all;
  for (const auto& [node, answer] : answers) all.push_back(answer);
  return all;
}

}  // namespace

// -- who is here

void Consent::came(const std::string& node, const NodeId& process) {
  Present& voter = present_[node];
  if (voter.process == process) return;
  voter = Present{};
  voter.process = process;
  answers_.erase(node);
  if (assembly_) assembly_->came(node, process);
}

void Consent::takes_part(const NodeId& process) {
  for (auto& [node, voter] : present_)
    if (voter.process == process) voter.takes_part = true;
}

void Consent::gone(const NodeId& process) {
  for (auto it = present_.begin(); it != present_.end();)
    it = it->second.process == process ? present_.erase(it) : std::next(it);
}

Voters Consent::here() const {
  Voters all;
  for (const auto& [node, voter] : present_) all.insert(node);
  return all;
}

// -- gathering

void Consent::begin(const Ballot& ballot) {
  state_ = State::kAsks;
  ballot_ = ballot;
  answers_.clear();
  ruling_ = Ruling();
  change_.reset();
  assembly_.reset();
  changes_since_.reset();
  outranked_.reset();
  votes_wanted_ = other_base_ = false;
  for (auto& [node, voter] : present_) {
    const NodeId process = voter.process;
    voter = Present{};
    voter.process = process;
  }
}

void Consent::stop() {
  begin(Ballot());
  state_ = State::kOff;
  forced_ = false;
  present_.clear();
  lacks_since_.reset();
}

bool Consent::all_answered() const {
  return std::all_of(present_.begin(), present_.end(),
                     [this](const auto& one) { return answers_.count(one.first) != 0; });
}

bool Consent::ready() const {
  if (answers_.empty() || change_) return false;
  if (forced_) return all_answered();
  // Where nobody knows of anything yet, somebody who has not answered may.
  if (ruling_.kind == Ruling::Kind::kFound) return all_answered();
  return ruling_.kind == Ruling::Kind::kGoOn;
}

std::string Consent::waits_for() const {
  if (state_ != State::kAsks || ready()) return "";
  if (change_) return "waiting until more than half have stored a change that was under way";
  const bool few = ruling_.kind == Ruling::Kind::kWait && all_answered();
  if (few && !answers_.empty()) return "minority: " + ruling_.count.text();
  return "waiting for the answers of more than half";
}

void Consent::judge_answers() {
  if (change_) return;  // asked for under this ballot: nothing else may be
  ruling_ = judge(values(answers_));
  if (ruling_.kind == Ruling::Kind::kFinish)
    change_ = Change{ruling_.decided, ruling_.unfinished, {}};
}

bool Consent::open(const Place& base, Time now) {
  if (state_ == State::kReigns && !assembly_->change() && assembly_->place() == base) return true;
  Configuration next;
  if (state_ == State::kAsks && ready()) {
    next = successor(ruling_, here(), base);
    before_ = ruling_.decided;
  } else if (state_ == State::kReigns && !assembly_->change()) {
    before_ = assembly_->configuration();
    next = {before_.number + 1, here(), base, base.step <= assembly_->place().step};
    assembly_.reset();
  } else {
    other_base_ = change() != nullptr && change()->to.base != base;
    return false;
  }
  next.forced = forced_;
  next.gone_back |= forced_;
  change_ = Change{before_, next, {}};
  changes_since_ = now;
  state_ = State::kStores;
  return false;
}

bool Consent::force() {
  if (!lacks() || forced_) return false;
  forced_ = true;
  return true;
}

// -- leading

void Consent::want_votes(Step step) {
  votes_wanted_ |= assembly_ && assembly_->place().step == step;
}

bool Consent::may_commit(Step step) const {
  return assembly_ && assembly_->place().step == step && assembly_->may_commit();
}

void Consent::commit(History after, Time now) {
  SWARM_CHECK(assembly_ && assembly_->may_commit());
  assembly_->commit(after);
  votes_wanted_ = false;
  const Configuration& decided = assembly_->configuration();
  const Voters there = here();
  Voters list;
  for (const auto& [node, voter] : present_)
    if (voter.takes_part || decided.voters.count(node) != 0) list.insert(node);
  if (list == decided.voters || !most_of(decided.voters, there)) return;
  before_ = decided;
  assembly_->begin_change(list);
  changes_since_ = now;
}

// -- mail

const Change* Consent::change() const {
  if (assembly_) return assembly_->change() ? &*assembly_->change() : nullptr;
  return change_ ? &*change_ : nullptr;
}

std::optional<VoterAsk> Consent::next_ask(const std::string& node, const Present& voter) const {
  VoterAsk asks;
  asks.voter = node;
  asks.process = voter.process;
  asks.ballot = ballot_;
  if (state_ == State::kOff) return std::nullopt;
  if (state_ == State::kReigns) return ask_of_reign(std::move(asks), voter);
  if (state_ == State::kAsks && answers_.count(node) == 0) return asks;
  if (!change_ || change_->stored.count(node) != 0) return std::nullopt;
  return ask_to_store(std::move(asks), change_->from, change_->to);
}

std::optional<VoterAsk> Consent::ask_of_reign(VoterAsk asks, const Present& voter) const {
  const Configuration& decided = assembly_->configuration();
  if (const auto& change = assembly_->change()) {
    if (change->stored.count(asks.voter) != 0) return std::nullopt;
    return ask_to_store(std::move(asks), change->from, change->to);
  }
  if (decided.voters.count(asks.voter) == 0) return std::nullopt;
  if (voter.knows < decided.number && voter.stored < decided.number)
    return ask_to_store(std::move(asks), before_, decided);
  if (voter.knows < decided.number) {
    asks.what = VoterAsk::What::kLearn;
    asks.decided = decided;
    return asks;
  }
  if (!votes_wanted_ || assembly_->has_vote(asks.voter)) return std::nullopt;
  asks.what = VoterAsk::What::kVote;
  asks.number = decided.number;
  asks.place = assembly_->place();
  return asks;
}

std::vector<VoterAsk> Consent::due(Time now) {
  if (!lacks())
    lacks_since_.reset();
  else if (!lacks_since_)
    lacks_since_ = now;
  std::vector<VoterAsk> asks;
  if (outranked_) return asks;
  for (auto& [node, voter] : present_) {
    if (now < voter.not_before) continue;
    auto one = next_ask(node, voter);
    if (!one) continue;
    voter.not_before = now + kRetry;
    asks.push_back(std::move(*one));
  }
  return asks;
}

bool Consent::answered(const VoterAsk& ask, const Result<VoterReply>& reply, Time now) {
  const auto found = present_.find(ask.voter);
  if (found == present_.end() || found->second.process != ask.process || ask.ballot != ballot_)
    return false;
  Present& voter = found->second;
  if (!reply) {
    voter.not_before = now + kRetry;
    return false;
  }
  const VoterRecord& record = reply->voter.record;
  // Who refuses and has said nothing new would refuse again.
  const bool news = reply->taken || voter.knows != record.decided.number;
  voter.not_before = news ? Time() : now + kRetry;
  voter.knows = record.decided.number;
  if (ballot_ < record.promised) {
    outranked_ = record.promised.term;
    return true;
  }
  return reply->taken && take(ask, voter, reply->voter);
}

bool Consent::take(const VoterAsk& ask, Present& voter, const VoterAnswer& answer) {
  using What = VoterAsk::What;
  switch (ask.what) {
    case What::kPromise:
      if (state_ != State::kAsks) return false;
      answers_[ask.voter] = answer;
      judge_answers();
      return true;
    case What::kStore:
      voter.stored = ask.next.number;
      return stored(ask.voter, ask.next.number);
    case What::kLearn:
      return true;
    case What::kVote:
      if (assembly_) assembly_->voted(ask.voter, ask.process, ask.number, ask.place.step);
      return assembly_ && assembly_->may_commit();
  }
  return false;
}

/// True: what was asked for holds now.
bool Consent::stored(const std::string& node, ConfigurationNumber number) {
  if (assembly_) {
    if (!assembly_->stored(node, number)) return true;  // it may be voted with
    changes_since_.reset();
    return true;
  }
  if (!change_ || change_->to.number != number) return false;
  change_->stored.insert(node);
  if (!change_->holds()) return false;
  const Configuration held = change_->to;
  change_.reset();
  changes_since_.reset();
  if (state_ == State::kAsks) {
    for (const VoterAnswer& answer : after(held, values(answers_))) answers_[answer.voter] = answer;
    judge_answers();
    return true;
  }
  assembly_.emplace(held);
  for (const auto& [name, voter] : present_) assembly_->came(name, voter.process);
  state_ = State::kReigns;
  forced_ = votes_wanted_ = false;
  return true;
}

// -- questions

std::optional<Count> Consent::lacks() const {
  if (state_ == State::kOff) return std::nullopt;
  const Voters there = here();
  if (const Change* change = this->change(); change != nullptr && !change->to.forced) {
    if (!most_of(change->from.voters, there)) return count(change->from.voters, there);
    if (!most_of(change->to.voters, there)) return count(change->to.voters, there);
    return std::nullopt;
  }
  if (assembly_) {
    const Voters& list = assembly_->configuration().voters;
    return most_of(list, there) ? std::nullopt : std::make_optional(count(list, there));
  }
  const bool few = ruling_.kind == Ruling::Kind::kWait && !answers_.empty() && !forced_;
  return few ? std::make_optional(ruling_.count) : std::nullopt;
}

std::optional<Count> Consent::minority(Time now) const {
  if (!lacks_since_ || now - *lacks_since_ < kPatience) return std::nullopt;
  return lacks();
}

bool Consent::stuck(Time now) const {
  if (other_base_) return true;
  const Change* change = this->change();
  if (change == nullptr || !changes_since_ || now - *changes_since_ < kPatience) return false;
  const Voters there = here();
  return most_of(change->from.voters, there) && !count(change->to.voters, there).most();
}

const Configuration& Consent::configuration() const {
  return assembly_ ? assembly_->configuration() : ruling_.decided;
}

}  // namespace swarm::routing

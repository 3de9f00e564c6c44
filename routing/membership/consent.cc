#include "routing/membership/consent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace swarm::routing {
namespace {

bool enough(const Count& there) { return there.of == 0 || there.most(); }

bool all_in(const std::set<std::string>& nodes, const std::map<std::string, VoterAnswer>& answers) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&answers](const auto& node) { return answers.count(node) != 0; });
}

std::vector<VoterAnswer> values(const std::map<std::string, VoterAnswer>& answers) {
  std::vector<VoterAnswer> all;
  for (const auto& [node, answer] : answers) all.push_back(answer);
  return all;
}

/// Who is on the list of a forced change that was made under this ballot has promised that, done nothing in its line
/// since, and not heard yet that the change holds.
bool is_elsewhere(const VoterAnswer& answer, const Configuration& ours, const Ballot& ballot) {
  const Configuration& its = answer.record.decided;
  const bool promised = ours.line() == ballot && ours.voters.count(answer.voter) != 0 &&
                        !(ballot < answer.record.promised);
  return its.line() != ours.line() && !(promised && may_take(ours, its));
}

}  // namespace

// -- who is here

void Consent::came(const std::string& node, const NodeId& process) {
  if (!attendance_.came(node, process)) return;
  answers_.erase(node);
  if (assembly_) assembly_->came(voter_of(configuration().voters, node), process);
}

// -- gathering

void Consent::begin(const Ballot& ballot) {
  state_ = State::kAsks;
  ballot_ = ballot;
  answers_.clear();
  ruling_ = Ruling();
  known_ = Configuration();
  change_.reset();
  left_.clear();
  assembly_.reset();
  changes_since_.reset();
  away_since_.reset();
  votes_wanted_ = anew_ = false;
  attendance_.forget_answers();
}

void Consent::stop() {
  begin(Ballot());
  state_ = State::kOff;
  forced_ = false;
  attendance_.clear();
  lacks_since_.reset();
}

std::string Consent::waits_for() const {
  if (state_ != State::kAsks) return "";
  const bool all = all_in(attendance_.here(now_), answers_);
  // Where nobody knows of anything yet, somebody who has not answered may.
  const bool needs_all = forced_ || ruling_.kind == Ruling::Kind::kFound;
  const bool goes_on = ruling_.kind == Ruling::Kind::kGoOn;
  const auto few = lacks();  // also of who has answered: it may be gone again
  const bool ready = needs_all ? all : goes_on && !few;
  if (!answers_.empty() && !change_ && !anew_ && ready) return "";
  if (change_) return "waiting until more than half have stored a change that was under way";
  if (few && (all || goes_on)) return "minority: " + few->text();
  return "waiting for the answers of more than half";
}

void Consent::judge_answers() {
  Ruling ruling = judge(values(answers_));
  const Ballot line = ruling.decided.line();
  if (change_) {  // asked for under this ballot: in its line nothing else may be
    if (line == change_->from.line() && ruling.decided.number < change_->to.number) return;
    if (line != change_->from.line()) left_[change_->from.line()] = change_->to;
  }
  change_.reset();
  if (const auto asked = left_.find(line); asked != left_.end()) {
    anew_ |= ruling.kind != Ruling::Kind::kFinish || ruling.unfinished != asked->second;
    left_.erase(asked);
  }
  ruling_ = anew_ ? Ruling() : std::move(ruling);
  for (auto& [name, node] : attendance_.nodes()) {
    const auto other = ruling_.elsewhere.find(node.voter);
    node.stand = other == ruling_.elsewhere.end() ? Stand::kOurs : other->second;
    if (forced_ && node.stand == Stand::kApart)
      node.stand = Stand::kLoses;  // with more than half here
  }
  if (ruling_.kind == Ruling::Kind::kFinish)
    change_ = Change{ruling_.decided, ruling_.unfinished, {}};
}

/// Who comes while this one reigns may be of another line.
void Consent::meet() {
  const auto& nodes = attendance_.nodes();
  Lines lines;
  for (const auto& [name, node] : nodes)
    if (node.elsewhere)
      add(lines, node.elsewhere->record.decided, {node.voter}, node.elsewhere->mark);
  if (lines.empty() || !assembly_) return;
  const Configuration& held = configuration();
  Voters here = held.voters;
  for (const std::string& voter : missing()) here.erase(voter);
  add(lines, held, here, Mark{held.number, assembly_->place()});
  anew_ |= going_on(lines).newest->line() != held.line();
  attendance_.meet(held, lines);
}

bool Consent::open(const Place& base, Time now) {
  now_ = now;
  const bool free = reigns() && !assembly_->change();
  if (free && assembly_->place() == base) return true;
  if (!free && (state_ != State::kAsks || !waits_for().empty())) {
    anew_ |= change() != nullptr && change()->to.base != base;
    return false;
  }
  const Configuration from = free ? assembly_->configuration() : ruling_.decided;
  const Voters voters = attendance_.list(from, now);
  if (voters.empty()) return false;
  Configuration next =
      free ? Configuration{from.number + 1, voters, base, /*gone_back=*/true, from.forks}
           : successor(ruling_, voters, base);
  if (!free && ruling_.kind == Ruling::Kind::kWait) next.fork(ballot_);
  assembly_.reset();
  before_ = from;
  change_ = Change{from, next, {}};
  changes_since_ = now;
  state_ = State::kStores;
  return false;
}

bool Consent::force(Time now) {
  if (!minority(now) && !attendance_.apart()) return false;
  forced_ = true;
  return true;
}

Consent::Bounds Consent::bounds() const {
  Bounds out;
  const Change* change = this->change();
  const Configuration& next = change != nullptr ? change->to : configuration();
  const bool forks = !assembly_ && forced_ && ruling_.kind == Ruling::Kind::kWait;
  if (!next.forks.empty())
    out.forked_in = next.forks.front().number;
  else if (forks)
    out.forked_in = next.number + 1;
  if (assembly_) out.newest = assembly_->place().step;
  if (state_ != State::kAsks || ruling_.kind != Ruling::Kind::kGoOn) return out;
  Voters remember;
  for (const auto& [node, answer] : answers_)
    if (answer.remembers && ruling_.elsewhere.count(answer.voter) == 0)
      remember.insert(answer.voter);
  if (enough(count(ruling_.decided.voters, remember))) out.newest = ruling_.newest.step + 1;
  return out;
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
  now_ = now;
  assembly_->commit(after);
  votes_wanted_ = false;
  change_list();
}

/// Asks for a change if the list is to be another one.
void Consent::change_list() {
  const Configuration& decided = assembly_->configuration();
  const Voters next = attendance_.list(decided, now_);
  if (next == decided.voters || !enough(attendance_.present(decided.voters, now_, true))) return;
  before_ = decided;
  assembly_->begin_change(next);
  changes_since_ = now_;
}

// -- mail

const Change* Consent::change() const {
  if (assembly_) return assembly_->change() ? &*assembly_->change() : nullptr;
  return change_ ? &*change_ : nullptr;
}

std::vector<VoterAsk> Consent::due(Time now) {
  now_ = now;
  meet();
  losers_since_ = attendance_.see_losers(now);
  if (!lacks())
    lacks_since_.reset();
  else if (!lacks_since_)
    lacks_since_ = now;
  const bool free = assembly_ && !assembly_->change();
  const bool away = free && !missing().empty();
  if (!away)
    away_since_.reset();
  else if (!away_since_)
    away_since_ = now;
  const bool leave =
      free && count(nodes_of(configuration().voters), attendance_.leaving(now)).have > 0;
  if (leave || (away && now - *away_since_ >= kPatience)) change_list();
  std::vector<VoterAsk> asks;
  if (outranked()) return asks;
  for (auto& [node, voter] : attendance_.nodes()) {
    if (now < voter.not_before) continue;
    auto one = next_ask(node, voter);
    if (!one) continue;
    voter.not_before = now + Attendance::kRetry;
    one->asked = now;
    asks.push_back(std::move(*one));
  }
  return asks;
}

bool Consent::answered(const VoterAsk& ask, const Result<VoterReply>& reply, Time now) {
  now_ = now;
  Attendance::Node* voter = attendance_.find(ask.node, ask.process);
  if (voter == nullptr || ask.ballot != ballot_) return false;
  if (!reply || node_of(reply->voter.voter) != ask.node) {
    attendance_.failed(*voter, now);
    voter->loses_since.reset();  // who confirmed it may be gone when it is asked again
    return false;
  }
  const VoterAnswer& answer = reply->voter;
  attendance_.answered(*voter, answer, reply->taken, now);
  voter->heard = ask.asked;  // the answer may have been under way for long
  if (assembly_) assembly_->came(answer.voter, ask.process);
  if (known_.number < answer.record.decided.number) known_ = answer.record.decided;
  if (state_ != State::kAsks) {
    const bool other = is_elsewhere(answer, configuration(), ballot_);
    voter->elsewhere = other ? std::make_optional(answer) : std::nullopt;
    voter->stand = Stand::kOurs;  // until it is looked at
  }
  voter->follows = ballot_ < answer.record.promised ? answer.record.promised.term : Term();
  if (voter->follows != Term()) return true;
  if (ask.what == VoterAsk::What::kGiveUp) {  // what it has promised it has promised as another one
    voter->stand = Stand::kOurs;
    voter->loses_since.reset();
    answers_.erase(ask.node);
    return true;
  }
  if (state_ == State::kAsks && answers_.count(ask.node) != 0) {
    answers_[ask.node] = answer;
    judge_answers();
  }
  if (!reply->taken || ask.what == VoterAsk::What::kLearn) return reply->taken;
  if (ask.what == VoterAsk::What::kStore) {
    voter->stored = ask.next.number;
    return stored(answer.voter, ask.next);
  }
  if (ask.what == VoterAsk::What::kVote) {
    if (assembly_) assembly_->voted(answer.voter, ask.process, ask.number, ask.place.step);
    return assembly_ && assembly_->may_commit();
  }
  if (state_ != State::kAsks) return false;
  answers_[ask.node] = answer;
  judge_answers();
  return true;
}

/// True: what was asked for holds now.
bool Consent::stored(const std::string& voter, const Configuration& next) {
  if (assembly_) {
    if (!assembly_->change()) return next == assembly_->configuration();  // late
    if (assembly_->change()->to != next || !assembly_->stored(voter, next.number)) return false;
    changes_since_.reset();
    return true;
  }
  if (!change_ || change_->to != next) return false;
  change_->stored.insert(voter);
  if (!change_->holds()) return false;
  const Configuration held = change_->to;
  change_.reset();
  changes_since_.reset();
  if (state_ == State::kAsks) {
    for (const VoterAnswer& answer : after(held, values(answers_)))
      if (ruling_.elsewhere.count(answer.voter) == 0) answers_[node_of(answer.voter)] = answer;
    judge_answers();
    return true;
  }
  assembly_.emplace(held);
  for (auto& [name, node] : attendance_.nodes())  // with those that come they may be enough
    if (const auto answer = answers_.find(name);
        node.stand != Stand::kOurs && answer != answers_.end())
      node.elsewhere = answer->second;
  state_ = State::kReigns;
  forced_ = votes_wanted_ = false;
  return true;
}

// -- questions

std::string Consent::describe() const {
  if (!assembly_) return state_ == State::kOff ? "no votes" : "votes: " + waits_for();
  const Configuration& decided = assembly_->configuration();
  std::string text = fmt::format("configuration {}, step {}, {}: ", decided.number,
                                 assembly_->place().step, votes_wanted_ ? "votes" : "no votes yet");
  text += assembly_->votes().text();
  if (const auto& change = assembly_->change())
    text += fmt::format("; change to {} stored by {} of {}", change->to.number,
                        change->stored.size(), change->to.voters.size());
  for (const auto& [node, voter] : attendance_.nodes())
    text += fmt::format("\nvoter {}: knows {}, stored {}{}{}{}", node, voter.knows, voter.stored,
                        voter.voter.empty() ? ", not seen" : "", voter.fails_since ? ", fails" : "",
                        voter.leaves ? ", leaves" : "");
  return text + "\n";
}

std::optional<Term> Consent::outranked() const {
  return reigns() && !lacks() ? std::nullopt : attendance_.outranked();
}

std::optional<Count> Consent::lacks() const {
  if (state_ == State::kOff) return std::nullopt;
  if (const Change* change = this->change(); change != nullptr) {
    const Count all = attendance_.present(change->to.voters, now_, true);
    if (change->to.forced()) return all.missing.empty() ? std::nullopt : std::make_optional(all);
    const Count old = attendance_.present(change->from.voters, now_, true);
    if (!enough(old)) return old;
    return all.most() ? std::nullopt : std::make_optional(all);
  }
  if (assembly_) {
    const Count all = attendance_.present(assembly_->configuration().voters, now_, true);
    return enough(all) ? std::nullopt : std::make_optional(all);
  }
  if (answers_.empty() || forced_) return std::nullopt;
  if (ruling_.kind == Ruling::Kind::kWait) return ruling_.count;
  if (ruling_.kind != Ruling::Kind::kGoOn) return std::nullopt;
  const Count still = attendance_.present(ruling_.decided.voters, now_, true);
  return enough(still) ? std::nullopt : std::make_optional(still);
}

std::optional<Count> Consent::minority(Time now, Time patience) const {
  if (!lacks_since_ || now - *lacks_since_ < patience) return std::nullopt;
  return lacks();
}

bool Consent::may_outrank() const { return enough(attendance_.present(known_.voters, now_)); }

Consent::Snag Consent::snag(Time now) const {
  if (anew_) return reigns() ? Snag::kMeeting : Snag::kStuck;
  const Change* change = this->change();
  if (change == nullptr || !changes_since_ || now - *changes_since_ < kPatience) return Snag::kNone;
  const Count all = attendance_.present(change->to.voters, now, true);
  const bool holds = change->to.forced() ? all.missing.empty() : all.most();
  const bool may =
      change->to.forced() || enough(attendance_.present(change->from.voters, now, true));
  return may && !holds ? Snag::kStuck : Snag::kNone;
}

const Configuration& Consent::configuration() const {
  return assembly_ ? assembly_->configuration() : ruling_.decided;
}

}  // namespace swarm::routing

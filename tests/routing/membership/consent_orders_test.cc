/// Many orders of events, drawn from seeds: mail that is lost, late or overtaken, voters that die and come
/// back from their disks, coordinators that see some of them only and know nothing of one another.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "routing/membership/consent.h"
#include "tests/support/sanitized.h"

namespace swarm::routing {
namespace {

using std::chrono::milliseconds;

constexpr int kVoters = 5, kCoordinators = 3, kEvents = 1'000;
constexpr int kRuns = testing::kSanitized ? 600 : 3'000;
constexpr int kCrashesForADisk = 8, kWaitsForAFork = 4;
constexpr size_t kOnTheWay = 12;  // what is older is lost

/// Of the first disks. Without a list parts that begin apart are swarms of their own.
const Voters kFile{"a", "b", "c", "d", "e"};

NodeId process(int voter, int life) {
  NodeId id;
  id.bytes[0] = static_cast<uint8_t>(voter + 1);
  id.bytes[1] = static_cast<uint8_t>(life);
  return id;
}

/// Everything that was ever decided, by anybody. In a line of history each number is one configuration.
struct Decided {
  using Line = std::pair<Term, NodeId>;
  using At = std::pair<Line, uint64_t>;  // its number
  std::map<At, Configuration> held;
  std::map<std::pair<At, uint64_t>, uint64_t> commits;  // (at, step) -> history
  std::string wrong;

  static At at(const Configuration& one) {
    return {{one.line().term, one.line().node}, one.number.value()};
  }
  void holds(const Configuration& one) {
    const auto [known, is_new] = held.emplace(at(one), one);
    if (!is_new && known->second != one) wrong = "two configurations of one number hold";
  }
  void committed(const Configuration& one, uint64_t step, uint64_t history) {
    if (!commits.emplace(std::pair(at(one), step), history).second)
      wrong = "a step was committed twice in one number";
  }
  /// Nothing that was committed is lost unsaid; what follows on a base is that base.
  void check_bases() {
    for (const auto& [its, next] : held)
      for (const auto& [one, history] : commits) {
        const bool before = one.first.first == its.first && one.first.second + 1 == its.second;
        if (!before || next.gone_back) continue;
        if (one.second >= next.base.step.value()) wrong = "a commit was lost unsaid";
        if (one.second + 1 == next.base.step.value() && history != next.base.history.value())
          wrong = "a configuration begins with another history";
      }
  }
  size_t lines() const {
    std::set<Line> all;
    for (const auto& [its, one] : held) all.insert(its.first);
    return all.size();
  }
};

class Orders {
 public:
  explicit Orders(uint64_t seed) : parts_(seed % 2 == 1), random_(seed) {
    for (int i = 0; i < kVoters; ++i) {
      voters_.emplace_back(name(i), std::nullopt, kFile);
      lives_.push_back(0);
    }
    for (int i = 0; i < kCoordinators; ++i) coordinators_.emplace_back();
    begin(0);
  }

  void run() {
    for (int event = 0; event < kEvents && decided.wrong.empty(); ++event) one_event();
    if (decided.wrong.empty()) heal();
    decided.check_bases();
  }

  Decided decided;
  size_t gave_up = 0;
  size_t changes() const { return decided.held.size(); }

 private:
  struct Asked {
    int coordinator;
    VoterAsk ask;
  };
  struct Answered {
    int coordinator;
    VoterAsk ask;
    VoterReply reply;
  };

  static std::string name(int voter) { return std::string(1, static_cast<char>('a' + voter)); }
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }

  void one_event() {
    if (below(150) == 0) return begin(lead_ = below(kCoordinators));
    const int who = below(10) < (parts_ ? 2 : 8) ? lead_ : below(kCoordinators);
    if (below(40) == 0) return go_on(who);
    if (parts_ && below(100) == 0) return below(2) == 0 ? part() : meet(who);
    if (parts_ && below(10) == 0) return hurry(who);
    switch (const int what = below(100); what) {
      case 0:
      case 1:
      case 2:
        return come(who, below(kVoters));
      case 3:
        return coordinators_[static_cast<size_t>(who)].attendance().gone(
            process(below(kVoters), lives_[0]));
      case 4:
        return crash(below(kVoters));
      case 5:
        return leave(who, below(kVoters));
      case 6:
        return leave_in_order(who, below(kVoters));
      default:
        if (what < 25) return tick(who);
        if (what < 57) return ask_one();
        if (what < 89) return answer_one();
        if (what < 94) return open(who);
        return commit(who);
    }
  }

  void begin(int who) {
    renew(who);
    for (int voter = 0; voter < kVoters; ++voter)
      if (below(5) != 0) come(who, voter);
  }
  /// Too few are there: it is told to go on without the others.
  void go_on(int who) {
    auto& consent = coordinators_[static_cast<size_t>(who)];
    if (consent.snag(now_) != Consent::Snag::kNone ||
        (below(kWaitsForAFork) == 0 && consent.force(now_)))
      renew(who);
  }
  void renew(int who) {
    coordinators_[static_cast<size_t>(who)].begin(
        {Term(static_cast<uint64_t>(++term_)), process(100 + who, 0)});
    told_[who].clear();
  }
  void come(int who, int voter) {
    auto& consent = coordinators_[static_cast<size_t>(who)];
    const NodeId id = process(voter, lives_[static_cast<size_t>(voter)]);
    consent.came(name(voter), id);
    if (below(4) != 0) consent.attendance().takes_part(id);
  }
  /// A cut: each coordinator has some for itself.
  void part() {
    for (int voter = 0; voter < kVoters; ++voter) {
      const int with = below(kCoordinators);
      for (int who = 0; who < kCoordinators; ++who)
        who == with ? come(who, voter) : leave(who, voter);
    }
  }
  /// It speaks to all that it reaches at once, now and then in vain.
  void hurry(int who) {
    now_ += milliseconds(below(2'000));
    for (const auto& ask : coordinators_[static_cast<size_t>(who)].due(now_)) {
      const auto answer = below(20) != 0 ? reach({who, ask}) : std::nullopt;
      if (answer && below(20) != 0) hear(*answer);
    }
    below(2) == 0 ? open(who) : commit(who);
  }
  void meet(int who) {
    for (int voter = 0; voter < kVoters; ++voter) come(who, voter);
  }
  void leave(int who, int voter) {
    coordinators_[static_cast<size_t>(who)].attendance().gone(
        process(voter, lives_[static_cast<size_t>(voter)]));
  }
  void leave_in_order(int who, int voter) {
    coordinators_[static_cast<size_t>(who)].attendance().leaves(
        process(voter, lives_[static_cast<size_t>(voter)]), now_);
  }
  void crash(int voter) {
    const auto at = static_cast<size_t>(voter);
    VoterRecord record = voters_[at].record();
    ++lives_[at];
    if (below(kCrashesForADisk) == 0) {
      record = VoterRecord();
      record.disk = std::to_string(lives_[at]);
      record.decided.voters = kFile;
    }
    voters_[at] = Voter(name(voter), record, kFile);
    for (int who = 0; who < kCoordinators; ++who)
      if (below(2) == 0) come(who, voter);
  }
  void tick(int who) {
    now_ += milliseconds(below(700));
    for (auto& ask : coordinators_[static_cast<size_t>(who)].due(now_))
      asked_.push_back({who, ask});
  }
  template <class Mail>
  std::optional<Mail> take(std::vector<Mail>& mail) {
    if (mail.empty()) return std::nullopt;
    if (mail.size() > kOnTheWay) mail.erase(mail.begin(), mail.end() - kOnTheWay);
    const auto at =
        below(3) != 0 ? mail.begin() : mail.begin() + below(static_cast<int>(mail.size()));
    Mail one = *at;
    if (below(12) != 0) mail.erase(at);  // else it comes again
    if (below(10) == 0) return std::nullopt;
    return one;
  }
  void ask_one() {
    const auto one = take(asked_);
    if (!one) return;
    if (auto answer = reach(*one)) answered_.push_back(*answer);
  }
  std::optional<Answered> reach(const Asked& asks) {
    const Asked* one = &asks;
    const int voter = one->ask.node.front() - 'a';
    if (one->ask.process != process(voter, lives_[static_cast<size_t>(voter)])) return std::nullopt;
    Voter& asked = voters_[static_cast<size_t>(voter)];
    const VoterAsk& ask = one->ask;
    using What = VoterAsk::What;
    Status taken;
    if (ask.what == What::kPromise) taken = asked.promise(ask.ballot);
    if (ask.what == What::kStore) taken = asked.store(ask.ballot, ask.decided, ask.next);
    if (ask.what == What::kLearn) taken = asked.learn(ask.ballot, ask.decided);
    if (ask.what == What::kGiveUp) {
      taken = asked.give_up(ask.voter, ask.decided);
      gave_up += taken.ok() ? 1 : 0;
    }
    if (ask.what == What::kVote) {
      taken = asked.apply(ask.ballot, ask.number, ask.place);
      if (taken.ok()) taken = asked.vote(ask.ballot, ask.number, ask.place.step);
    }
    return Answered{one->coordinator, ask, {taken.ok(), asked.answer()}};
  }
  void answer_one() {
    if (const auto one = take(answered_)) hear(*one);
  }
  void hear(const Answered& answer) {
    const Answered* one = &answer;
    auto& consent = coordinators_[static_cast<size_t>(one->coordinator)];
    consent.answered(one->ask, one->reply, now_);
    told_[one->coordinator].push_back(one->reply.voter);
    note(consent);
  }
  void note(const Consent& consent) {
    if (consent.reigns()) decided.holds(consent.configuration());
  }
  /// Where peers say that they are: the newest place that a coordinator was told of; now and then an
  /// older one, as stages may have lost what led there.
  void open(int who) {
    auto& consent = coordinators_[static_cast<size_t>(who)];
    if (!consent.waits_for().empty()) return;
    Place base = consent.reigns() ? last_[who] : Place();
    const Ballot line = consent.configuration().line();
    for (const VoterAnswer& answer : told_[who]) {
      if (answer.record.decided.line() != line) continue;
      const auto later = [&base](const Place& one) {
        if (base.step < one.step) base = one;
      };
      if (!consent.reigns() || below(8) == 0) later(answer.record.decided.base);
      if (!consent.reigns() && answer.mark && answer.mark->number == newest(told_[who]))
        later(answer.mark->place);
    }
    if (!consent.reigns() && below(2) == 0) base = shown_by_peers(consent.configuration());
    if (below(12) == 0 && base.step.value() > 0) base = {Step(base.step.value() - 1), History(7)};
    if (consent.open(base, now_)) last_[who] = base;
    note(consent);
  }
  /// That were told of a commit: of the newest number, or of one that was given up since.
  Place shown_by_peers(const Configuration& known) {
    Decided::At its = Decided::at(known);
    its.second -= below(4) == 0 ? std::min(its.second, 1ul) : 0;
    Place place;
    for (const auto& [at, history] : decided.commits)
      if (at.first == its) place = {Step(at.second + 1), History(history)};
    return place;
  }
  static ConfigurationNumber newest(const std::vector<VoterAnswer>& answers) {
    ConfigurationNumber number;
    for (const auto& one : answers) number = std::max(number, one.record.decided.number);
    return number;
  }
  void commit(int who) {
    auto& consent = coordinators_[static_cast<size_t>(who)];
    const Step step = last_[who].step;
    consent.want_votes(step);
    if (!consent.may_commit(step)) return;
    const uint64_t number = consent.configuration().number.value();
    const History after =
        history_after(last_[who].history, {step, {++histories_}, step, {}, number});
    decided.committed(consent.configuration(), step.value(), after.value());
    consent.commit(after, now_);
    last_[who] = {step + 1, after};
  }

  /// All meet at one coordinator, and nothing is lost any more: the line that stays is the one of the rule,
  /// and all are of it. Where none has more than half the people go on.
  void heal() {
    std::vector<VoterAnswer> all;
    for (const Voter& voter : voters_) all.push_back(voter.answer());
    const Lines lines = lines_of(all);
    const Ballot stays = going_on(lines).newest->line();
    const bool whole = judge(all).kind != Ruling::Kind::kWait;
    auto& one = coordinators_[0];
    one.stop();
    renew(0);
    for (int voter = 0; voter < kVoters; ++voter) come_to_stay(voter);
    for (int round = 0; round < 200 && !settled(one); ++round) {
      now_ += milliseconds(300);
      for (const auto& ask : one.due(now_))
        if (const auto answer = reach({0, ask})) hear(*answer);
      open(0);
      commit(0);
      if (one.snag(now_) != Consent::Snag::kNone || one.force(now_)) renew(0);
      for (int voter = 0; voter < kVoters; ++voter) come_to_stay(voter);
    }
    if (!settled(one)) decided.wrong = "a swarm that meets does not settle";
    if (whole && one.configuration().line() != stays) decided.wrong = "another line stays";
  }
  void come_to_stay(int voter) {
    const NodeId id = process(voter, lives_[static_cast<size_t>(voter)]);
    coordinators_[0].came(name(voter), id);
    coordinators_[0].attendance().takes_part(id);
  }
  bool settled(const Consent& one) const {
    return one.reigns() && one.configuration().voters.size() == kVoters &&
           std::all_of(voters_.begin(), voters_.end(), [&one](const Voter& voter) {
             return voter.record().decided == one.configuration();
           });
  }

  const bool parts_;
  std::mt19937_64 random_;
  std::vector<Voter> voters_;
  std::vector<int> lives_;
  std::vector<Consent> coordinators_;
  std::map<int, std::vector<VoterAnswer>> told_;
  std::map<int, Place> last_;
  std::vector<Asked> asked_;
  std::vector<Answered> answered_;
  Time now_ = std::chrono::seconds(1'000);
  int term_ = 0, lead_ = 0;  // who is the busiest
  uint64_t histories_ = 1'000;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(consent_in_any_order)

BOOST_AUTO_TEST_CASE(no_order_of_events_makes_two_histories) {
  size_t configurations = 0, commits = 0, forks = 0, gave_up = 0;
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    Orders orders(seed);
    orders.run();
    BOOST_TEST(orders.decided.wrong == "", "seed " << seed << ": " << orders.decided.wrong);
    configurations += orders.changes();
    commits += orders.decided.commits.size();
    forks += orders.decided.lines() - 1;
    gave_up += orders.gave_up;
  }
  BOOST_TEST_MESSAGE(configurations << " configurations, " << commits << " commits, " << forks
                                    << " forks, " << gave_up << " lines given up");
  BOOST_TEST(configurations > 2u * kRuns);  // they do get somewhere
  BOOST_TEST(2u * commits > kRuns);
  BOOST_TEST(4u * forks > kRuns);
  BOOST_TEST(16u * gave_up > kRuns);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::routing

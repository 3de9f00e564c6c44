/// All that can happen to five voters and three coordinators, tried out: every order of messages,
/// every message lost or late, any cuts (who is not asked is cut off), processes that die and come back
/// from their disks. Voters and coordinators are the product's own code; only the world is made up.
///
/// The first coordinator leads configuration 1 of all five. It may change the list and commit; the
/// others gather at any time. A reply comes at once or never: one that comes late adds nothing, since
/// nobody has to act at once on what it heard.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/routing/membership/one_history_world.h"

namespace swarm::testing::one_history {

class HistoryModel {
 public:
  HistoryModel(const ModelLimits& limits, Weakness weakness) : limits_(limits), weak_(weakness) {}

  /// Looks at every world that can be reached. True: nothing is broken in any.
  bool holds() {
    World world;
    begin(world);
    visit(world, "begin");
    return violation_.empty();
  }
  size_t worlds() const { return seen_.size(); }
  /// What was broken, and the events that led there.
  const std::string& violation() const { return violation_; }

 private:
  void begin(World& world) {
    const routing::Configuration first{routing::ConfigurationNumber(1), names_of(31), {}, false};
    world.decided[1] = static_cast<uint32_t>(bits_of(first));
    for (int v = 0; v < kVoters; ++v) {
      routing::Voter voter(voter_name(v), routing::VoterRecord{ballot_of(0), first, {}}, {});
      (void)voter.apply(ballot_of(0), first.number, first.base);
      world.voters[v] = keep(voter);
    }
    lead_from(world, 0, first);
  }

  // -- the walk

  template <class Event>
  void visit(const World& world, const Event& event) {
    if (!violation_.empty()) return;
    path_.push_back(event);
    if (!broken_.empty()) {
      for (const std::string& one : path_) violation_ += one + "\n";
      violation_ += broken_;
    } else if (seen_.insert(hash(world, voters_.kept, leaders_.kept)).second) {
      explore(world);
    }
    path_.pop_back();
  }

  void explore(const World& world) {
    for (int v = 0; v < kVoters; ++v) crash(world, v);
    if (limits_.cuts && world.cuts < static_cast<uint32_t>(limits_.gatherings)) cut(world);
    for (int c = 0; c <= limits_.gatherings; ++c) {
      const Coordinator& one = world.coordinators[c];
      // It acts as soon as it may: more answers only tell it more.
      const bool waits = one.phase == kAsks && ruling(one).kind == routing::Ruling::Kind::kWait;
      if (one.phase == kIdle || waits) speak(world, c, "asks", &HistoryModel::ask);
      if (one.phase == kAsks && !waits) act(world, c, ruling(one));
      if (one.phase == kStores) speak(world, c, "has it stored by", &HistoryModel::store);
      if (one.phase != kReigns) continue;
      if (reign_of(world, c).change()) {
        speak(world, c, "has its change stored by", &HistoryModel::store_change);
      } else {
        speak(world, c, "tells the place to", &HistoryModel::tell);
        speak(world, c, "has the votes of", &HistoryModel::vote);
      }
      decide(world, c);
    }
  }

  /// `Act`: of coordinator c with voter v.
  using Act = void (HistoryModel::*)(World&, int c, int v);
  void speak(const World& world, int c, const std::string& what, Act act) {
    Mask all = 0;
    for (int v = 0; v < kVoters; ++v)
      if (!limits_.cuts || world.reached_by[v] == static_cast<uint32_t>(c)) all |= 1u << v;
    for (Mask to = 1; to <= all; ++to) {
      if ((to & ~all) != 0) continue;
      World next = world;
      if (!limits_.partial && __builtin_popcount(to) != 1) continue;
      if (limits_.partial && to != all && ++next.partial > *limits_.partial) continue;
      const uint32_t phase = next.coordinators[c].phase;
      for (int v = 0; v < kVoters; ++v)
        if ((to >> v & 1) != 0 && next.coordinators[c].phase == phase) (this->*act)(next, c, v);
      visit(next, name(c) + " " + what + " " + text(to));
    }
  }

  void cut(const World& world) {
    for (Mask side = 1; side < 32; ++side) {
      World next = world;
      ++next.cuts;
      for (int v = 0; v < kVoters; ++v)
        if ((side >> v & 1) != 0) next.reached_by[v] = next.cuts;
      visit(next, "cut: " + text(side) + " to " + name(static_cast<int>(next.cuts)));
    }
  }

  void crash(const World& world, int v) {
    if (__builtin_popcount(world.lives) >= limits_.crashes || (world.lives >> v & 1) != 0) return;

    World next = world;
    const auto& old = voters_.kept[world.voters[v]];
    if (limits_.cuts && !old.answer().mark->voted) return;  // it forgets nothing that counts
    next.voters[v] = keep(routing::Voter(voter_name(v), old.record(), {}));
    next.lives |= 1u << v;
    visit(next, "crash of " + voter_name(v));
  }

  // -- a gathering

  void ask(World& world, int c, int v) {
    Coordinator& one = world.coordinators[c];
    if (c == 0 || one.answers[v] != 0) return;  // of lower ballots it takes nothing more
    const auto asked = voters_.ask(world.voters[v], question(1, c, v), [&](routing::Voter& voter) {
      return weak_ == Weakness::kNoPromise || voter.promise(ballot_of(c)).ok();
    });
    if (!asked.agreed) return;
    world.voters[v] = asked.id;
    one.phase = kAsks;
    one.answers[v] = 1 + asked.id;
    one.lives = (one.lives & ~(1u << v)) | (world.lives & 1u << v);
  }

  routing::Ruling judge(const std::vector<routing::VoterAnswer>& answers) const {
    auto heard = answers;
    if (weak_ == Weakness::kForgetful)
      for (auto& answer : heard) answer.remembers = true;
    return routing::judge(heard);
  }

  const routing::Ruling& ruling(const Coordinator& one) {
    uint64_t key = 0;
    for (const uint32_t answer : one.answers) key = mix(key ^ answer);
    const auto known = rulings_.find(key);
    if (known != rulings_.end()) return known->second;
    std::vector<routing::VoterAnswer> answers;
    for (const uint32_t answer : one.answers)
      if (answer != 0) answers.push_back(voters_.kept[answer - 1].answer());
    return rulings_.emplace(key, judge(answers)).first->second;
  }

  void act(const World& world, int c, const routing::Ruling& ruling) {
    using Kind = routing::Ruling::Kind;
    if (ruling.kind == Kind::kFinish) propose(world, c, ruling.decided, ruling.unfinished, true);
    if (ruling.kind != Kind::kGoOn || ruling.decided.number.value() > 5) return;
    Mask answered = 0;
    for (int v = 0; v < kVoters; ++v)
      if (world.coordinators[c].answers[v] != 0) answered |= 1u << v;
    propose(world, c, ruling.decided, routing::successor(ruling, names_of(answered), ruling.newest),
            false);
    if (const auto shown = shown_by_peers(world, ruling))
      propose(world, c, ruling.decided, routing::successor(ruling, names_of(answered), *shown),
              false);
    propose(world, c, ruling.decided,
            routing::successor(ruling, ruling.decided.voters, ruling.newest), false);
  }

  /// The last commit, if the voters have not been told of it.
  std::optional<routing::Place> shown_by_peers(const World& world, const routing::Ruling& ruling) {
    const uint64_t number = ruling.decided.number.value();
    std::optional<routing::Place> last;
    for (uint64_t step = ruling.newest.step.value(); world.committed[number] >> step != 0; ++step)
      last = {Step(step + 1), history_of(number, step)};
    return last;
  }

  void propose(const World& world, int c, const routing::Configuration& from,
               const routing::Configuration& to, bool finishes) {
    World next = world;
    Coordinator& one = next.coordinators[c];
    one.phase = kStores;
    one.from = static_cast<uint32_t>(bits_of(from));
    one.to = static_cast<uint32_t>(bits_of(to));
    one.stored = 0;
    one.finishes = finishes ? 1 : 0;
    if (!finishes) one.answers = {};
    visit(next, name(c) + (finishes ? " finishes " : " wants ") + text(to));
  }

  void store(World& world, int c, int v) {
    Coordinator& one = world.coordinators[c];
    const auto from = configuration_of(one.from), to = configuration_of(one.to);
    if (!stores(world, c, v, from, to)) return;
    one.stored |= 1u << v;
    if (!change_holds({from, to, names_of(one.stored)})) return;
    hold(world, to);
    if (one.finishes == 0) return lead_from(world, c, to);
    for (uint32_t& answer : one.answers)
      if (answer != 0) answer = 1 + learned(answer - 1, to);
    one.phase = kAsks;
    one.from = one.to = one.stored = one.finishes = 0;
  }

  bool stores(World& world, int c, int v, const routing::Configuration& from,
              const routing::Configuration& to) {
    const uint64_t key = question(2, c, v) ^ mix(bits_of(from) << 20 | bits_of(to));
    const auto asked = voters_.ask(world.voters[v], key, [&](routing::Voter& voter) {
      return voter.store(ballot_of(c), from, to).ok();
    });
    world.voters[v] = asked.id;
    return asked.agreed;
  }

  bool change_holds(const routing::Change& change) const {
    return weak_ == Weakness::kNewListOnly ? change.new_count().most() : change.holds();
  }

  uint32_t learned(uint32_t id, const routing::Configuration& decided) {
    return voters_
        .ask(id, mix(9) ^ mix(bits_of(decided)),
             [&](routing::Voter& voter) { return voter.learn(decided), true; })
        .id;
  }

  // -- a reign

  void lead_from(World& world, int c, const routing::Configuration& decided) {
    Leader leader{routing::Assembly(decided), world.coordinators[c].lives};
    for (int v = 0; v < kVoters; ++v) leader.reign.came(voter_name(v), process_of(v, leader.lives));
    world.coordinators[c] = {};
    world.coordinators[c].phase = kReigns;
    world.coordinators[c].leader = leaders_.kept.keep(leader, bits_of(leader));
  }

  const routing::Assembly& reign_of(const World& world, int c) const {
    return leaders_.kept[world.coordinators[c].leader].reign;
  }

  /// Where the swarm is.
  void tell(World& world, int c, int v) {
    meet(world, c, v);
    const routing::Assembly& reign = reign_of(world, c);
    const auto decided = reign.configuration();
    const auto place = reign.place();
    const uint64_t key = question(3, c, v) ^ mix(bits_of(decided) << 20 | bits_of(place));
    const auto asked = voters_.ask(world.voters[v], key, [&](routing::Voter& voter) {
      voter.learn(decided);
      return voter.apply(ballot_of(c), decided.number, place).ok();
    });
    world.voters[v] = asked.id;
  }

  /// A process that it has not met takes back what the one before has voted.
  void meet(World& world, int c, int v) {
    if (weak_ == Weakness::kOldProcesses) return;
    const NodeId process = process_of(v, world.lives);
    update(world, c, question(4, c, v) ^ process.bytes[15], [&](Leader& leader) {
      leader.reign.came(voter_name(v), process);
      leader.lives = (leader.lives & ~(1u << v)) | (world.lives & 1u << v);
      return true;
    });
  }

  bool update(World& world, int c, uint64_t key, const std::function<bool(Leader&)>& f) {
    const auto asked = leaders_.ask(world.coordinators[c].leader, key, f);
    world.coordinators[c].leader = asked.id;
    return asked.agreed;
  }

  void vote(World& world, int c, int v) {
    if (world.coordinators[c].commits >= static_cast<uint32_t>(limits_.commits)) return;
    const routing::Assembly& reign = reign_of(world, c);
    if (reign.may_commit()) return;  // more votes only make those that gather more careful
    const auto number = reign.configuration().number;
    const Step step = reign.place().step;
    const uint64_t key = question(5, c, v) ^ mix(number.value() << 8 | step.value());
    const auto asked = voters_.ask(world.voters[v], key, [&](routing::Voter& voter) {
      return voter.vote(ballot_of(c), number, step).ok();
    });
    if (!asked.agreed) return;
    world.voters[v] = asked.id;
    const NodeId process = process_of(v, leaders_.kept[world.coordinators[c].leader].lives);
    update(world, c, question(6, c, v), [&](Leader& leader) {
      leader.reign.voted(voter_name(v), process, number, step);
      return true;
    });
  }

  void store_change(World& world, int c, int v) {
    if (!reign_of(world, c).change()) return;  // it holds by now
    const routing::Change change = *reign_of(world, c).change();
    if (!stores(world, c, v, change.from, change.to)) return;
    bool held = update(world, c, question(7, c, v), [&](Leader& leader) {
      return leader.reign.stored(voter_name(v), change.to.number);
    });
    if (!held && change_holds(*reign_of(world, c).change())) {
      held = true;
      lead_from(world, c, change.to);
    }
    if (!held) return;
    world.coordinators[c].commits = 0;
    hold(world, change.to);
  }

  /// What it may do by itself.
  void decide(const World& world, int c) {
    const routing::Assembly& reign = reign_of(world, c);
    if (reign.may_commit()) commit(world, c);
    if (c != 0 || reign.change() ||
        world.coordinators[c].changes >= static_cast<uint32_t>(limits_.changes))
      return;
    const Mask list = mask_of(reign.configuration().voters);
    for (Mask drop = 1; drop < 32; ++drop) {
      if ((drop & ~list) != 0 || __builtin_popcount(drop) > 2) continue;
      World next = world;
      ++next.coordinators[c].changes;
      update(next, c, question(8, c, 0) ^ mix(drop), [&](Leader& leader) {
        leader.reign.begin_change(names_of(list & ~drop));
        return true;
      });
      visit(next, name(c) + " wants " + text(reign_of(next, c).change()->to));
    }
  }

  void commit(const World& world, int c) {
    World next = world;
    const routing::Assembly& reign = reign_of(world, c);
    const auto number = reign.configuration().number.value();
    const auto step = reign.place().step.value();
    const Mask votes = 31 & ~mask_of(reign.votes().missing);
    if (step == 3) return;
    const routing::History after = history_of(number, step);
    ++next.coordinators[c].commits;
    update(next, c, question(8, c, 1), [&](Leader& leader) {
      leader.reign.commit(after);
      return true;
    });
    next.committed[number] |= 1u << step;
    if (next.decided[number + 1] != 0) ++next.late[number];
    check(next);
    if (weak_ == Weakness::kWhoAnsweredLast) {
      const routing::Configuration list{routing::ConfigurationNumber(number + 1),
                                        names_of(votes),
                                        {Step(step + 1), after},
                                        false};
      const uint32_t commits = next.coordinators[c].commits;
      hold(next, list);
      lead_from(next, c, list);
      next.coordinators[c].commits = commits;
    }
    visit(next, name(c) + " commits " + text({Step(step), after}));
  }

  // -- what must never be

  /// A configuration holds.
  void hold(World& world, const routing::Configuration& decided) {
    const auto bits = static_cast<uint32_t>(bits_of(decided));
    uint32_t& known = world.decided[decided.number.value()];
    if (known != 0 && known != bits)
      broken_ = "two configurations of one number hold: " + text(configuration_of(known)) +
                " and " + text(decided);
    known = bits;
    check(world);
  }

  /// Unless a configuration says that the swarm has gone back, it begins with all that was committed
  /// in the one before; once it holds, one commit at most is still decided in the one before.
  void check(const World& world) {
    for (size_t number = 1; number + 1 < world.decided.size(); ++number) {
      if (world.late[number] > 1)
        broken_ = "two parts commit, in configurations " + std::to_string(number);
      if (world.decided[number + 1] == 0) continue;
      const auto next = configuration_of(world.decided[number + 1]);
      if (next.gone_back || world.committed[number] == 0) continue;
      uint64_t last = 0;
      while (world.committed[number] >> (last + 1) != 0) ++last;
      if (next.base != routing::Place{Step(last + 1), history_of(number, last)})
        broken_ =
            text(next) + " does not know of the last commit of number " + std::to_string(number);
    }
  }

  uint32_t keep(const routing::Voter& voter) { return voters_.kept.keep(voter, bits_of(voter)); }

  const ModelLimits limits_;
  const Weakness weak_;
  Memory<routing::Voter> voters_;
  Memory<Leader> leaders_;
  std::unordered_map<uint64_t, routing::Ruling> rulings_;
  std::unordered_set<uint64_t> seen_;
  std::vector<std::string> path_;
  std::string broken_, violation_;
};

}  // namespace swarm::testing::one_history

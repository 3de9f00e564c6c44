/// Voters, coordinators and configurations of the product as small numbers, so that millions of
/// worlds can be told apart. What they answer is their own code's doing, computed once and remembered.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/mix.h"
#include "routing/membership/assembly.h"
#include "routing/membership/quorum.h"
#include "routing/membership/voter.h"
#include "tests/support/ids.h"

namespace swarm::testing::one_history {

constexpr int kVoters = 5;
using Mask = uint32_t;  ///< Of voters.

inline std::string voter_name(int voter) { return std::string(1, static_cast<char>('a' + voter)); }

inline routing::Voters names_of(Mask mask) {
  routing::Voters names;
  for (int v = 0; v < kVoters; ++v)
    if ((mask >> v & 1) != 0) names.insert(voter_name(v));
  return names;
}

inline Mask mask_of(const routing::Voters& names) {
  Mask mask = 0;
  for (const std::string& name : names) mask |= 1u << (name[0] - 'a');
  return mask;
}

inline routing::Ballot ballot_of(int coordinator) {
  return {Term(coordinator + 1), node(coordinator + 1)};
}
/// Of a voter that has died as often as `lives` says: not, or once.
inline NodeId process_of(int voter, Mask lives) {
  return node(100 + 2 * voter + (lives >> voter & 1));
}

/// 6 bits of a commit, in its lowest ones.
inline routing::History history_of(uint64_t bits) {
  return routing::History(bits >> 3 << routing::kHashBits | bits);
}
/// Of the commit in `number` that leads on from `step`.
inline routing::History history_of(uint64_t number, uint64_t step) {
  return history_of(number << 3 | (step + 1));
}
inline uint64_t bits_of(const routing::Place& place) {  // 2 + 6 bits
  return place.step.value() << 6 | (place.history.value() & 63);
}
inline uint64_t bits_of(const routing::Configuration& one) {  // 3 + 5 + 8 + 1 bits
  return one.number.value() << 14 | mask_of(one.voters) << 9 | bits_of(one.base) << 1 |
         (one.gone_back ? 1 : 0);
}
inline routing::Configuration configuration_of(uint64_t bits) {
  const routing::Place base{Step(bits >> 7 & 3), history_of(bits >> 1 & 63)};
  return {routing::ConfigurationNumber(bits >> 14 & 7), names_of(bits >> 9 & 31), base,
          (bits & 1) != 0};
}
/// A coordinator that leads, with the processes of voters that it has met.
struct Leader {
  routing::Assembly reign;
  Mask lives = 0;
};

/// The voters in another order: what is one world but for the names is looked at once.
class Order {
 public:
  explicit Order(const std::array<uint64_t, kVoters>& keys) {
    for (int v = 0; v < kVoters; ++v) voters_[v] = v;
    std::stable_sort(voters_.begin(), voters_.end(),
                     [&keys](int a, int b) { return keys[a] < keys[b]; });
  }
  int operator[](int place) const { return voters_[place]; }
  Mask mask(Mask mask) const {
    Mask moved = 0;
    for (int place = 0; place < kVoters; ++place) moved |= (mask >> voters_[place] & 1) << place;
    return moved;
  }
  /// Of a configuration's bits; 0 stays 0.
  uint64_t configuration(uint64_t bits) const {
    return (bits & ~(31u << 9)) | mask(bits >> 9 & 31) << 9;
  }

 private:
  std::array<int, kVoters> voters_{};
};

/// The bits of one thing, in parts.
struct VoterParts {
  uint64_t own = 0, decided = 0, proposed = 0;
};
struct LeaderParts {
  uint64_t own = 0, decided = 0, change = 0;
  Mask votes = 0, stored = 0, lives = 0;
};

inline VoterParts parts_of(const routing::Voter& voter) {
  const routing::VoterAnswer all = voter.answer();
  const auto& proposal = all.record.proposal;
  VoterParts parts;
  parts.decided = bits_of(all.record.decided);
  parts.proposed = proposal ? bits_of(proposal->next) : 0;
  parts.own =
      all.record.promised.term.value() << 2 | (proposal ? proposal->ballot.term.value() : 0);
  parts.own = parts.own << 3 | (all.mark ? all.mark->number.value() : 0);
  parts.own = parts.own << 8 | (all.mark ? bits_of(all.mark->place) : 0);
  parts.own = parts.own << 2 | (all.mark && all.mark->voted ? 2 : 0) | (all.remembers ? 1 : 0);
  return parts;
}
inline uint64_t bits_of(const routing::Voter& voter) {
  const VoterParts parts = parts_of(voter);
  const uint64_t name = voter.answer().voter[0] - 'a';
  return ((parts.own << 17 | parts.decided) << 17 | parts.proposed) << 3 | name;
}

inline LeaderParts parts_of(const Leader& leader) {
  const routing::Assembly& reign = leader.reign;
  LeaderParts parts;
  parts.own = bits_of(reign.place());
  parts.decided = bits_of(reign.configuration());
  const routing::Count votes = reign.votes();
  parts.votes = mask_of(reign.configuration().voters) & ~mask_of(votes.missing);
  parts.lives = leader.lives;
  if (!reign.change()) return parts;
  parts.change = bits_of(reign.change()->to);
  parts.stored = mask_of(reign.change()->stored);
  return parts;
}
inline uint64_t bits_of(const Leader& leader) {
  const LeaderParts parts = parts_of(leader);
  const uint64_t now = parts.own << 17 | parts.decided, then = parts.change << 5 | parts.stored;
  return mix(now << 10 | parts.votes << 5 | parts.lives) ^ then;
}

/// Things by number, equal ones once.
template <class Thing>
class Kept {
 public:
  using Id = uint32_t;
  Id keep(const Thing& thing, uint64_t bits) {
    const auto [found, is_new] = ids_.try_emplace(bits, static_cast<Id>(things_.size()));
    if (is_new) {
      things_.push_back(thing);
      parts_.push_back(parts_of(thing));
    }
    return found->second;
  }
  const auto& parts(Id id) const { return parts_[id]; }
  const Thing& operator[](Id id) const { return things_[id]; }

 private:
  std::deque<Thing> things_;  // references stay
  std::deque<decltype(parts_of(std::declval<const Thing&>()))> parts_;
  std::unordered_map<uint64_t, Id> ids_;
};

/// A thing after it was asked something, and whether it agreed.
struct Asked {
  uint32_t id = 0;
  bool agreed = false;
};

/// Asks a copy of `kept[id]`, the first time that this question is put to it.
template <class Thing>
class Memory {
 public:
  Asked ask(uint32_t id, uint64_t question, const std::function<bool(Thing&)>& f) {
    const uint64_t key = mix(question) ^ (uint64_t{id} << 1);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    Thing copy = kept[id];
    const bool agreed = f(copy);
    return known_[key] = {kept.keep(copy, bits_of(copy)), agreed};
  }
  Kept<Thing> kept;

 private:
  std::unordered_map<uint64_t, Asked> known_;
};

// -- words

inline uint64_t question(int kind, int c, int v) {
  return mix(static_cast<uint64_t>(kind << 16 | c << 8 | v));
}
inline std::string name(int c) { return "coordinator " + std::to_string(c + 1); }
inline std::string text(const routing::Place& place) {
  return fmt::format("{} ({})", place.step, place.history);
}
inline std::string text(Mask voters) {
  std::string names;
  for (const std::string& voter : names_of(voters)) names += voter;
  return names;
}
inline std::string text(const routing::Configuration& one) {
  const std::string names = text(mask_of(one.voters));
  return fmt::format("configuration {} of {} from step {}{}", one.number, names, text(one.base),
                     one.gone_back ? ", gone back" : "");
}

}  // namespace swarm::testing::one_history

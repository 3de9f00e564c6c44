/// One world of the model: everything that has a say in what may happen next.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tests/routing/membership/one_history_bits.h"

namespace swarm::testing::one_history {

constexpr int kCoordinators = 3;

/// What is done wrong, to show that the checker sees it.
enum class Weakness {
  kNone,
  kWhoAnsweredLast,  ///< The list is who answered the last commit, and nobody stores it first.
  kNewListOnly,      ///< A change holds once more than half of the new list have stored it.
  kForgetful,        ///< Who began anew counts as one that has not voted.
  kOldProcesses,     ///< A vote counts though its process is gone.
  kNoPromise,        ///< What a coordinator gathers keeps nobody from answering older ones.
};

struct ModelLimits {
  int crashes = 1;
  int changes = 1;  ///< Of the first coordinator; one that gathers makes one.
  int commits = 1;  ///< Of each coordinator in each of its configurations.
  int gatherings = 1;
  /// The k-th cut leaves any voters to coordinator k + 1, which begins with it; nobody else reaches
  /// them from then on. Without, all coordinators reach all voters all the time.
  bool cuts = false;
  /// A coordinator speaks to all that it reaches before anything else happens, but for so many times when
  /// some of them are left out. Without, it speaks to one at a time.
  std::optional<uint32_t> partial{};
};

enum Phase : uint32_t { kIdle, kAsks, kStores, kReigns };
struct Coordinator {
  uint32_t phase = kIdle;
  uint32_t lives = 0;                                   // of the voters' processes that it has met
  uint32_t from = 0, to = 0, stored = 0, finishes = 0;  // with kStores
  uint32_t leader = 0, commits = 0, changes = 0;        // with kReigns
  std::array<uint32_t, kVoters> answers{};              // 0: none, else 1 + a voter's id
};
struct World {
  std::array<uint32_t, kVoters> voters{};
  std::array<Coordinator, kCoordinators> coordinators{};
  std::array<uint32_t, 8> decided{};    // configurations by number; 0: none
  std::array<uint32_t, 8> committed{};  // by number: a bit for each step that was led on from
  std::array<uint32_t, 8> late{};       // by number: commits since the next one holds
  uint32_t lives = 0;
  std::array<uint32_t, kVoters> reached_by{};  // with limits.cuts: a coordinator
  uint32_t cuts = 0, partial = 0;
};

/// What a voter is to the others, but for names: those that are alike may change places.
inline uint64_t role(const World& world, int v, const Kept<routing::Voter>& voters,
                     const Kept<Leader>& leaders) {
  constexpr uint64_t kNameless = ~(uint64_t{31} << 9);
  const auto is_in = [v](uint64_t configuration) { return configuration >> (9 + v) & 1; };
  const auto look = [&](const VoterParts& one) {
    uint64_t key = mix(one.own << 2 | is_in(one.decided) << 1 | is_in(one.proposed));
    key = mix(key ^ (one.decided & kNameless));
    return mix(key ^ (one.proposed & kNameless));
  };
  uint64_t key =
      look(voters.parts(world.voters[v])) ^ ((world.lives >> v & 1) | world.reached_by[v] << 1);
  for (const Coordinator& one : world.coordinators) {
    const LeaderParts leads = one.phase == kReigns ? leaders.parts(one.leader) : LeaderParts{};
    key = mix(key ^ (is_in(one.from) | is_in(one.to) << 1 | is_in(leads.decided) << 2 |
                     is_in(leads.change) << 3 | (one.stored >> v & 1) << 4 |
                     (one.lives >> v & 1) << 5 | (leads.votes >> v & 1) << 6 |
                     (leads.stored >> v & 1) << 7 | (leads.lives >> v & 1) << 8));
    if (one.answers[v] != 0) key = mix(key ^ look(voters.parts(one.answers[v] - 1)));
  }
  for (const uint32_t decided : world.decided) key = mix(key ^ is_in(decided));
  return key;
}

/// Equal for worlds that differ in names only, but for a few.
inline uint64_t hash(const World& world, const Kept<routing::Voter>& voters,
                     const Kept<Leader>& leaders) {
  std::array<uint64_t, kVoters> roles;
  for (int v = 0; v < kVoters; ++v) roles[v] = role(world, v, voters, leaders);
  const Order order(roles);
  uint64_t key = order.mask(world.lives);
  const auto add = [&key](uint64_t bits) { key = mix(key ^ bits) + 1; };
  const auto add_voter = [&](const VoterParts& one) {
    add(one.own);
    add(order.configuration(one.decided) << 20 | order.configuration(one.proposed));
  };
  add(world.cuts << 8 | world.partial);
  for (int place = 0; place < kVoters; ++place) {
    add(world.reached_by[order[place]]);
    add_voter(voters.parts(world.voters[order[place]]));
  }
  for (const Coordinator& one : world.coordinators) {
    add(one.phase | one.finishes << 2 | one.commits << 4 | one.changes << 8);
    add(order.mask(one.lives) << 5 | order.mask(one.stored));
    add(order.configuration(one.from) << 20 | order.configuration(one.to));
    for (int place = 0; place < kVoters && one.phase != kReigns; ++place)
      one.answers[order[place]] == 0 ? add(1)
                                     : add_voter(voters.parts(one.answers[order[place]] - 1));
    if (one.phase != kReigns) continue;
    const LeaderParts& leads = leaders.parts(one.leader);
    add(leads.own << 17 | order.configuration(leads.decided));
    add(order.configuration(leads.change) << 5 | order.mask(leads.stored));
    add(order.mask(leads.votes) << 5 | order.mask(leads.lives));
  }
  for (size_t n = 0; n < world.decided.size(); ++n)
    add(order.configuration(world.decided[n]) << 8 | world.committed[n] << 4 | world.late[n]);
  return key;
}

}  // namespace swarm::testing::one_history

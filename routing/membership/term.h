/// Terms of office are pairs (number, node), so that two coordinators never have the same one: the
/// number in the upper bits, the lower ones drawn from the node's id. They order as pairs do. Where
/// two nodes draw the same bits (1 in 4,096) their ids decide, as everywhere (elect()).
#pragma once

#include <cstdint>

#include "common/ids.h"
#include "common/mix.h"
#include "common/strong_id.h"

namespace swarm::routing {

constexpr int kTermNodeBits = 12, kTermBits = 32;
constexpr int kRoundBits = 32;  ///< Of a round's number, the rounds of one term.

/// How many terms there have been, this one included; for people.
constexpr uint64_t term_number(Term term) { return term.value() >> kTermNodeBits; }

/// The lower bits of every term of `node`.
inline uint64_t term_bits(const NodeId& node) {
  return mix(fnv1a(node.raw())) & ((uint64_t{1} << kTermNodeBits) - 1);
}

/// Whether a message may say it at all.
constexpr bool is_term(Term term) { return term.value() >> kTermBits == 0; }

constexpr uint64_t kLastTermNumber = (uint64_t{1} << (kTermBits - kTermNodeBits)) - 1;

/// Above `highest` by more than can be explained: each takeover is one term, and whoever heard of none for
/// so long learns from the coordinator's record what the term is.
constexpr uint64_t kTermJump = 1024;
constexpr bool jumps(Term term, Term highest) {
  return term_number(term) > term_number(highest) + kTermJump;
}

/// Of `node`, above every term of which `highest` is the highest. The last number has none above it: who
/// comes there takes it again, with its own bits. No message leads there (TermLead).
inline Term next_term(Term highest, const NodeId& node) {
  const uint64_t number =
      term_number(highest) < kLastTermNumber ? term_number(highest) + 1 : kLastTermNumber;
  return Term((number << kTermNodeBits) | term_bits(node));
}

/// Whether `term` is one of those that `node` takes: true for its own, and for 1 in 4,096 of others.
inline bool is_of(Term term, const NodeId& node) {
  return (term.value() & ((uint64_t{1} << kTermNodeBits) - 1)) == term_bits(node);
}

/// The `count`-th round of a term. Rounds, and so commits, are of one coordinator; they grow over
/// terms too.
constexpr Round round_of(Term term, uint64_t count) {
  return Round((term.value() << kRoundBits) | count);
}
constexpr Term term_of(Round round) { return Term(round.value() >> kRoundBits); }

}  // namespace swarm::routing

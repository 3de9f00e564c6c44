/// The coordinator's mail as facts and back: nothing is decided here. Messages are decoded once,
/// into values that cannot be half-filled.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "actors/coordinator/peer_book.h"
#include "actors/dht/dht_node.h"
#include "actors/net/requests.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/membership/admission.h"
#include "routing/membership/configuration.h"
#include "routing/membership/election.h"
#include "routing/membership/roster.h"
#include "routing/steps/lease_desk.h"
#include "routing/steps/orders.h"
#include "routing/steps/schedule.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

// -- taken

struct Registration {
  PeerAddress address;
  Stage stage;
  Term foreign_term;
  routing::PeerReport report;
  routing::WorkReport work;
  bool wants_stage = false;  ///< Then `stage` says nothing.
};
/// What there is in a run.
struct RunBounds {
  uint32_t stages = 1;
  uint64_t steps = 0;
};
/// Errors: kInvalidArgument (no valid address, a stage that does not exist), kRefused (a step beyond the
/// run's end, a term that is none).
Result<Registration> read_registration(const proto::RegisterPeer& message, const RunBounds& run);
/// Errors: kInvalidArgument.
Result<routing::SlotReport> read_slot_done(const proto::SlotDone& message);

Result<routing::CommitAnswer> read_commit(const Result<Mail>& reply);
Result<routing::CloseAnswer> read_close(const Result<Mail>& reply);
Result<routing::PeriodAnswer> read_period(const Result<Mail>& reply);

/// A trainer node's record in the DHT; nothing if it is malformed.
struct KnownCandidate {
  routing::Candidate candidate;
  Endpoint endpoint;
};
std::optional<KnownCandidate> read_record(const DhtRecordLocal& record);

// -- sent

/// What a coordinator tells every peer that registers, whatever its verdict.
struct SwarmWord {
  Term term;
  Attempt min_attempt;
  uint32_t peers = 0;
  routing::ConfigurationNumber forked_in;
  bool barred = false;  ///< Its node's: no list has it again yet.
};
Mail write_verdict(const routing::Verdict& verdict, const PeerBook& book, const SwarmWord& swarm,
                   const RunText& text);
/// `step`: said when there are no slots.
Mail write_leases(const routing::Leases& leases, Term term, Step step, bool over,
                  const RunText& text);
/// Of one request for a round's answer; the round itself may take longer (StepMail).
constexpr std::chrono::milliseconds kRoundBudget{120'000};
/// Of SaveCheckpoint to a peer with this PeerReport::save_limit: a large state on a slow disk takes long.
inline std::chrono::milliseconds save_budget(routing::Time save_limit) {
  constexpr std::chrono::milliseconds kLeast{60'000};
  return std::max(kLeast, std::chrono::duration_cast<std::chrono::milliseconds>(save_limit));
}
proto::CommitStep commit_message(const routing::orders::CommitStep& order, Term term);
Mail write_abandon(const routing::orders::AbandonRound& order, Term term);
Mail write_commit(const routing::orders::CommitStep& order, Term term);
Mail write_end_period(const routing::orders::EndPeriod& order, const PeerBook& book, Term term,
                      const RunText& text);
void write_relays(const std::vector<routing::Relay>& relays,
                  google::protobuf::RepeatedPtrField<proto::PartRelay>& out);
/// Nothing where all are equal.
void write_part_weights(const std::vector<uint32_t>& weights,
                        google::protobuf::RepeatedField<uint32_t>& out);
Mail write_restore(Term term, Step step, const std::string& reason);

}  // namespace swarm::actors

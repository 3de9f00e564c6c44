/// Was every sample of every step counted exactly once, and do all replicas agree? Compares what
/// coordinators decided with what peers say they did. Pure.
///
/// A step may have been closed several times: by a coordinator that died before anybody committed,
/// again after a recovery gave the first update up, or by two parts of a divided network. The
/// closing that the final parameters descend from (lineage.h) is the step's *history*; the others
/// are only counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/audit/recorded_steps.h"
#include "apps/launch/audit_log.h"
#include "records/audit_check.h"
#include "records/catalogue.h"

namespace swarm::launch {

/// From config.toml and events.jsonl.
struct AuditContext {
  uint64_t steps = 0;  ///< That the run wants.
  uint32_t num_stages = 0, batch = 0, microbatch = 0;
  bool delayed_updates = false;
  std::vector<records::Event> events;

  records::AuditRules rules() const { return {batch, microbatch, delayed_updates, true}; }
};

struct AuditReport {
  struct Totals {
    uint64_t folded = 0;         ///< Steps before this one were checked when they were folded.
    uint64_t steps = 0;          ///< In the history, from there on, as all that follows.
    uint64_t slots = 0;          ///< Of these steps, without the skipped ones.
    uint64_t samples = 0;        ///< Of these slots.
    uint64_t attempts = 0;       ///< That the history's closings took.
    uint64_t retries = 0;        ///< attempts - slots - skipped.
    uint64_t contributions = 0;  ///< slots x stages: what the gradients hold.
    uint64_t lost = 0;           ///< Contributions that died with a peer and were computed again.
    uint64_t dropped = 0;        ///< Contributions dropped with a sum that held too much.
    uint64_t skipped = 0;        ///< Slots left out by decision: not finite.
    uint64_t abandoned = 0;      ///< Rounds given up before anything was applied.
    uint64_t undone = 0;         ///< Closings decided that nobody committed.
    uint64_t given_up = 0;       ///< Closings committed, then given up by a recovery.
    uint64_t recoveries = 0;     ///< Goings back or restarts of the swarm.
    uint64_t coordinators = 0;   ///< Terms.
    uint64_t kills = 0, pauses = 0, crashes = 0;  ///< Of processes; a crash was asked by nobody.
    uint64_t commits = 0, loads = 0;              ///< By peers.
    uint64_t minorities = 0, configurations = 0;  ///< Words of parts that wait; those that held.
    uint64_t checksums = 0;  ///< Steps x stages of which two replicas or more were compared.
  };
  Totals totals;
  bool finished = false;
  std::vector<std::string> violations;  ///< One clear line each.
  std::vector<std::string> notes;       ///< What a reader should know and is no violation.

  RecordedSteps recorded;  ///< Of the history.
  /// (stage, step) -> checksum of the parameters at the start of that step, in the history; and the
  /// others that there ever were.
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> checksums;
  std::map<std::pair<uint32_t, uint64_t>, std::set<uint64_t>> given_up_checksums;

  bool passed() const { return violations.empty(); }
};

/// Steps before the last one of which a file has folded lines (records/audit_fold.h) were judged then,
/// and are no more.
AuditReport audit(AuditLog log, AuditContext context);

}  // namespace swarm::launch

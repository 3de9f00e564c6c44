/// A run's audit as it should be, for tests that spoil it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "apps/audit/audit.h"
#include "routing/steps/history.h"

namespace swarm::launch {

using records::ClosedStep;
using records::HeldSlots;

constexpr uint32_t kStages = 2, kSlots = 4, kMicrobatch = 2, kBatch = 8;

inline PeerId peer_of(uint32_t stage, int replica, int life = 0) {
  PeerId id;
  id.node.bytes[0] = static_cast<uint8_t>(1 + stage * 16 + replica);
  id.node.bytes[1] = static_cast<uint8_t>(life);
  id.actor = "stage." + std::to_string(stage);
  return id;
}

inline std::string name_of(uint32_t stage, int replica) {
  return "s" + std::to_string(stage) + (replica == 0 ? "-a" : "-b");
}

/// Writes a right history of two stages with two peers each; cases spoil it.
struct Story {
  Story() {
    context = {2, kStages, kBatch, kMicrobatch, false, {}};
    for (uint32_t stage = 0; stage < kStages; ++stage)
      for (int replica = 0; replica < 2; ++replica) load(stage, replica, 0, 7 + stage, "seed");
  }

  void load(uint32_t stage, int replica, uint64_t step, uint64_t checksum,
            const std::string& source) {
    log.loaded.push_back(
        {{stage, peer_of(stage, replica), name_of(stage, replica), step, checksum, source},
         time,
         ++log.lines});
  }

  /// Replica a holds slots 0 and 1, b the others, without the skipped ones.
  ClosedStep& close(uint64_t step, uint64_t counter, std::vector<uint32_t> skipped = {}) {
    ClosedStep closed;
    closed.step = step;
    closed.term = 1;
    closed.computed_on = step;
    closed.slots = kSlots;
    closed.samples = static_cast<uint32_t>(kSlots - skipped.size()) * kMicrobatch;
    closed.first_sample = step * kBatch;
    closed.microbatch = kMicrobatch;
    closed.attempts = kSlots;
    closed.skipped = skipped;
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      ClosedStep::Stage one{counter * 2 + stage, 100 * counter + stage, {}};
      for (int replica = 0; replica < 2; ++replica) {
        HeldSlots held{peer_of(stage, replica), name_of(stage, replica), {}, {}};
        for (uint32_t slot : {0u + 2u * replica, 1u + 2u * replica}) {
          if (std::count(skipped.begin(), skipped.end(), slot) > 0) continue;
          held.slots.push_back(slot);
          held.attempts.push_back(9);
        }
        one.members.push_back(held);
      }
      closed.stages.push_back(one);
    }
    time += 10;
    log.closed.push_back({closed, time, ++log.lines});
    return log.closed.back().record;
  }

  void commit(const ClosedStep& closed, uint32_t stage, int replica, uint64_t checksum) {
    const auto& round = closed.stages[stage];
    log.committed.push_back({{closed.step, stage, round.round, round.digest, checksum,
                              round.members[static_cast<size_t>(replica)]},
                             time,
                             ++log.lines});
  }

  void commit_all(const ClosedStep& closed) {
    for (uint32_t stage = 0; stage < kStages; ++stage)
      for (int replica = 0; replica < 2; ++replica)
        commit(closed, stage, replica, checksum_after(closed, stage));
  }

  static uint64_t checksum_after(const ClosedStep& closed, uint32_t stage) {
    return closed.stages[stage].round * 1000 + closed.step;
  }

  template <class T>
  void event(const T& fields, int64_t step = -1) {
    records::Event line = records::make_event(-1, step, fields);
    line.time_s = time + 5;
    line.node = "n";
    context.events.push_back(line);
  }

  /// Two right steps and the end.
  void tell() {
    commit_all(ClosedStep(close(0, 1)));
    commit_all(ClosedStep(close(1, 2)));
    event(records::RunFinished{});
  }

  AuditReport report() const { return audit(log, context); }

  /// The only violation, or all of them.
  std::string violation() const {
    std::string out;
    for (const auto& text : report().violations) out += (out.empty() ? "" : "\n") + text;
    return out;
  }

  AuditLog log;
  AuditContext context;
  double time = 1000;
};

/// All say which history they make, each from the one before.
inline void name_histories(Story& story) {
  routing::History now;
  for (auto& line : story.log.closed) {
    ClosedStep& closed = line.record;
    closed.configuration = 3;
    routing::CommitFacts facts{Step(closed.step), {}, Step(closed.computed_on), {}, 3};
    for (const auto& stage : closed.stages) facts.digests.push_back(stage.digest);
    for (const uint32_t slot : closed.skipped) facts.skips.push_back(Slot(slot));
    now = routing::history_after(now, facts);
    closed.history = now.value();
    for (auto& done : story.log.committed)
      if (done.record.step == closed.step) done.record.history = now.value();
  }
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace swarm::launch

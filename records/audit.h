/// What a step's gradient holds, as its coordinator decided it and as each peer did it: lines of
/// audit.jsonl (docs/run_folder.md). `swarm audit` compares the two sides. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "records/event.h"
#include "records/fields.h"
#include "records/folded_audit.h"

namespace swarm::records {

/// How a peer's numbers went into a round, where something rounds: with its slots and the parts of all they say what
/// came of it, to the last bit (`swarm verify`).
struct BroughtIn {
  std::vector<uint32_t> order;  ///< Its slots, as they were added to its sum.
  bool gave_back = false;       ///< It had something that codecs had taken before.

  template <class Visitor>
  void fields(Visitor& v) {
    v.runs("order", order);
    v("gave_back", gave_back);
  }
};

/// The slots whose gradient one peer's sum holds; `slots` ascending, `attempts` one for each.
struct HeldSlots {
  PeerId peer;
  std::string node_name;
  std::vector<uint32_t> slots;
  std::vector<uint64_t> attempts;
  std::optional<BroughtIn> brought{};  ///< Of a member of a closing.

  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer);
    v("node", node_name);
    v.runs("slots", slots);
    v.runs("attempts", attempts, slots);
    v("brought", brought);
  }
};

/// Written by the coordinator when every stage holds its average, before it sends any commit. A
/// coordinator that dies then leaves a line of a round that nobody committed: what counts is the
/// round that peers say they committed.
struct ClosedStep {
  struct Stage {
    uint64_t round = 0;
    uint64_t digest = 0;  ///< xxh64 of the averaged gradient; all members reported this one.
    std::vector<HeldSlots> members;
    /// Where something rounds: of all members, how much of the vector each reduced.
    std::optional<std::vector<uint32_t>> part_weights{};

    template <class Visitor>
    void fields(Visitor& v) {
      v("round", round);
      v.hex("digest", digest);
      v("members", members);
      v("part_weights", part_weights);
    }
  };
  uint64_t step = 0;
  uint64_t term = 0;
  uint64_t computed_on = 0;   ///< Updates in the parameters when the step was computed: its own
                              ///< number, or one less while an update is delayed.
  uint32_t slots = 0;         ///< Of the step.
  uint32_t samples = 0;       ///< Of the step, without the skipped ones: the divisor.
  uint64_t first_sample = 0;  ///< In the data order; slot i reads the samples from
                              ///< first_sample + i * microbatch on.
  uint32_t microbatch = 0;
  uint32_t attempts = 0;          ///< Leases that the step took.
  std::vector<uint32_t> skipped;  ///< Not finite on two peers: left out by every stage.
  std::vector<Stage> stages;
  std::optional<uint64_t> configuration;  ///< Number of the one that it is committed in.
  uint64_t history = 0;  ///< Of the state after it (docs/one_history.md); 0: not known.

  static constexpr const char* kKind = "closed";
  template <class Visitor>
  void fields(Visitor& v) {
    v("step", step);
    v("term", term);
    v("computed_on", computed_on);
    v("slots", slots);
    v("samples", samples);
    v("first_sample", first_sample);
    v("microbatch", microbatch);
    v("attempts", attempts);
    v.runs("skipped", skipped);
    v("stages", stages);
    v("configuration", configuration);
    v.known_hex("history", history);
  }
};

/// Written by a peer when it has applied an update.
struct CommittedStep {
  uint64_t step = 0;  ///< The one that was closed; the peer is at step + 1 now.
  uint32_t stage = 0;
  uint64_t round = 0;
  uint64_t digest = 0;    ///< Of the average that it applied.
  uint64_t checksum = 0;  ///< Of its parameters afterwards.
  HeldSlots held;         ///< What its own sum brought into the round.
  uint64_t history = 0;   ///< Of its state afterwards; 0: not known.

  static constexpr const char* kKind = "committed";
  template <class Visitor>
  void fields(Visitor& v) {
    held.fields(v);
    v("step", step);
    v("stage", stage);
    v("round", round);
    v.hex("digest", digest);
    v.hex("checksum", checksum);
    v.known_hex("history", history);
  }
};

/// Written by a peer that has loaded a state (from a neighbour or a snapshot) or drawn it.
struct LoadedState {
  uint32_t stage = 0;
  PeerId peer;
  std::string node_name;
  uint64_t step = 0;
  uint64_t checksum = 0;
  std::string source;    ///< `seed`, `own_snapshot`, or the neighbour.
  uint64_t history = 0;  ///< Of the state; 0: not known.

  static constexpr const char* kKind = "loaded";
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer);
    v("node", node_name);
    v("stage", stage);
    v("step", step);
    v.hex("checksum", checksum);
    v("source", source);
    v.known_hex("history", history);
  }
};

/// Kind of a line that is an event, by which steps are judged: events.jsonl may have given it up.
constexpr const char* kEventKind = "event";

/// A line; monostate stands for a kind that this program does not know.
struct AuditLine {
  std::variant<std::monostate, ClosedStep, CommittedStep, LoadedState, FoldedAudit, Event> record{};
  double time_s = 0;   ///< Unix time of its writer's clock.
  std::string node{};  ///< Its writer.
};

std::string to_json(const AuditLine& line);
/// Errors: kInvalidArgument ("has no `step`").
Result<AuditLine> parse_audit_line(const std::string& line);

}  // namespace swarm::records

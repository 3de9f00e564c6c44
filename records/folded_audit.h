/// What is left of the oldest lines of an audit.jsonl when they took too much room: a line of it
/// (docs/run_folder.md), small whatever it stands for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "records/fields.h"

namespace swarm::records {

/// Of folded lines.
struct FoldedCounts {
  uint64_t closed = 0;        ///< Lines by kind.
  uint64_t committed = 0;     ///< ...
  uint64_t loaded = 0;        ///< ...
  uint64_t slots = 0;         ///< Of the closings, without the skipped ones.
  uint64_t samples = 0;       ///< Of these slots.
  uint64_t skipped = 0;       ///< Slots that they left out.
  uint64_t attempts = 0;      ///< That they took.
  uint64_t lost = 0;          ///< Contributions that died with a peer and were computed again.
  uint64_t dropped = 0;       ///< Contributions dropped with a sum that held too much.
  uint64_t recoveries = 0;    ///< `recovered` events.
  uint64_t not_compared = 0;  ///< Commits whose closing was not near them in this file.

  template <class Visitor>
  void fields(Visitor& v) {
    v("closed", closed);
    v("committed", committed);
    v("loaded", loaded);
    v("slots", slots);
    v("samples", samples);
    v("skipped", skipped);
    v("attempts", attempts);
    v("lost", lost);
    v("dropped", dropped);
    v("recoveries", recoveries);
    v("not_compared", not_compared);
  }
};

struct FoldedAudit : FoldedCounts {
  /// Where a peer's state stood after its last line; of each node and stage the newest peer.
  struct Peer {
    PeerId peer;
    std::string node_name;
    uint32_t stage = 0;
    uint64_t step = 0;
    uint64_t checksum = 0;
    uint64_t history = 0;  ///< 0: not known.

    template <class Visitor>
    void fields(Visitor& v) {
      v("peer", peer);
      v("node", node_name);
      v("stage", stage);
      v("step", step);
      v.hex("checksum", checksum);
      v.known_hex("history", history);
    }
  };
  /// A node of whose lines some are folded: the last of them, by which a later reader of the node's own
  /// file finds where it was.
  struct Writer {
    std::string node_name;
    uint64_t last = 0;  ///< digest_of() the line ...
    uint64_t same = 0;  ///< ... that came so many times in a row ...
    double time_s = 0;  ///< ... at that time, by its writer's clock.

    template <class Visitor>
    void fields(Visitor& v) {
      v("node", node_name);
      v.hex("last", last);
      v("same", same);
      v("time", time_s);
    }
  };

  uint64_t through = 0;  ///< Number of the last piece (records/segments.h) in it.
  uint64_t end = 0;      ///< Steps before this one: every line is of one of them.
  uint64_t lines = 0;    ///< All of them, from the file's beginning on.
  uint64_t first = 0;    ///< digest_of() the first one: another file has another. 0: not known.
  uint64_t torn = 0;     ///< Of these: torn at their writer's death, read as nothing.
  uint64_t history = 0;  ///< Of the newest closing; 0: not known.
  uint64_t digest = 0;   ///< Of all lines, in their order.
  uint64_t num_violations = 0;
  std::optional<std::string> violation;  ///< The first one.
  std::vector<Peer> peers;
  std::vector<Writer> writers;
  std::vector<std::string> events;  ///< The last few that judge what comes after them: lines.

  static constexpr const char* kKind = "folded";
  template <class Visitor>
  void fields(Visitor& v) {
    v("through", through);
    v("end", end);
    v("lines", lines);
    v.known_hex("first", first);
    v("torn", torn);
    FoldedCounts::fields(v);
    v.known_hex("history", history);
    v.hex("digest", digest);
    v("num_violations", num_violations);
    v("violation", violation);
    v("peers", peers);
    v("writers", writers);
    v("events", events);
  }
};

}  // namespace swarm::records

/// How far `swarm run` has merged each node's audit.jsonl, so that a later `swarm run` in the folder
/// goes on from there: a line of each node, however long the run is. Pure. One owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "records/folded_audit.h"

namespace swarm::launch {

class AuditPlaces {
 public:
  /// A line of the merged file of an earlier `swarm run`; call in their order.
  void remember(const std::string& line);
  /// A line of the node's own file as it lies there, before the first take() of it; in their order.
  void look_at(const std::string& node, const std::string& line);

  enum class Verdict { kNew, kMergedBefore, kDamaged };
  /// Of the lines of a node's own file, from the first on. kDamaged: not a JSON object; a node died
  /// while it wrote, or its disk was full.
  Verdict take(const std::string& node, const std::string& line);

  /// A new line could not be written: no line is new any more, so that none is missing between others.
  void stop() { stopped_ = true; }

 private:
  struct Place {
    records::FoldedAudit::Writer merged;  ///< The last line of the node that was merged.
    uint64_t there = 0;                   ///< So often it is in the node's own file ...
    uint64_t passed = 0;                  ///< ... and was taken.
    bool reached = false;
  };
  bool merged_before(Place& place, const std::string& line) const;

  std::map<std::string, Place> places_;
  bool stopped_ = false;
};

}  // namespace swarm::launch

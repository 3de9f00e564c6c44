/// One peer's own lines in their order: no step is left out, none comes back without a load, and
/// nothing is added on top of a state that the swarm gave up. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "apps/audit/audit.h"
#include "apps/audit/audit_words.h"

namespace swarm::launch {

/// What a peer wrote in one line.
struct PeerLine {
  const records::CommittedStep* commit = nullptr;
  const records::LoadedState* load = nullptr;
  const records::FoldedAudit::Peer* before =
      nullptr;  ///< Its state, by a line that counts no more.
};

class PeerWalk {
 public:
  struct Questions {
    std::function<bool(const records::CommittedStep&)> in_history;
    /// The history that it names is the one that its closing makes of this one.
    std::function<bool(const records::CommittedStep&, uint64_t before)> follows;
  };
  /// `report` (its checksums are known; violations are added) outlives this.
  PeerWalk(AuditReport& report, Questions ask) : report_(report), ask_(std::move(ask)) {}
  /// `lines`: by their numbers.
  void follow(const std::map<size_t, PeerLine>& lines);

 private:
  void take_before(const records::FoldedAudit::Peer& before);
  void take_load(const records::LoadedState& load);
  void take_commit(const records::CommittedStep& done);

  struct State {
    uint64_t step = 0;
    bool in_history = true;  ///< Its parameters are those of the history ...
    std::string given_up;    ///< ... or else, where they are from.
    bool known = false;
    uint64_t id = 0;  ///< Of its history; 0: not known.
  };
  AuditReport& report_;
  Questions ask_;
  State state_;
};

}  // namespace swarm::launch

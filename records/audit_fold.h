/// Folds the oldest lines of an audit.jsonl: checks them as `swarm audit` does, as far as one file
/// and its order allow, and keeps what is needed to go on from there.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "records/audit_check.h"
#include "records/segmented_file.h"

namespace swarm::records {

/// The audit judges by it, or counts it: it belongs into audit.jsonl, too.
bool is_audited(const Event& event);

/// Never 0.
uint64_t digest_of(std::string_view line);

/// One line after the other; memory does not grow with their number. Pure.
class AuditFold {
 public:
  /// `before`: what the lines before the first one were folded to.
  explicit AuditFold(const AuditRules& rules, FoldedAudit before = {});
  /// A line without its end; a torn one is counted. Errors: kInvalidArgument (it is whole and no line
  /// of an audit).
  Status take(const std::string& line);
  /// What lines up to the end of piece `through` come to. Call once.
  FoldedAudit result(uint64_t through);

 private:
  /// A closing, and of each stage the checksum that its first peer had after it.
  struct Closing {
    ClosedStep closed;
    std::map<uint32_t, CommittedStep> first;
  };
  /// Replicas differ; a repair may be told a little later.
  struct Difference {
    uint64_t line;
    CommittedStep one, other;
  };

  void add(const ClosedStep& closed);
  void add(const CommittedStep& done);
  void add(const LoadedState& load);
  void add(const FoldedAudit& inner);
  void add(const Event& event);
  void add(std::monostate) {}
  void remember(Event event);
  void forget_event();
  void give_up(const CommittedStep& done);
  bool compare(const CommittedStep& done);
  void count_writer(const AuditLine& line, const std::string& text);
  void tell(const std::string& violation);

  const AuditRules rules_;
  FoldedAudit sum_;
  std::map<std::pair<std::string, uint32_t>, FoldedAudit::Peer> peers_;  ///< By node, stage.
  std::map<std::string, FoldedAudit::Writer> writers_;
  std::deque<Closing> closings_;       ///< The last ones.
  std::deque<CommittedStep> waiting_;  ///< The last commits that came before their closing.
  std::deque<Event> events_;           ///< The last ones.
  std::vector<Difference> differences_;
};

/// For a file of `node`; without a name it is one that is merged from several nodes'.
FoldPiece fold_audit(const AuditRules& rules, const std::string& node);

}  // namespace swarm::records

/// audit.jsonl read back (docs/run_folder.md). Pure but for read_audit().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/result.h"
#include "records/audit.h"

namespace swarm::launch {

/// A line and where it stands.
template <class T>
struct Recorded {
  T record;
  double time_s = 0;   ///< Unix time by its writer's clock.
  size_t line = 0;     ///< Line number in the file, from 1.
  std::string node{};  ///< Its writer.
};

struct AuditLog {
  std::vector<Recorded<records::ClosedStep>> closed;
  std::vector<Recorded<records::CommittedStep>> committed;
  std::vector<Recorded<records::LoadedState>> loaded;
  std::vector<Recorded<records::FoldedAudit>> folded;
  std::vector<records::Event> events;
  size_t lines = 0;
  size_t unknown = 0;     ///< Lines of a kind that this program does not know.
  bool torn_end = false;  ///< The writer died in the last line, which does not count.
};

/// Takes one complete line. Errors: kInvalidArgument, saying which key is missing or wrong.
Status add_audit_line(AuditLog& log, const std::string& line);

/// Errors: kNotFound (no such file), kIo, kInvalidArgument ("FILE:LINE: ..." of the first line that
/// is none; a last line without an end is no error).
Result<AuditLog> read_audit(const std::string& path);

}  // namespace swarm::launch

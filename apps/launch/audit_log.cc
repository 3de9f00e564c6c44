#include "apps/launch/audit_log.h"

#include <fmt/format.h>

#include <cstdint>

#include "records/line_tail.h"

namespace swarm::launch {

Status add_audit_line(AuditLog& log, const std::string& text) {
  ++log.lines;
  auto line = records::parse_audit_line(text);
  if (!line) return line.error();
  auto keep = [&](auto& list, auto& record) {
    list.push_back({std::move(record), line->time_s, log.lines, line->node});
  };
  if (auto* closed = std::get_if<records::ClosedStep>(&line->record))
    keep(log.closed, *closed);
  else if (auto* committed = std::get_if<records::CommittedStep>(&line->record))
    keep(log.committed, *committed);
  else if (auto* loaded = std::get_if<records::LoadedState>(&line->record))
    keep(log.loaded, *loaded);
  else if (auto* folded = std::get_if<records::FoldedAudit>(&line->record))
    keep(log.folded, *folded);
  else if (auto* event = std::get_if<records::Event>(&line->record))
    log.events.push_back(std::move(*event));
  else
    ++log.unknown;
  return {};
}

Result<AuditLog> read_audit(const std::string& path) {
  AuditLog log;
  Status good;
  records::LineTail lines(path, SIZE_MAX);
  const Status read = lines.each([&](const std::string& line) {
    if (!good) return;
    if (const Status added = add_audit_line(log, line); !added)
      good = Error{added.error().code,
                   fmt::format("{}:{}: the line {}", path, log.lines, added.error().detail)};
  });
  if (!read) return read.error();
  if (!good) return good.error();
  log.torn_end = lines.unfinished();
  return log;
}

}  // namespace swarm::launch

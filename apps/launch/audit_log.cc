#include "apps/launch/audit_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

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
  else
    ++log.unknown;
  return {};
}

Result<AuditLog> read_audit(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                 "cannot open " + path + ": " + std::strerror(errno)};
  AuditLog log;
  for (std::string line; std::getline(stream, line);) {
    if (stream.eof()) {  // no '\n' was read
      log.torn_end = true;
      break;
    }
    if (Status added = add_audit_line(log, line); !added)
      return Error{added.error().code,
                   fmt::format("{}:{}: the line {}", path, log.lines, added.error().detail)};
  }
  if (stream.bad()) return Error{ErrorCode::kIo, "cannot read " + path};
  return log;
}

}  // namespace swarm::launch

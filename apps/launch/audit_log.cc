#include "apps/launch/audit_log.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace swarm::launch {
namespace {

using Json = nlohmann::json;

/// Carries the reason from the depth of a line to add_audit_line().
struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw BadLine(std::string("has no `") + key + "`");
  return *found;
}

uint64_t number(const Json& value, const char* key, uint64_t max) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > max)
    throw BadLine(std::string("`") + key + "` is no whole number in its range");
  return value.get<uint64_t>();
}

uint64_t u64(const Json& object, const char* key) {
  return number(member(object, key), key, UINT64_MAX);
}

uint32_t u32(const Json& object, const char* key) {
  return static_cast<uint32_t>(number(member(object, key), key, UINT32_MAX));
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw BadLine(std::string("`") + key + "` is no text");
  return value.get<std::string>();
}

const Json& array(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) throw BadLine(std::string("`") + key + "` is no list");
  return value;
}

template <class Number>
std::vector<Number> numbers(const Json& object, const char* key) {
  std::vector<Number> out;
  for (const Json& item : array(object, key))
    out.push_back(static_cast<Number>(number(item, key, std::numeric_limits<Number>::max())));
  return out;
}

uint64_t hex(const Json& object, const char* key) {
  const std::string digits = text(object, key);
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw BadLine(std::string("`") + key + "` is not 16 hex digits");
  return std::strtoull(digits.c_str(), nullptr, 16);
}

PeerId peer(const Json& object) {
  const std::string name = text(object, "peer");
  const size_t slash = name.find('/');
  auto node = NodeId::from_hex(name.substr(0, slash));
  if (!node || slash == std::string::npos) throw BadLine("`peer` is not NODE_ID/ACTOR");
  return {*node, name.substr(slash + 1)};
}

actors::HeldSlots held(const Json& object) {
  actors::HeldSlots out{peer(object), text(object, "node"), numbers<uint32_t>(object, "slots"),
                        numbers<uint64_t>(object, "attempts")};
  if (out.slots.size() != out.attempts.size())
    throw BadLine("`slots` and `attempts` differ in length");
  return out;
}

actors::ClosedStep closed(const Json& line) {
  actors::ClosedStep out;
  out.step = u64(line, "step");
  out.term = u64(line, "term");
  out.computed_on = line.contains("computed_on") ? u64(line, "computed_on") : out.step;
  out.slots = u32(line, "slots");
  out.samples = u32(line, "samples");
  out.first_sample = u64(line, "first_sample");
  out.microbatch = u32(line, "microbatch");
  out.attempts = u32(line, "attempts");
  out.skipped = numbers<uint32_t>(line, "skipped");
  for (const Json& stage : array(line, "stages")) {
    if (!stage.is_object()) throw BadLine("`stages` holds what is no object");
    actors::ClosedStep::Stage one;
    one.round = u64(stage, "round");
    one.digest = hex(stage, "digest");
    for (const Json& item : array(stage, "members")) {
      if (!item.is_object()) throw BadLine("`members` holds what is no object");
      one.members.push_back(held(item));
    }
    out.stages.push_back(std::move(one));
  }
  return out;
}

actors::CommittedStep committed(const Json& line) {
  actors::CommittedStep out;
  out.step = u64(line, "step");
  out.stage = u32(line, "stage");
  out.round = u64(line, "round");
  out.digest = hex(line, "digest");
  out.checksum = hex(line, "checksum");
  out.held = held(line);
  return out;
}

actors::LoadedState loaded(const Json& line) {
  return {u32(line, "stage"),    peer(line),          text(line, "node"), u64(line, "step"),
          hex(line, "checksum"), text(line, "source")};
}

void add(AuditLog& log, const Json& line) {
  const std::string kind = text(line, "kind");
  const auto time = line.find("time");
  const auto writer = line.find("node");
  const std::string node =
      writer != line.end() && writer->is_string() ? writer->get<std::string>() : std::string();
  const double time_s = time != line.end() && time->is_number() ? time->get<double>() : 0;
  if (kind == "closed") {
    log.closed.push_back({closed(line), time_s, log.lines, node});
  } else if (kind == "committed") {
    log.committed.push_back({committed(line), time_s, log.lines, node});
  } else if (kind == "loaded") {
    log.loaded.push_back({loaded(line), time_s, log.lines, node});
  } else {
    ++log.unknown;
  }
}

}  // namespace

Status add_audit_line(AuditLog& log, const std::string& line) {
  ++log.lines;
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Error{ErrorCode::kInvalidArgument, "is no JSON object"};
  try {
    add(log, json);
  } catch (const BadLine& why) {
    return Error{ErrorCode::kInvalidArgument, why.what()};
  }
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
                   path + ":" + std::to_string(log.lines) + ": the line " + added.error().detail};
  }
  if (stream.bad()) return Error{ErrorCode::kIo, "cannot read " + path};
  return log;
}

}  // namespace swarm::launch

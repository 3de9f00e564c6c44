#include "config/shape_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/schema.h"

namespace swarm::config {
namespace {

constexpr size_t kMaxBytes = 4u << 20;

Error fault(const Location& where, const std::string& what) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}:{}:{}: {}", where.file, where.line, where.column, what), 0};
}

Status read_entry(const Value& table, actors::ShapeChange& change) {
  for (const auto& entry : table.members) {
    const auto& keys = change_keys();
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const auto& one) { return one.name == entry.name; });
    if (key == keys.end()) return fault(entry.location, entry.name + ": unknown key");
    if (const Value* bad = key->set(change, entry.value))
      return fault(bad->location,
                   entry.name + ": expected " + key->expected + ", found " + bad->describe());
  }
  if (const std::string wrong = fault_of(change); !wrong.empty())
    return fault(table.location, wrong);
  return {};
}

}  // namespace

std::string fault_of_rate(double bytes_per_s) {
  if (bytes_per_s == 0 || bytes_per_s >= actors::kMinLinkRate) return {};
  return "expected 0 or at least " + print_float(actors::kMinLinkRate) +
         " (heartbeats must come through), found " + print_float(bytes_per_s);
}

std::string fault_of(const actors::ShapeChange& change) {
  if (change.node.empty()) return "node: missing: whose links change";
  if (!change.names_own() && !change.names_path())
    return "it changes nothing: give send_bytes_per_s, receive_bytes_per_s, link_delay_s or "
           "link_jitter_s, or with `to` bytes_per_s, delay_s, jitter_s or cut";
  if (change.to.empty() && change.names_path())
    return "bytes_per_s, delay_s, jitter_s and cut are a path's: give `to` as well";
  if (!change.to.empty() && change.names_own())
    return "send_bytes_per_s, receive_bytes_per_s, link_delay_s and link_jitter_s are the node's "
           "own: leave `to` out";
  for (const auto& rate : {change.send_bytes_per_s, change.receive_bytes_per_s, change.bytes_per_s})
    if (const std::string wrong = fault_of_rate(rate.value_or(0)); !wrong.empty()) return wrong;
  return {};
}

std::string to_links_toml(const std::vector<actors::ShapeChange>& changes) {
  std::string out = "# Written by `swarm run`; the nodes follow it.\n";
  for (const auto& change : changes) {
    out += "\n[[change]]\n";
    for (const auto& key : change_keys()) {
      const std::string value = key.print(change);
      if (!value.empty() && value != "\"\"") out += key.name + " = " + value + "\n";
    }
  }
  return out;
}

Result<std::vector<actors::ShapeChange>> parse_links_toml(const std::string& text,
                                                          const std::string& file) {
  if (text.size() > kMaxBytes) return fault({file, 1, 1}, "larger than 4 MiB");
  const ParsedToml parsed = parse_toml(text, file);
  if (!parsed.ok) return fault(parsed.error_location, "not TOML: " + parsed.error);
  std::vector<actors::ShapeChange> changes;
  for (const auto& member : parsed.root.members) {
    const bool known = member.name == "change" && member.value.kind == Value::Kind::kArray;
    if (!known) return fault(member.location, member.name + ": expected [[change]] only");
    for (const auto& item : member.value.items) {
      if (item.kind != Value::Kind::kTable)
        return fault(item.location, "expected [[change]], found " + item.describe());
      changes.emplace_back();
      if (auto read = read_entry(item, changes.back()); !read) return read.error();
    }
  }
  return changes;
}

}  // namespace swarm::config

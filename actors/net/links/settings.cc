#include "actors/net/links/settings.h"

#include <fmt/format.h>

#include <map>

#include "common/printable.h"

namespace swarm::actors::links {
namespace {

constexpr size_t kNamed = 6;
constexpr size_t kMaxPrinted = 48;  // of a key or a value
constexpr size_t kOverhead = 8;     // of protobuf, for one setting

size_t bytes_of(size_t key, size_t value) { return key + value + kOverhead; }

}  // namespace

void add_settings(const std::vector<SharedSetting>& settings, proto::Hello& hello) {
  size_t bytes = 0;
  for (const auto& setting : settings) {
    bytes += bytes_of(setting.key.size(), setting.value.size());
    if (hello.settings_size() == kMaxSettings || bytes > kMaxSettingsBytes) return;
    auto* one = hello.add_settings();
    one->set_key(setting.key);
    one->set_value(setting.value);
  }
}

bool settings_fit(const proto::Hello& hello) {
  size_t bytes = 0;
  for (const auto& one : hello.settings()) bytes += bytes_of(one.key().size(), one.value().size());
  return hello.settings_size() <= kMaxSettings && bytes <= kMaxSettingsBytes;
}

std::string differences(const proto::Hello& theirs, const LinksOptions& own) {
  std::map<std::string, std::string> values;
  for (const auto& one : theirs.settings()) values.emplace(one.key(), one.value());
  std::string out;
  size_t found = 0;
  for (const auto& setting : own.settings) {
    const auto other = values.find(setting.key);
    if (other == values.end() || other->second == setting.value) continue;
    if (++found > kNamed) continue;
    out +=
        fmt::format("{}{} is {} at '{}' and {} at '{}'", out.empty() ? "" : "; ",
                    printable(setting.key, kMaxPrinted), printable(other->second, kMaxPrinted),
                    printable(theirs.node_name(), kMaxPrinted),
                    printable(setting.value, kMaxPrinted), printable(own.node_name, kMaxPrinted));
  }
  if (found > kNamed) out += fmt::format("; and {} more", found - kNamed);
  return out;
}

}  // namespace swarm::actors::links

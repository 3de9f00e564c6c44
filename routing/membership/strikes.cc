#include "routing/membership/strikes.h"

#include <algorithm>
#include <iterator>

#include "common/erase_if.h"

namespace swarm::routing {
namespace {

constexpr Time kRests[] = {std::chrono::minutes(1), std::chrono::minutes(5),
                           std::chrono::minutes(30)};
constexpr int kMostRests = sizeof(kRests) / sizeof(kRests[0]);
constexpr int kFull = 60;  // a multiple of all limits
constexpr size_t kMostFaults = 32;

}  // namespace

int Strikes::limit(Kind kind) {
  switch (kind) {
    case Kind::kWrong:
    case Kind::kHung:
      return 2;
    case Kind::kSilent:
      return 3;
    case Kind::kLost:
      break;
  }
  return 20;
}

bool Strikes::strike(const std::string& node, Kind kind, Time now) {
  forget(now);
  // Another stage of the same node is the same loss.
  if (kind == Kind::kLost && last_lost_.at && last_lost_.node == node &&
      now - *last_lost_.at <= kTogether)
    return false;
  if (kind == Kind::kLost && excuse_losses(node, now)) return false;
  Record& record = nodes_[node];
  auto& faults = record.faults;
  if (faults.size() == kMostFaults) faults.erase(faults.begin());
  faults.push_back({now, kind});
  int weight = 0;
  for (const Fault& one : faults) weight += kFull / limit(one.kind);
  return weight >= (record.rests > 0 ? kFull / 2 : kFull);
}

/// True: another node was lost at the same time. Its loss is no strike then either.
bool Strikes::excuse_losses(const std::string& node, Time now) {
  const auto before = last_lost_;
  last_lost_ = {node, now};
  if (!before.at || before.node == node || now - *before.at > kTogether) return false;
  const auto found = nodes_.find(before.node);
  if (found == nodes_.end()) return true;
  auto& faults = found->second.faults;
  erase_if(faults,
           [&](const Fault& one) { return one.kind == Kind::kLost && one.at == *before.at; });
  return true;
}

Time Strikes::rest(const std::string& node, Time now) {
  Record& record = nodes_[node];
  const Time rest = kRests[std::min(record.rests, kMostRests - 1)];
  record.faults.clear();
  ++record.rests;
  record.resting = true;
  record.rests_until = record.good_since = now + rest;
  return rest;
}

std::optional<Time> Strikes::rests(const std::string& node, Time now) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || !found->second.resting || found->second.rests_until <= now)
    return std::nullopt;
  return found->second.rests_until - now;
}

void Strikes::call_back(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) found->second.resting = false;
}

std::vector<std::string> Strikes::rested(Time now) {
  std::vector<std::string> over;
  for (auto& [node, record] : nodes_) {
    if (!record.resting || record.rests_until > now) continue;
    record.resting = false;
    over.push_back(node);
  }
  return over;
}

void Strikes::forget(Time now) {
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    Record& record = it->second;
    auto& faults = record.faults;
    erase_if(faults, [&](const Fault& one) { return now - one.at > kMemory; });
    for (; record.rests > 0 && now - record.good_since >= kGoodService; --record.rests)
      record.good_since += kGoodService;
    const bool clean = faults.empty() && record.rests == 0 && !record.resting;
    it = clean ? nodes_.erase(it) : std::next(it);
  }
  if (nodes_.size() < kMost) return;
  const auto last = [](const Record& one) {
    return one.faults.empty() ? one.good_since : std::max(one.good_since, one.faults.back().at);
  };
  nodes_.erase(std::min_element(nodes_.begin(), nodes_.end(), [&](const auto& a, const auto& b) {
    return last(a.second) < last(b.second);
  }));
}

}  // namespace swarm::routing

/// Which refusals are told: of one address one a minute, however often it tries. Pure; one owner.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace swarm::actors::links {

class RefusalGate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kEvery{60};
  /// Of one minute; more are not told. Few of those that come, who may be strangers; of those that this node
  /// dials itself all that somebody may have to put right.
  static constexpr size_t kMaxCame = 32, kMaxAddresses = 256;

  /// `address` is "host:port" or a host; ports do not count.
  bool passes(const std::string& address, bool dialled, TimePoint now) {
    if (now >= next_walk_) {  // not at each of a thousand refusals a second
      next_walk_ = now + std::chrono::seconds(1);
      for (auto it = told_.begin(); it != told_.end();)
        it = now - it->second >= kEvery ? told_.erase(it) : std::next(it);
    }
    const auto [it, fresh] = told_.try_emplace(address.substr(0, address.rfind(':')), now);
    if (!fresh && now - it->second < kEvery) return false;
    it->second = now;
    if (!fresh || told_.size() <= (dialled ? kMaxAddresses : kMaxCame)) return true;
    told_.erase(it);
    return false;
  }

 private:
  std::map<std::string, TimePoint> told_;  // by host
  TimePoint next_walk_{};
};

}  // namespace swarm::actors::links

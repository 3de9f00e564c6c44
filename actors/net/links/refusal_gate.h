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
  static constexpr size_t kMaxAddresses = 256;  ///< Of one minute; more are not told.

  /// `address` is "host:port" or a host; ports do not count.
  bool passes(const std::string& address, TimePoint now) {
    for (auto it = told_.begin(); it != told_.end();)
      it = now - it->second >= kEvery ? told_.erase(it) : std::next(it);
    const std::string host = address.substr(0, address.rfind(':'));
    return told_.size() < kMaxAddresses && told_.emplace(host, now).second;
  }

 private:
  std::map<std::string, TimePoint> told_;  // by host
};

}  // namespace swarm::actors::links

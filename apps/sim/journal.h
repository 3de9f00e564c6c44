/// What happened in one simulated run, line by line in virtual time, and its fingerprint.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace swarm::sim {

/// Keeps every line and an xxh64 over all of them: equal runs have equal hashes.
class Journal {
 public:
  /// One line: "   3.041277 s1a  updated step=4".
  void add(std::chrono::nanoseconds time, const std::string& node, const std::string& text);
  const std::vector<std::string>& lines() const { return lines_; }
  uint64_t hash() const { return hash_; }

 private:
  std::vector<std::string> lines_;
  uint64_t hash_ = 0;
};

}  // namespace swarm::sim

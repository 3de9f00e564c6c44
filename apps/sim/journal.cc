#include "apps/sim/journal.h"

#include <xxhash.h>

#include <cstdio>

namespace swarm::sim {

void Journal::add(std::chrono::nanoseconds time, const std::string& node, const std::string& text) {
  char head[64];
  std::snprintf(head, sizeof head, "%11.6f %-4s ", static_cast<double>(time.count()) * 1e-9,
                node.c_str());
  lines_.push_back(head + text);
  hash_ = XXH64(lines_.back().data(), lines_.back().size(), hash_);
}

}  // namespace swarm::sim

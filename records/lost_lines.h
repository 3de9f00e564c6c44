/// Lines of a node's files that no disk has taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace swarm::records {

/// So many since the process began; shared by who writes the files and who tells people. Null: nobody
/// asks.
using LostLines = std::shared_ptr<std::atomic<uint64_t>>;

inline void add_lost_line(const LostLines& lines) {
  if (lines) lines->fetch_add(1, std::memory_order_relaxed);
}

}  // namespace swarm::records

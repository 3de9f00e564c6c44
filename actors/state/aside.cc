#include "actors/state/aside.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/names.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {
namespace {

using Lines = std::vector<std::string>;

/// One that cannot be read is of no known history: a bad sector is not to keep the peer out.
routing::History known_history(const storage::CheckpointStore& store,
                               const storage::CheckpointKey& key) {
  const auto front = store.front(key, tensor::kMaxHeadBytes);
  return front ? routing::History(tensor::history_of(*front)) : routing::History();
}

/// "" if there is nothing.
Result<std::string> list_stream(const storage::CheckpointStore& store, const std::string& stream) {
  const auto steps = store.steps(stream);
  if (!steps) return steps.error();
  return steps->empty() ? std::string() : fmt::format("{} {}", stream, fmt::join(*steps, " "));
}

}  // namespace

Result<Lines> leave_line(storage::CheckpointStore& store, const LeaveLine& order) {
  const std::string name = std::to_string(order.line.number);
  std::vector<storage::CheckpointKey> keys;
  for (const std::string& stream : order.streams) {
    const auto steps = store.steps(stream);
    if (!steps) return steps.error();
    for (const uint64_t step : *steps) {
      if (order.line.keeps(Step(step), known_history(store, {stream, step}))) continue;
      keys.push_back({stream, step});
      if (stream == order.streams.front()) keys.push_back({order.beside, step});
    }
  }
  if (auto aside = store.set_aside(keys, name); !aside) return aside.error();
  Lines lines;
  for (const std::string& stream : order.streams) {
    auto line = list_stream(store, aside_key(name, stream));
    if (!line) return line.error();
    if (!line->empty()) lines.push_back(*std::move(line));
  }
  return lines;
}

Result<Lines> list_aside(const storage::CheckpointStore& store) {
  const auto streams = store.streams();
  if (!streams) return streams.error();
  Lines lines;
  for (const std::string& stream : *streams) {
    if (!is_stage_key(aside_of(stream))) continue;
    auto line = list_stream(store, stream);
    if (!line) return line.error();
    lines.push_back(*std::move(line));
  }
  return lines;
}

}  // namespace swarm::actors

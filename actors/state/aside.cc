#include "actors/state/aside.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/names.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {
namespace {

using Lines = std::vector<std::string>;

/// One that cannot be read is of no known history: a bad sector is not to keep the peer out. `strict`: damage only;
/// what may be good and was not read is an error. Errors: kIo.
Result<routing::History> known_history(const storage::CheckpointStore& store,
                                       const storage::CheckpointKey& key, bool strict) {
  const auto front = store.front(key, tensor::kMaxHeadBytes);
  if (strict && front.code() == ErrorCode::kIo) return front.error();
  return front ? routing::History(tensor::history_of(*front)) : routing::History();
}

/// "" if there is nothing.
Result<std::string> list_stream(const storage::CheckpointStore& store, const std::string& stream) {
  const auto steps = store.steps(stream);
  if (!steps) return steps.error();
  return steps->empty() ? std::string() : fmt::format("{} {}", stream, fmt::join(*steps, " "));
}

using Keys = std::vector<storage::CheckpointKey>;

/// `visit(step, history)`; `strict`: as known_history().
template <class Visit>
Status each_snapshot(const storage::CheckpointStore& store, const std::string& stream, bool strict,
                     Visit visit) {
  const auto steps = store.steps(stream);
  if (!steps) return steps.error();
  for (const uint64_t step : *steps) {
    const auto history = known_history(store, {stream, step}, strict);
    if (!history) return history.error();
    visit(step, *history);
  }
  return {};
}

/// With what is kept beside those of the own stream.
template <class Order, class Wanted>
Result<Keys> snapshots_where(const storage::CheckpointStore& store, const Order& order, bool strict,
                             Wanted is_wanted) {
  Keys keys;
  for (const std::string& stream : order.streams) {
    const auto add = [&](uint64_t step, routing::History history) {
      if (!is_wanted(stream, Step(step), history)) return;
      keys.push_back({stream, step});
      if (stream == order.streams.front()) keys.push_back({order.beside, step});
    };
    if (auto read = each_snapshot(store, stream, strict, add); !read) return read.error();
  }
  return keys;
}

/// Of what lies aside and may be taken back.
struct Kept {
  storage::CheckpointKey key;
  std::string beside;  ///< The stream with what belongs to it; "": nothing does.
  routing::History history;
};

Result<std::vector<Kept>> kept_aside(const storage::CheckpointStore& store,
                                     const LeaveLine& order) {
  const auto streams = store.streams();
  if (!streams) return streams.error();
  std::vector<Kept> kept;
  for (const std::string& stream : order.streams)
    for (const std::string& lies : *streams) {
      if (aside_of(lies) != stream) continue;
      const std::string name = aside_name(lies);
      const bool all = order.line.to_first && name == kAsideBefore;
      const std::string beside =
          stream == order.streams.front() ? aside_key(name, order.beside) : "";
      const auto add = [&](uint64_t step, routing::History history) {
        if (all || order.line.keeps(Step(step), history))
          kept.push_back({{lies, step}, beside, history});
      };
      if (auto read = each_snapshot(store, lies, /*strict=*/false, add); !read) return read.error();
    }
  return kept;
}

}  // namespace

Status keep_before(storage::CheckpointStore& store, const KeepBefore& order) {
  const auto is_before = [&order](const std::string&, Step, routing::History history) {
    return routing::made_before(history, order.configuration);
  };
  const auto keys = snapshots_where(store, order, /*strict=*/order.patient, is_before);
  return keys ? store.keep_aside(*keys) : keys.error();
}

/// What comes back from aside and is in its place already is not set aside, and what stays in a place keeps it.
Result<Lines> leave_line(storage::CheckpointStore& store, const LeaveLine& order) {
  const std::string name = std::to_string(order.line.number);
  auto kept = kept_aside(store, order);
  if (!kept) return kept.error();
  const auto is_shared = [&order](const Kept& one) {
    return order.line.keeps(Step(one.key.step), one.history);
  };
  std::stable_partition(kept->begin(), kept->end(), is_shared);  // of two for one place it is taken
  const auto comes_back = [&kept](const std::string& stream, Step step, routing::History history) {
    return history != routing::History() &&
           std::any_of(kept->begin(), kept->end(), [&](const Kept& one) {
             return aside_of(one.key.stream) == stream && one.key.step == step.value() &&
                    one.history == history;
           });
  };
  std::set<std::pair<std::string, uint64_t>> stay;
  const auto goes = [&](const std::string& stream, Step step, routing::History history) {
    const bool stays = order.line.keeps(step, history) || comes_back(stream, step, history);
    if (stays) stay.emplace(stream, step.value());
    return !stays;
  };
  const auto keys = snapshots_where(store, order, /*strict=*/false, goes);
  if (!keys) return keys.error();
  Keys back;
  for (const Kept& one : *kept) {
    if (!stay.emplace(aside_of(one.key.stream), one.key.step).second) continue;
    back.push_back(one.key);
    if (!one.beside.empty()) back.push_back({one.beside, one.key.step});
  }
  if (auto aside = store.set_aside(*keys, name, back); !aside) return aside.error();
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

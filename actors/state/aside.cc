#include "actors/state/aside.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <tuple>

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

/// With what is kept in `beside`, unless that is "". `strict`: as known_history().
template <class Wanted>
Status add_where(const storage::CheckpointStore& store, const std::string& stream,
                 const std::string& beside, bool strict, Wanted is_wanted, Keys& keys) {
  const auto steps = store.steps(stream);
  if (!steps) return steps.error();
  for (const uint64_t step : *steps) {
    const auto history = known_history(store, {stream, step}, strict);
    if (!history) return history.error();
    if (!is_wanted(Step(step), *history)) continue;
    keys.push_back({stream, step});
    if (!beside.empty()) keys.push_back({beside, step});
  }
  return {};
}

template <class Order, class Wanted>
Result<Keys> snapshots_where(const storage::CheckpointStore& store, const Order& order, bool strict,
                             Wanted is_wanted) {
  Keys keys;
  for (const std::string& stream : order.streams) {
    const std::string beside = stream == order.streams.front() ? order.beside : "";
    const auto is_one = [&](Step step, routing::History history) {
      return is_wanted(stream, step, history);
    };
    if (auto added = add_where(store, stream, beside, strict, is_one, keys); !added)
      return added.error();
  }
  return keys;
}

/// A stream, a step, and of which history the snapshot is.
using Kept = std::tuple<std::string, Step, routing::History>;

/// Of what lies aside; `known`: what that is, where it can be read.
Result<Keys> taken_back(const storage::CheckpointStore& store, const LeaveLine& order,
                        std::set<Kept>& known) {
  const auto streams = store.streams();
  if (!streams) return streams.error();
  Keys keys;
  for (const std::string& stream : order.streams)
    for (const std::string& lies : *streams) {
      if (aside_of(lies) != stream) continue;
      const std::string name = aside_name(lies);
      const bool all = order.line.to_first && name == kAsideBefore;
      const auto is_its_own = [&](Step step, routing::History history) {
        const bool wanted = all || order.line.keeps(step, history);
        if (wanted && history != routing::History()) known.emplace(stream, step, history);
        return wanted;
      };
      const bool own = stream == order.streams.front();
      const std::string beside = own ? aside_key(name, order.beside) : "";
      if (auto added = add_where(store, lies, beside, /*strict=*/false, is_its_own, keys); !added)
        return added.error();
    }
  return keys;
}

}  // namespace

Status keep_before(storage::CheckpointStore& store, const KeepBefore& order) {
  const auto is_before = [&order](const std::string&, Step, routing::History history) {
    return routing::made_before(history, order.configuration);
  };
  const auto keys = snapshots_where(store, order, /*strict=*/order.patient, is_before);
  return keys ? store.keep_aside(*keys) : keys.error();
}

Result<Lines> leave_line(storage::CheckpointStore& store, const LeaveLine& order) {
  const std::string name = std::to_string(order.line.number);
  const auto keeps = [&line = order.line](Step step, routing::History history) {
    return line.keeps(step, history);
  };
  std::set<Kept> comes_back;  // what is there already is not set aside
  const auto back = taken_back(store, order, comes_back);
  if (!back) return back.error();
  const auto goes = [&](const std::string& stream, Step step, routing::History history) {
    return !keeps(step, history) && comes_back.count({stream, step, history}) == 0;
  };
  const auto keys = snapshots_where(store, order, /*strict=*/false, goes);
  if (!keys) return keys.error();
  if (auto aside = store.set_aside(*keys, name, *back); !aside) return aside.error();
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

#include "actors/state/checkpointer.h"

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <map>
#include <string>
#include <vector>

#include "actors/net/requests.h"
#include "common/names.h"
#include "tensor/core/flat.h"
#include "tensor/core/residual_format.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {
namespace {

using Store = std::shared_ptr<storage::CheckpointStore>;

/// Of each stream of copies: the newest, and the one before while others may still need it.
constexpr uint32_t kCopiesKept = 2;

struct CheckpointerState {
  static constexpr const char* name = "checkpointer";
  /// Pins that could not be written, by stream: nothing is pruned before they are.
  std::map<std::string, uint64_t> pins{};
};
struct ReaderState {
  static constexpr const char* name = "snapshot_reader";
};

caf::result<Buffer> load(const Store& store, const std::string& stream, uint64_t step) {
  auto state = store->get({stream, step});
  if (!state) return to_caf(state.error());
  return *state;
}

caf::result<uint64_t> history_of(const Store& store, const std::string& stream, uint64_t step) {
  const auto front = store->front({stream, step}, tensor::kMaxHeadBytes);
  if (!front) return to_caf(front.error());
  return tensor::history_of(*front);
}

caf::result<void> retain(const Store& store, const std::string& prefix,
                         const std::vector<std::string>& wanted) {
  const auto streams = store->streams();
  if (!streams) return to_caf(streams.error());
  for (const std::string& stream : *streams) {
    const bool goes = stream.compare(0, prefix.size(), prefix) == 0 &&
                      std::find(wanted.begin(), wanted.end(), stream) == wanted.end();
    if (!goes) continue;
    if (auto dropped = store->drop_newer(stream, 0); !dropped) return to_caf(dropped.error());
  }
  return caf::unit;
}

caf::result<void> answer(const Status& status) {
  if (!status) return to_caf(status.error());
  return caf::unit;
}

caf::result<void> replace(const Store& store, const storage::CheckpointKey& key,
                          const Buffer& value, uint32_t keep) {
  return answer(store->put_or_replace(key, value, keep));
}

template <class T>
caf::result<T> answer(const Result<T>& found) {
  if (!found) return to_caf(found.error());
  return *found;
}

caf::result<StoredCopies> list_copies(const Store& store, const std::vector<uint64_t>& stages) {
  StoredCopies found;
  for (const uint64_t number : stages) {
    const Stage stage(static_cast<uint32_t>(number));
    const std::string stream = stage_key(stage.value());
    const auto steps = store->steps(stream);
    if (!steps) return to_caf(steps.error());
    for (const uint64_t step : *steps) {
      const auto front = store->front({stream, step}, tensor::kMaxHeadBytes);
      if (front)
        found.copies.push_back({stage, Step(step), routing::History(tensor::history_of(*front))});
    }
  }
  return found;
}

caf::behavior snapshot_reader(caf::stateful_actor<ReaderState>* self, const Store& store) {
  install_default_handlers(self);
  return {[store](load_atom, const std::string& stream, uint64_t step) {
    return load(store, stream, step);
  }};
}

Status pin(CheckpointerState& state, const Store& store, const std::string& stream, uint64_t step) {
  const Status pinned = store->pin(stream, step);
  if (pinned)
    state.pins.erase(stream);
  else
    state.pins[stream] = step;
  return pinned;
}

/// The pin that could not be written before.
Status pin_late(CheckpointerState& state, const Store& store, const std::string& stream) {
  const auto late = state.pins.find(stream);
  return late == state.pins.end() ? Status() : pin(state, store, stream, late->second);
}

/// Of a state that is stored already, under its number.
caf::result<void> save_beside(CheckpointerState& state, const Store& store,
                              const std::string& stream, const FrozenState& frozen, uint32_t keep) {
  if (auto pinned = pin_late(state, store, stream); !pinned) return to_caf(pinned.error());
  const tensor::StateMark mark{frozen.step.value(), frozen.history.value(),
                               tensor::digest(frozen.state.data(), frozen.state.size())};
  const auto residuals = frozen.residuals.value_or(tensor::Residuals{});
  return replace(store, {stream, mark.step}, tensor::serialize_residuals(residuals, mark), keep);
}

/// Of what lies aside.
caf::message_handler asides(const Store& store) {
  return {
      [store](leave_line_atom, const LeaveLine& order) {
        return answer(leave_line(*store, order));
      },
      [store](keep_before_atom, const KeepBefore& order) {
        return answer(keep_before(*store, order));
      },
      [store](drop_before_atom, const std::vector<std::string>& streams) {
        return answer(store->drop_before(streams));
      },
      [store](asides_atom) { return answer(list_aside(*store)); },
  };
}

caf::behavior checkpointer(caf::stateful_actor<CheckpointerState>* self, const Store& store,
                           uint32_t keep) {
  install_default_handlers(self);
  const caf::message_handler snapshots{
      [self, store, keep](save_atom, const std::string& stream, uint64_t step, const Buffer& state,
                          bool replace, bool spare_one) -> caf::result<uint64_t> {
        if (auto pinned = pin_late(self->state, store, stream); !pinned)
          return to_caf(pinned.error());
        const uint32_t kept = keep + (spare_one ? 1 : 0);
        auto status = replace ? store->put_or_replace({stream, step}, state, kept)
                              : store->put({stream, step}, state, kept);
        if (!status) return to_caf(status.error());
        return step;
      },
      [self, store, keep](save_beside_atom, const std::string& stream, const FrozenState& frozen) {
        return save_beside(self->state, store, stream, frozen, keep);
      },
      [store](load_atom, const std::string& stream, uint64_t step) {
        return load(store, stream, step);
      },
      [store](list_atom, const std::string& stream) { return answer(store->steps(stream)); },
      [store](history_atom, const std::string& stream, uint64_t step) {
        return history_of(store, stream, step);
      },
      [self, store](pin_atom, const std::string& stream, uint64_t step) {
        return answer(pin(self->state, store, stream, step));
      },
      [store](forget_newer_atom, const std::string& stream, uint64_t step) {
        return answer(store->drop_newer(stream, step));
      },
      [store](keep_atom, const std::string& stream, uint64_t number, const Buffer& bytes) {
        return replace(store, {stream, number}, bytes, UINT32_MAX);
      },
      [store](copies_atom, const std::vector<uint64_t>& stages) {
        return list_copies(store, stages);
      },
      [store](copy_atom, const std::string& stream, uint64_t step, const Buffer& state) {
        return replace(store, {stream, step}, state, kCopiesKept);
      },
      [store](retain_atom, const std::string& prefix, const std::vector<std::string>& streams) {
        return retain(store, prefix, streams);
      },
  };
  return snapshots.or_else(asides(store));
}

}  // namespace

caf::actor spawn_checkpointer(caf::actor_system& system,
                              std::shared_ptr<storage::CheckpointStore> store, uint32_t keep,
                              bool detached) {
  return detached ? system.spawn<caf::detached>(checkpointer, std::move(store), keep)
                  : system.spawn(checkpointer, std::move(store), keep);
}

caf::actor spawn_snapshot_reader(caf::actor_system& system,
                                 std::shared_ptr<storage::CheckpointStore> store, bool detached) {
  return detached ? system.spawn<caf::detached>(snapshot_reader, std::move(store))
                  : system.spawn(snapshot_reader, std::move(store));
}

}  // namespace swarm::actors

#include "actors/state/checkpointer.h"

#include <caf/stateful_actor.hpp>
#include <string>
#include <vector>

#include "actors/net/requests.h"

namespace swarm::actors {
namespace {

struct CheckpointerState {
  static constexpr const char* name = "checkpointer";
};

caf::behavior checkpointer(caf::stateful_actor<CheckpointerState>* self,
                           std::shared_ptr<storage::CheckpointStore> store, uint32_t keep) {
  install_default_handlers(self);
  return {
      [store, keep](save_atom, const std::string& stream, uint64_t step, const Buffer& state,
                    bool replace) -> caf::result<uint64_t> {
        auto status = replace ? store->put_or_replace({stream, step}, state, keep)
                              : store->put({stream, step}, state, keep);
        if (!status) return to_caf(status.error());
        return step;
      },
      [store](load_atom, const std::string& stream, uint64_t step) -> caf::result<Buffer> {
        auto state = store->get({stream, step});
        if (!state) return to_caf(state.error());
        return *state;
      },
      [store](list_atom, const std::string& stream) -> caf::result<std::vector<uint64_t>> {
        auto steps = store->steps(stream);
        if (!steps) return to_caf(steps.error());
        return *steps;
      },
      [store](forget_newer_atom, const std::string& stream, uint64_t step) -> caf::result<void> {
        auto status = store->drop_newer(stream, step);
        if (!status) return to_caf(status.error());
        return caf::unit;
      },
  };
}

}  // namespace

caf::actor spawn_checkpointer(caf::actor_system& system,
                              std::shared_ptr<storage::CheckpointStore> store, uint32_t keep,
                              bool detached) {
  return detached ? system.spawn<caf::detached>(checkpointer, std::move(store), keep)
                  : system.spawn(checkpointer, std::move(store), keep);
}

}  // namespace swarm::actors

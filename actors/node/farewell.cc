#include "actors/node/farewell.h"

#include <fmt/format.h>

#include <caf/stateful_actor.hpp>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "routing/membership/ending.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {
namespace {

constexpr std::chrono::seconds kAskEvery{5};
constexpr std::chrono::seconds kPatience{10};

/// What the coordinator of the highest (term, node id) says.
std::optional<routing::RunWord> newest_word(const DhtRecords& records) {
  std::optional<routing::RunWord> best;
  for (const auto& record : records) {
    proto::CoordinatorRecord one;
    if (!one.ParseFromString(record.value) || !one.active()) continue;
    const auto node = NodeId::from_bytes(one.node_id());
    if (!node) continue;
    routing::RunWord word{Term(one.term()), *node, one.finished()};
    if (!best || std::tie(best->term, best->node) < std::tie(word.term, word.node)) best = word;
  }
  return best;
}

class Farewell {
 public:
  static constexpr const char* name = "farewell";
  using Self = caf::stateful_actor<Farewell>;

  caf::behavior start(Self* self, FarewellDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    return {
        [this](begin_atom) { self_->send(self_, tick_atom::value); },
        [this](tick_atom) { on_tick(); },
    };
  }

 private:
  double now_s() const {
    return std::chrono::duration<double>(self_->clock().now().time_since_epoch()).count();
  }

  void on_tick() {
    if (ending_.may_leave(now_s(), deps_.linger_s) && !deps_.stays) {
      deps_.say("leaves: training is finished");
      return deps_.leave();
    }
    self_->delayed_send(self_, kAskEvery, tick_atom::value);
    self_->request(deps_.dht, kPatience, dht_get_atom::value, std::string(kCoordinatorKey))
        .then(
            [this](const DhtRecords& records) {
              if (const auto word = newest_word(records)) hear(*word);
            },
            [](const caf::error&) {});
  }

  void hear(const routing::RunWord& word) {
    const bool before = ending_.finished();
    ending_.hear(word, now_s());
    if (ending_.finished() == before) return;
    if (before) return deps_.say("training goes on: the swarm has gone back");
    deps_.say(deps_.stays ? "training is finished"
                          : fmt::format("training is finished; this node leaves in {:g} s "
                                        "(node.linger_s; --stay keeps it)",
                                        deps_.linger_s));
  }

  Self* self_ = nullptr;
  FarewellDeps deps_;
  routing::Ending ending_;
};

caf::behavior farewell(Farewell::Self* self, FarewellDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_farewell(caf::actor_system& system, FarewellDeps deps) {
  return system.spawn(farewell, std::move(deps));
}

}  // namespace swarm::actors

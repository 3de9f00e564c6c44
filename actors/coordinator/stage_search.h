/// Whether a stage of which nobody has registered lives elsewhere: asks the DHT who announces itself as a peer of
/// it (docs/elastic.md). Used by the coordinator's handlers only; never waits.
#pragma once

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <map>
#include <set>
#include <vector>

#include "actors/dht/dht_node.h"
#include "actors/node/options.h"
#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/time.h"

namespace swarm::actors {

class StageSearch {
 public:
  StageSearch(caf::event_based_actor* self, caf::actor dht, const DhtOptions& options);

  /// At every tick while the swarm gathers: of these stages nobody is here.
  void look(const std::vector<Stage>& stages);
  /// By place (routing/membership/relocation.h); of each stage what was found last, unless that is old.
  std::map<Stage, std::set<PeerId>> found() const;

 private:
  struct Answer {
    routing::Time at{};
    std::set<PeerId> places;
  };

  void ask(Stage stage);
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  caf::event_based_actor* self_;
  caf::actor dht_;
  routing::Time every_, fresh_;
  std::map<Stage, Answer> answers_;
  routing::Time next_{};
};

}  // namespace swarm::actors

/// Feeds microbatches to the first stage and collects losses; holds no parameters (design Sec. 3).
///
///   local mail                 reply
///   (describe_atom)            std::string
///   (drain_atom)               bool          leases nothing more; gives back what is in flight
///
/// Leases slots from the coordinator, reads their samples (the slot alone decides which), sends the
/// tokens to a peer of stage 0 and reports the route that came back. Keeps
/// options.max_in_flight microbatches under way, or as many as routing/wiring/in_flight.h says. Refused because the run has another text, it says so and asks again every
/// kRefusedPause. A report stays queued until some coordinator has taken it.
/// Thread  pooled; reading a window of mapped text is a copy of a few KiB.
/// A slot that it carries for long it names to the coordinator, so that the lease is not taken back.
/// Timers  asks the DHT for peers and coordinator every dht_options.announce_every.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "actors/node/event_log.h"
#include "actors/node/options.h"
#include "common/run_text.h"
#include "records/kept_text.h"
#include "tensor/data/text_data.h"

namespace swarm::actors {

constexpr std::chrono::seconds kRefusedPause{10};

struct TrainerDeps {
  ActorId id;
  Endpoint endpoint;
  std::string node_name;
  uint32_t num_stages = 1;
  uint32_t node_peers = 0;  ///< Stages that its own node serves.
  TrainingOptions training;
  TrainerOptions options;
  /// The coordinator's, all of which have the same: four times in it a slot still carried is named.
  std::chrono::milliseconds lease_limit{120'000};
  /// What it carries may take so long to come back after it was told to leave.
  std::chrono::milliseconds finish_limit{5'000};
  uint64_t boundary_bytes_per_sample = 0;  ///< What a sample weighs between stages, as it travels.
  DhtOptions dht_options;
  std::shared_ptr<const tensor::TextData> data;  ///< Shared with other actors of the node.
  RunText own_text;                              ///< What `data` is; not known(): nobody checks it.
  caf::actor links, dht;
  std::shared_ptr<EventLog> events;
  /// What the run reads; shared by all actors of the node.
  std::shared_ptr<records::KeptText> text = std::make_shared<records::KeptText>();
  std::function<void(const std::string&)> say = [](const std::string&) {};  ///< A line for people.
};

caf::actor spawn_trainer(caf::actor_system& system, TrainerDeps deps);

}  // namespace swarm::actors

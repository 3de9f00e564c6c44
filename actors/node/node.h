/// One node: a process's actor system with all its roles, from start to exit code.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/node/links_follower.h"
#include "actors/node/options.h"
#include "actors/node/spot_notice.h"
#include "actors/stage/compute.h"
#include "common/ids.h"
#include "common/result.h"
#include "storage/checkpoint_store.h"
#include "storage/options.h"

namespace swarm::actors {

/// What a node takes from outside the actors. LibTorch and the database come in here only; a node
/// without stages needs neither.
struct NodeDeps {
  std::function<Result<std::unique_ptr<tensor::Stage>>(const tensor::StageOptions&)> make_stage;
  /// Called in each thread that computes, before it computes; may be empty.
  std::function<void(int threads)> set_compute_threads;
  /// Opens or creates the store of the node's snapshots: storage::open_store().
  std::function<Result<std::shared_ptr<storage::CheckpointStore>>(storage::StoreKind kind,
                                                                  const std::string& node_folder)>
      open_store;
  /// Makes room for an empty one in the place of a damaged one: storage::set_store_aside().
  std::function<Result<std::string>(storage::StoreKind kind, const std::string& node_folder,
                                    const std::string& time)>
      set_store_aside;
  /// What the node's links are to be made to be from now on; empty: nobody changes them.
  NewShape new_shape;
  /// What is new about the end of the machine, which ends the node as SIGTERM does; asked ten times a
  /// second by the thread of run(), and must not wait. Empty: nobody asks.
  std::function<std::optional<SpotNotice>()> spot_notice;
  /// Takes a line for the people who started the node, without its end; called from any thread.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// What the next machine types to join this node, announced as `at`.
  std::function<std::string(const Endpoint& at)> how_to_join = [](const Endpoint&) { return ""; };
  /// Called once, when training is finished and its last snapshots are durable; from any thread.
  std::function<void()> finished = [] {};
  /// Called once, when the node begins to leave.
  std::function<void()> leaving = [] {};
  /// Called every few seconds for as long as the node's actors answer one another; from any thread.
  std::function<void()> alive = [] {};
};

class Node {
 public:
  /// Opens the node's folder, database, log and links, and spawns its roles. Blocks SIGTERM,
  /// SIGINT and SIGHUP (if it is not ignored, as under nohup) for the process: run() takes them. One node a process.
  /// Errors: kIo (folder, database, port), kInvalidArgument (options, data), kNotFound (data).
  static Result<std::unique_ptr<Node>> start(const NodeOptions& options, const NodeDeps& deps);
  virtual ~Node() = default;

  virtual const NodeId& id() const = 0;
  /// As others reach it.
  virtual const Endpoint& endpoint() const = 0;
  /// As it was told to listen, with its port.
  virtual const Endpoint& listening() const = 0;
  /// As this machine reaches it: `listening`, or loopback where it listens on every address.
  virtual Endpoint reached_here() const = 0;

  /// Serves until SIGTERM, SIGINT, SIGHUP, a spot notice or a StopNode message, then drains: stops
  /// taking work, writes a snapshot, leaves. Returns the exit code: 0, or 1 when a role failed for good, or
  /// what all roles need (links, DHT) has ended. It is 0 too when the snapshot could not be written in
  /// time, which an event, the log and deps.say tell. The caller ends
  /// the process with it at once, without static destructors (std::_Exit), because CAF's idle
  /// threads still run. If the drain hangs, ends the process with that code: actors/node/drain_times.h.
  virtual int run() = 0;
};

}  // namespace swarm::actors

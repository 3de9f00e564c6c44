/// Brings a run together: asks nodes what they hold and whom they know, until nobody knows anybody
/// new, and hands them to a launch::Collection (docs/collecting.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/launch/collection.h"
#include "common/ids.h"
#include "common/result.h"
#include "storage/checkpoint_store.h"
#include "storage/options.h"

namespace swarm::apps {

struct CollectOptions {
  std::string folder;           ///< A run folder to be, or one that a former call made.
  std::vector<Endpoint> nodes;  ///< Of one swarm; one is enough.
  std::string key;              ///< The run's.
  std::function<Result<std::shared_ptr<storage::CheckpointStore>>(storage::StoreKind,
                                                                  const std::string& node_folder)>
      open_store;
  std::function<void(const std::string&)> say;  ///< A line for people.
  bool finished = false;                        ///< The caller knows that training is.
};

/// Errors: see launch::Collection::open().
Result<launch::Collection> open_collection(const CollectOptions& options);

/// Blocking: goes round the nodes until nothing is missing, three times at most. What was fetched
/// before, in this collection or a former call, is not fetched again. Errors: nothing could be
/// collected.
Result<launch::CollectedRun> collect(const CollectOptions& options, launch::Collection& into);

/// The same from folders copied from the nodes' machines: each holds nodes/NAME/. They may come one
/// after the other.
Result<launch::CollectedRun> collect_folders(const CollectOptions& options,
                                             launch::Collection& into,
                                             const std::vector<std::string>& folders);

}  // namespace swarm::apps

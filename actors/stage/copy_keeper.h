/// Copies of other stages' snapshots that a node keeps (docs/checkpoint_format.md, "Copies"): makes those
/// that the coordinator orders, one at a time, from the disks of those stages' peers, and says what there
/// is. Which and where is decided in routing/membership/copies.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/stage/snapshot_writer.h"
#include "actors/stage/stage_context.h"
#include "actors/state/state_messages.h"
#include "common/strong_id.h"
#include "routing/membership/recovery.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers. Does nothing where
/// deps.copies.keeps is false.
class CopyKeeper {
 public:
  /// `writer`: for what its disk can be expected to do; it must outlive this.
  CopyKeeper(StageContext& context, const SnapshotWriter& writer);

  /// Asks the disk what is there.
  void list();
  /// As the coordinator says. What fails is tried again later.
  void obey(const proto::RegisterPeerReply& verdict);
  /// The swarm goes on from `applied`: newer ones belong to a history that was given up.
  void forget_newer(Step applied);
  /// Its node gave up its line of history: what is not shared goes aside, and list() then tells what is left.
  void leave_line();
  /// Of all copies that it keeps or might.
  std::vector<std::string> streams() const;
  /// This copy cannot be read: it is offered no more.
  void spoiled(Stage stage, Step step);
  void describe_to(proto::RegisterPeer& message) const;
  std::string describe() const;

 private:
  /// A copy that is being made.
  struct Making {
    routing::StoredCopy copy;
    uint64_t number = 0;  ///< Counts them.
    double began_s = 0;
  };
  bool mine(Stage stage) const;
  bool is_done(const routing::StoredCopy& copy) const;
  void drop_others(const routing::StoredCopy& copy);
  bool begin(const proto::CopyOrder& order);
  void fetch(const Making& making, StateHolder source);
  void store(const Making& making, const FetchedState& fetched);
  void made(const Making& making, const FetchedState& fetched);
  void failed(const Making& making, const Error& why);
  void drop(Stage stage);

  StageContext& context_;
  const SnapshotWriter& writer_;
  std::vector<routing::StoredCopy> copies_;
  std::optional<Making> making_;
  uint64_t tries_ = 0;
  uint32_t failed_in_a_row_ = 0;
  double not_before_s_ = 0;
};

}  // namespace swarm::actors

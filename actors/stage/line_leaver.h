/// What a stage server puts where nobody lists it (docs/one_history.md): what it has of a line of history that its node
/// gave up at a meeting, in memory and on the disk, before it takes part in the line that goes on; and, where its part
/// goes on without the rest, what it had on the disk before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/stage/copy_keeper.h"
#include "actors/stage/stage_context.h"
#include "actors/stage/stage_updates.h"
#include "actors/stage/state_keeper.h"
#include "routing/membership/line_left.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers.
class LineLeaver {
 public:
  /// All must outlive this.
  LineLeaver(StageContext& context, StageUpdates& updates, StateKeeper& keeper, CopyKeeper& copies);

  /// Asks the disk what lies aside already.
  void list();
  /// The coordinator says what is shared with the line that goes on: what is not is given up, and set aside behind
  /// all that is being written. Then the peer registers anew. What fails is tried again.
  void leave(const proto::RegisterPeerReply& verdict);
  /// The line that it takes part in forked with the configuration that the coordinator names first: what was there before is
  /// kept aside, which the coordinator waits for. What fails is tried again.
  void keep_before(const proto::RegisterPeerReply& verdict);
  /// It serves in a line that never forked, and a list has its node: what was kept from before a fork is spare.
  void settled(const proto::RegisterPeerReply& verdict);
  void describe_to(proto::RegisterPeer& message) const;
  /// "" if nothing lies aside.
  std::string describe() const;

 private:
  std::vector<std::string> streams() const;
  bool has_before() const;
  void left(uint64_t number, const std::vector<std::string>& lines);

  StageContext& context_;
  StageUpdates& updates_;
  StateKeeper& keeper_;
  CopyKeeper& copies_;
  std::vector<std::string> aside_;  ///< As list_aside().
  uint64_t number_ = 0;             ///< Of the line that was left last, in this process.
  uint64_t kept_before_ = 0;        ///< Likewise of the fork.
  int failed_to_keep_ = 0;
  bool leaving_ = false, keeping_ = false, dropping_ = false;
  double not_before_s_ = 0;
};

}  // namespace swarm::actors

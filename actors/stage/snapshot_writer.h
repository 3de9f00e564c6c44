/// The snapshots of a stage server: brings copies of the state to the disk, one at a time, and knows
/// what is there. Whoever asks, the coordinator, a person or the node that leaves, asks here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/stage/stage_context.h"
#include "actors/state/state_messages.h"
#include "common/strong_id.h"
#include "routing/membership/snapshot_list.h"
#include "routing/state/byte_pace.h"
#include "routing/state/kept_snapshot.h"
#include "routing/state/save_line.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers.
class SnapshotWriter {
 public:
  using Done = std::function<void(const Status&)>;
  using Frozen = std::function<void(Result<FrozenState>)>;
  /// `freeze` copies the state as it is now and calls back, with an error if it is being replaced.
  SnapshotWriter(StageContext& context, std::function<void(Frozen)> freeze);

  /// Of the state as it is now, at `step`; done(status) once it, or a later one, is durable.
  /// `changes`: another state of this step may differ. Errors: kNotReady, kIo, kPeerTimeout (it takes
  /// too long, and goes on), kAlreadyExists.
  void save(Step step, bool changes, Done done);
  /// The coordinator of term `speaker` says which is not to be pruned.
  void keep(Term speaker, const KeepStep& keep);

  /// Asks the disk anew, then calls.
  void list(const std::function<void()>& then = [] {});
  /// The swarm goes on from `applied`: newer ones belong to a history that was given up.
  void forget_newer(Step applied);
  /// The node gives up its line of history: what waits to be written is dropped, and what is listed is void.
  void leave_line();
  /// It has: lists what is left, and what was taken back, then calls.
  void left_line(const std::function<void()>& then);
  routing::SnapshotList& snapshots() { return snapshots_; }
  const routing::SnapshotList& snapshots() const { return snapshots_; }
  /// For a whole state, to the disk or from it.
  std::chrono::milliseconds limit(uint64_t bytes) const;
  /// What it expects of so many bytes, generously, however few they are.
  std::chrono::milliseconds some_times(uint64_t bytes) const;
  void describe_to(proto::RegisterPeer& message) const;
  std::string describe() const;

 private:
  using Line = routing::SaveLine<FrozenState>;
  void carry_out(Line::Todo todo);
  void write(const FrozenState& frozen);
  void watch(uint64_t write, std::chrono::milliseconds limit);
  void written(const FrozenState& frozen, double took_s);
  void listed(uint64_t list, const std::vector<Step>& steps, const std::function<void()>& then);
  void failed(const Error& why);
  std::vector<std::string> streams() const;
  void pin() const;

  StageContext& context_;
  std::function<void(Frozen)> freeze_;
  Line line_;
  bool changes_ = false;  ///< See save().
  routing::SnapshotList snapshots_;
  routing::BytePace disk_;
  routing::KeptSnapshot kept_;
  uint64_t lists_ = 0;       ///< Asked for; only the last one counts.
  uint64_t lines_left_ = 0;  ///< What was being written then is aside.
  uint64_t writes_ = 0;      ///< Begun.
  uint64_t writing_ = 0;     ///< The number of the one under way; 0: none.
  uint32_t failed_in_a_row_ = 0;
  std::string last_error_;
};

}  // namespace swarm::actors

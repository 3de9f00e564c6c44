/// The supplying side of state transfer: answers StateInfo and StateChunk from frozen copies. A
/// part of the StateTransfer actor; all calls come from that actor.
///
/// At most two copies of the live state are kept, and two of snapshots (the least recently read one goes), each
/// until it was unused for options.ttl. While two live ones are being read nobody gets a third, else those who
/// read would begin anew for ever. Requests for the newest state share one copy per step. Of another stage than its own it
/// hands out what the node's store has.
#pragma once

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <memory>
#include <string>
#include <vector>

#include "actors/net/mail.h"
#include "actors/state/options.h"
#include "actors/state/state_messages.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "storage/checkpoint_store.h"

namespace swarm::actors {

class StateUpload {
 public:
  using Promise = caf::typed_response_promise<Mail>;
  /// `detached`: of the actor that reads the store.
  StateUpload(caf::event_based_actor* self, Stage stage, const StateTransferOptions& options,
              std::shared_ptr<storage::CheckpointStore> store, caf::actor stage_server,
              bool detached);

  void set_stage(caf::actor stage_server) { stage_server_ = std::move(stage_server); }
  void info(const proto::StateInfo& request, Promise promise);
  void chunk(const proto::StateChunk& request, Promise promise);
  /// Answers what is pending and ends the reading actor.
  void close(const Error& error);
  std::string describe() const;

 private:
  struct Copy {
    uint64_t handle = 0;
    Stage stage;
    Step step;
    uint64_t digest = 0;
    Buffer state;
    /// `frozen`: when the stage server gave it; never, if it came from the store.
    caf::actor_clock::time_point frozen = caf::actor_clock::time_point::min();
    caf::actor_clock::time_point used;
    uint64_t offered = 0, read = 0;  ///< Bytes, to all who asked, and that were handed out.
    bool is_live() const { return frozen != caf::actor_clock::time_point::min(); }
    /// By who reads it, or is about to.
    bool in_use(caf::actor_clock::time_point now) const {
      return read > 0 ? read < offered : now < used + std::chrono::seconds(2);
    }
  };
  struct Waiting {
    Promise promise;
    Stage stage{};
    bool exact = false;
    Step step{};  ///< If exact.
  };
  void freeze(Waiting who);
  void read(Waiting who);
  void frozen(Result<FrozenState> state);
  void unreadable(const Waiting& who, const Error& why);
  Copy& keep(const Buffer& state, Stage stage, Step step, bool live);
  bool no_room() const;
  Copy* find(Stage stage, Step step);
  void answer(Promise promise, Copy& copy);
  void expire();

  caf::event_based_actor* self_;
  Stage stage_;
  StateTransferOptions options_;
  std::shared_ptr<storage::CheckpointStore> store_;  // shared with the checkpointer
  caf::actor stage_server_;
  bool detached_;
  caf::actor reader_;  ///< Reads the store off this thread; spawned when first needed.
  std::vector<Copy> copies_;
  std::vector<Waiting> freezing_;  ///< Wait for the answer of the stage server.
  std::vector<Waiting> reading_;   ///< Wait for the store; for close() only.
  uint64_t next_handle_ = 1;
};

}  // namespace swarm::actors

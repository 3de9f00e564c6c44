/// Keeps what a node has downloaded of a whole state on its disk, so that the download survives its
/// process where the source still offers the same bytes (docs/averaging.md, "Whole states").
///
/// Chunks that follow one another make a block, which is written once, when all of it is here: never
/// more than the state, at options.keep_bytes_per_s, none in the first seconds.
///
/// A part of the StateTransfer actor; all calls come from that actor.
#pragma once

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/state/kept_chunks.h"
#include "actors/state/options.h"
#include "common/buffer.h"

namespace swarm::actors {

struct ChunkKeeperDeps {
  caf::actor checkpointer;  ///< Null: nothing is kept.
  std::string run_id, config_fingerprint;
};

/// Held by a shared pointer: what it asked the disk may be answered after its download is over.
class ChunkKeeper : public std::enable_shared_from_this<ChunkKeeper> {
 public:
  /// What an earlier process kept of this very state.
  using Found = std::function<void(const KeptChunks&)>;
  /// Blocks of this many bytes, at these offsets, may come.
  using Expects = std::function<void(uint64_t offset, uint64_t bytes)>;

  ChunkKeeper(caf::event_based_actor* self, ChunkKeeperDeps deps,
              const StateTransferOptions& options);

  /// The offer's bytes are read into `into`.
  void begin(Stage stage, const routing::StateOffer& offer, const MutableBuffer& into,
             Expects expects, Found found);
  /// These are in the state now.
  void received(uint64_t offset, uint64_t bytes);
  /// Nothing is called any more; what is on the disk stays.
  void end() { session_.reset(); }
  /// The state is here, or what was kept is not what it was taken for.
  void forget();

 private:
  struct Session {
    WholeState state;
    MutableBuffer into;
    uint64_t block_bytes = 1;
    std::vector<uint64_t> missing;  ///< Bytes, by block.
    std::deque<size_t> to_write;
    bool writing = false, failed = false;
    caf::actor_clock::time_point not_before;
    Expects expects;
    Found found;
    std::vector<uint64_t> to_read;  ///< Numbers of blocks: from 1.
  };
  using Ptr = std::shared_ptr<Session>;

  static uint64_t bytes_of(const Session& session, size_t block);
  void read_next(const Ptr& session);
  void read(const Ptr& session, const Buffer& block);
  void write_next(const Ptr& session);
  std::string stream(const Session& session) const { return whole_key(session.state.stage); }

  caf::event_based_actor* self_;
  ChunkKeeperDeps deps_;
  StateTransferOptions options_;
  Ptr session_;
};

}  // namespace swarm::actors

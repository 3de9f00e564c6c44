#include "actors/state/chunk_keeper.h"

#include <algorithm>
#include <caf/send.hpp>
#include <chrono>
#include <utility>

#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "actors/state/checkpointer.h"

namespace swarm::actors {
namespace {

using std::chrono::seconds;

/// A state has about so many blocks, unless they would be longer [bytes].
constexpr uint64_t kBlocks = 64, kLongest = 8u << 20;
/// A download that is over sooner leaves nothing on the disk.
constexpr seconds kFirstAfter{5};
/// A disk that needs longer is of no help.
constexpr seconds kReadLimit{10}, kWriteLimit{60};

}  // namespace

ChunkKeeper::ChunkKeeper(caf::event_based_actor* self, ChunkKeeperDeps deps,
                         const StateTransferOptions& options)
    : self_(self), deps_(std::move(deps)), options_(options) {}

uint64_t ChunkKeeper::bytes_of(const Session& session, size_t block) {
  return std::min(session.block_bytes, session.into.size() - block * session.block_bytes);
}

void ChunkKeeper::begin(Stage stage, const routing::StateOffer& offer, const MutableBuffer& into,
                        Expects expects, Found found) {
  session_.reset();
  if (!deps_.checkpointer || options_.keep_bytes_per_s <= 0) return;
  const auto session = session_ = std::make_shared<Session>();
  session->state = {deps_.run_id, deps_.config_fingerprint, stage, offer};
  session->into = into;
  const uint64_t chunk = std::min(std::max(options_.chunk_bytes, 1u), kMaxStateChunkBytes);
  const uint64_t block = std::min(std::max<uint64_t>(offer.size_bytes / kBlocks, 1), kLongest);
  session->block_bytes = (block + chunk - 1) / chunk * chunk;
  const uint64_t blocks = (offer.size_bytes + session->block_bytes - 1) / session->block_bytes;
  for (size_t i = 0; i < blocks; ++i) session->missing.push_back(bytes_of(*session, i));
  session->not_before = self_->clock().now() + kFirstAfter;
  session->expects = std::move(expects);
  session->found = std::move(found);
  self_->request(deps_.checkpointer, kReadLimit, list_atom::value, stream(*session))
      .then(
          [this, me = shared_from_this(), session](const std::vector<uint64_t>& numbers) {
            if (session != session_) return;
            for (const uint64_t number : numbers) {
              if (number == 0 || number > session->missing.size()) continue;
              session->to_read.push_back(number);
              session->expects((number - 1) * session->block_bytes, bytes_of(*session, number - 1));
            }
            read_next(session);
          },
          [](const caf::error&) {});  // then all is fetched
}

/// From the front: the list is from the end.
void ChunkKeeper::read_next(const Ptr& session) {
  if (session != session_ || session->to_read.empty()) return;
  const uint64_t number = session->to_read.back();
  session->to_read.pop_back();
  self_->request(deps_.checkpointer, kReadLimit, load_atom::value, stream(*session), number)
      .then([this, me = shared_from_this(), session](const Buffer& block) { read(session, block); },
            [this, me = shared_from_this(), session](const caf::error& error) {
              if (from_caf(error).code == ErrorCode::kPeerTimeout) session->to_read.clear();
              read_next(session);
            });
}

void ChunkKeeper::read(const Ptr& session, const Buffer& block) {
  if (session != session_) return;
  const auto chunks = decode_chunks(session->state, block);
  if (chunks) {
    const size_t place = chunks->offset / session->block_bytes;
    const bool whole = chunks->offset % session->block_bytes == 0 &&
                       place < session->missing.size() &&
                       chunks->bytes.size() == bytes_of(*session, place);
    if (whole && session->missing[place] > 0) {
      session->missing[place] = 0;  // it lies there
      session->found(*chunks);
    }
  } else {
    log_info("event=kept_chunks_refused reason=\"" + to_string(chunks.error()) + "\"");
  }
  read_next(session);
}

void ChunkKeeper::received(uint64_t offset, uint64_t bytes) {
  const Ptr session = session_;
  if (!session) return;
  const size_t place = offset / session->block_bytes;
  if (place >= session->missing.size() || session->missing[place] == 0) return;
  session->missing[place] -= std::min(session->missing[place], bytes);
  if (session->missing[place] == 0) session->to_write.push_back(place);
  write_next(session);
}

void ChunkKeeper::write_next(const Ptr& session) {
  const auto now = self_->clock().now();
  if (session != session_ || session->writing || session->failed || session->to_write.empty() ||
      now < session->not_before)
    return;
  const size_t place = session->to_write.front();
  session->to_write.pop_front();
  const uint64_t offset = place * session->block_bytes, size = bytes_of(*session, place);
  const auto* from = reinterpret_cast<const char*>(session->into.data()) + offset;
  const Buffer block =
      encode_chunks(session->state, {offset, Buffer::from_string(std::string(from, size))});
  const std::chrono::duration<double> takes(static_cast<double>(size) / options_.keep_bytes_per_s);
  session->not_before =
      now + std::chrono::duration_cast<std::chrono::nanoseconds>(
                std::min<std::chrono::duration<double>>(takes, std::chrono::hours(1)));
  session->writing = true;
  const uint64_t number = place + 1;
  self_->request(deps_.checkpointer, kWriteLimit, keep_atom::value, stream(*session), number, block)
      .then(
          [this, me = shared_from_this(), session] {
            session->writing = false;
            write_next(session);
          },
          [session](const caf::error& error) {
            session->failed = true;  // what a full disk did not take is fetched again
            log_warn("event=chunks_not_kept reason=\"" + to_string(from_caf(error)) + "\"");
          });
}

void ChunkKeeper::forget() {
  const Ptr session = std::exchange(session_, nullptr);
  if (session)
    caf::anon_send(deps_.checkpointer, forget_newer_atom::value, stream(*session), uint64_t{0});
}

}  // namespace swarm::actors

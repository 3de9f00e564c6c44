#include "actors/stage/range_keeper.h"

#include <caf/send.hpp>
#include <chrono>
#include <utility>

#include "actors/net/requests.h"
#include "actors/state/checkpointer.h"
#include "routing/state/recent_means.h"

namespace swarm::actors {
namespace {

/// A disk that needs longer for a block is of no help: the ranges are fetched.
constexpr std::chrono::seconds kReadLimit{10};

}  // namespace

std::string RangeKeeper::stream() const { return learned_key(context_.deps.stage); }

// -- what an earlier process kept

void RangeKeeper::begin(const RangeLayout& layout) {
  routing::KeepOptions options;
  options.ranges = layout.ranges();
  options.range_bytes = layout.bytes(0);
  options.bytes_per_s = context_.deps.state_transfer_options.keep_bytes_per_s;
  session_ = std::make_shared<Session>(layout, options, now());
}

void RangeKeeper::begin(const RangeLayout& layout, Step wanted, Reader reader) {
  begin(layout);
  const auto session = session_;
  session->wanted = wanted;
  session->reader = std::move(reader);
  session->reading = true;
  context_.self->request(context_.deps.checkpointer, kReadLimit, list_atom::value, stream())
      .then(
          [this, session](const std::vector<uint64_t>& blocks) {
            if (session != session_) return;
            session->blocks = blocks;
            expect(*session);
            read_next(session);
          },
          [this, session](const caf::error& error) {
            session->refused = from_caf(error);
            finish(session);
          });
}

/// A block of another layout may have a number that none has here.
void RangeKeeper::expect(const Session& session) {
  for (const uint64_t number : session.blocks) {
    if (number == 0 || number > session.plan.blocks()) continue;
    const auto [first, end] = session.plan.ranges(number - 1);
    for (size_t range = first; range < end; ++range) session.reader.plan->expect(range);
  }
}

/// Blocks are numbered from 1, so that all can be dropped as newer than 0; the list is from the end,
/// and the front is read first.
void RangeKeeper::read_next(const Ptr& session) {
  if (session != session_ || !session->reading) return;
  if (session->blocks.empty()) return finish(session);
  const uint64_t number = session->blocks.back();
  session->blocks.pop_back();
  context_.self->request(context_.deps.checkpointer, kReadLimit, load_atom::value, stream(), number)
      .then([this, session](const Buffer& block) { read(session, block); },
            [this, session](const caf::error& error) {
              refuse(session, from_caf(error));
              read_next(session);
            });
}

/// What has come over the links meanwhile, or is on its way, is newer.
void RangeKeeper::read(const Ptr& session, const Buffer& block) {
  if (session != session_ || !session->reading) return;
  auto ranges = decode_kept(session->layout, block);
  if (!ranges) {
    refuse(session, ranges.error());
    return read_next(session);
  }
  std::vector<KeptRange> good;
  for (KeptRange& range : *ranges) {
    const Step step = range.label.step;
    // One of a later step is of a history that the swarm gave up.
    const bool near = step <= session->wanted &&
                      session->wanted.value() - step.value() <= routing::RecentMeans::kKept;
    if (!near)
      session->too_old += range.bytes.size();
    else if (session->reader.plan->claim(range.range))
      good.push_back(std::move(range));
  }
  load(session, std::move(good));
}

void RangeKeeper::load(const Ptr& session, std::vector<KeptRange> ranges) {
  if (ranges.empty()) return read_next(session);
  session->reader.changes();  // before the stage does: a freeze or a verdict may come meanwhile
  context_.device.run<bool>(
      [ranges, layout = session->layout](tensor::Stage& stage) -> Result<bool> {
        for (const KeptRange& range : ranges) {
          const uint64_t count = range.bytes.size() / (layout.vectors * sizeof(float));
          auto loaded = stage.load_range(range.range * layout.range_elements, count, range.bytes);
          if (!loaded) return loaded.error();
        }
        return true;
      },
      [this, session, ranges](Result<bool> done, double) {
        loaded(session, ranges, done ? Status() : Status(done.error()));
      });
}

void RangeKeeper::loaded(const Ptr& session, const std::vector<KeptRange>& ranges,
                         const Status& status) {
  if (session != session_) return;
  if (!status) refuse(session, status.error());
  for (const KeptRange& range : ranges) {
    if (!status) {
      session->reader.plan->drop(range.range);
      continue;
    }
    session->plan.stored(range.range, range.label);
    session->loaded += range.bytes.size();
    session->reader.take(range);
  }
  session->reader.then();
  read_next(session);
}

/// What is of another run or layout, or on a disk that hangs, is so as a whole; a damaged block says
/// nothing of the others.
void RangeKeeper::refuse(const Ptr& session, const Error& why) {
  if (!session->refused) session->refused = why;
  const bool all = why.code == ErrorCode::kInvalidArgument || why.code == ErrorCode::kPeerTimeout;
  if (all) session->blocks.clear();
}

void RangeKeeper::finish(const Ptr& session) {
  if (session != session_) return;
  // What a slow or broken disk did not show may be good.
  if (session->refused && session->loaded == 0 &&
      session->refused->code == ErrorCode::kInvalidArgument)
    forget();
  tell(*session);
  session->reading = false;
}

void RangeKeeper::tell(const Session& session) {
  if (session.refused) context_.record(records::KeptRangesRefused{*session.refused});
  if (session.loaded + session.too_old == 0) return;
  const auto& layout = session.layout;
  context_.record(records::DownloadResumed{session.loaded, session.too_old,
                                           layout.elements * layout.vectors * sizeof(float)});
}

void RangeKeeper::stop() {
  if (session_ && session_->reading) tell(*session_);
  session_.reset();
}

// -- what this one keeps

void RangeKeeper::keep(const Look& look) {
  const Ptr session = session_;
  if (!session || session->reading || session->writing) return;
  const Held held = look();
  if (const auto block = session->plan.next(held.labels, held.download, now()))
    write(session, *block, look);
}

/// The jobs of the device end in their order: what the ranges are of when this one has ended is what
/// they were read at.
void RangeKeeper::write(const Ptr& session, size_t block, const Look& look) {
  session->writing = true;
  std::vector<std::pair<size_t, uint64_t>> wanted;  // range, count
  const auto [first, end] = session->plan.ranges(block);
  const Held held = look();
  for (size_t range = first; range < end; ++range)
    if (held.labels[range])
      wanted.emplace_back(range,
                          session->layout.bytes(range) / (session->layout.vectors * sizeof(float)));
  using Saved = std::vector<std::pair<size_t, Buffer>>;
  context_.device.run<Saved>(
      [wanted, each = session->layout.range_elements](tensor::Stage& stage) -> Result<Saved> {
        Saved saved;
        for (const auto& [range, count] : wanted) {
          auto bytes = stage.save_range(range * each, count);
          if (!bytes) return bytes.error();
          saved.emplace_back(range, *bytes);
        }
        return saved;
      },
      [this, session, block, look](Result<Saved> saved, double) {
        if (session != session_) return;
        session->writing = false;
        if (!saved) return;
        const Held now_held = look();
        std::vector<KeptRange> ranges;
        for (auto& [range, bytes] : *saved)
          if (now_held.labels[range])
            ranges.push_back({range, *now_held.labels[range], now_held.counters[range], bytes});
        if (!ranges.empty()) store(session, block, ranges);
      });
}

void RangeKeeper::store(const Ptr& session, size_t block, const std::vector<KeptRange>& ranges) {
  session->writing = may_be_there_ = true;
  const Buffer bytes = encode_kept(session->layout, ranges);
  session->plan.writes(block, bytes.size(), now());
  session->plan.spoiled(block);
  for (const KeptRange& range : ranges) session->plan.stored(range.range, range.label);
  const uint64_t number = block + 1;
  context_.self
      ->request(context_.deps.checkpointer, context_.deps.options.disk_limit, keep_atom::value,
                stream(), number, bytes)
      .then(
          [this, session, size = bytes.size(), began = now()] {
            session->writing = false;
            session->plan.wrote(size, now() - began);
          },
          [this, session, block](const caf::error& error) {
            session->writing = false;
            session->plan.spoiled(block);
            if (!std::exchange(session->disk_failed, true))  // a full disk says so for every block
              context_.record(records::CheckpointFailed{from_caf(error)});
          });
}

void RangeKeeper::start_anew() {
  forget();
  if (session_ && std::exchange(session_->reading, false)) tell(*session_);
  for (size_t block = 0; session_ && block < session_->plan.blocks(); ++block)
    session_->plan.spoiled(block);
}

void RangeKeeper::forget() {
  if (!std::exchange(may_be_there_, false)) return;
  caf::anon_send(context_.deps.checkpointer, forget_newer_atom::value, stream(), uint64_t{0});
}

}  // namespace swarm::actors

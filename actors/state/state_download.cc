#include "actors/state/state_download.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/typed_response_promise.hpp>
#include <cstring>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "routing/state/download_plan.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

using routing::DownloadOrder;
using routing::DownloadRead;
using std::chrono::milliseconds;

constexpr auto kLeastBudget = milliseconds(10'000);
/// Of copying and digesting a state on a busy machine [bytes/s].
constexpr double kSlowestCopy = 20e6;
/// A request is given so many times what its bytes take: a dead link says so itself.
constexpr double kPatience = 8;

milliseconds budget_of(double bytes, double bytes_per_s) {
  return kLeastBudget + milliseconds(static_cast<int64_t>(1'000 * kPatience * bytes / bytes_per_s));
}

/// For an exact step the whole swarm waits.
double cap_of(const FetchState& fetch, const StateTransferOptions& options) {
  return fetch.exact_step ? 0 : options.state_bytes_per_s;
}

/// Under a cap each source hears of this download several times before it drops what it has frozen for it.
uint32_t chunk_bytes_of(const FetchState& fetch, const StateTransferOptions& options) {
  const uint32_t most = std::min(std::max(options.chunk_bytes, 1u), kMaxStateChunkBytes);
  const double cap = cap_of(fetch, options);
  if (cap <= 0) return most;
  const std::chrono::duration<double> ttl = options.ttl;
  const auto reads =
      static_cast<double>(fetch.sources.size()) * std::max(1u, options.chunks_in_flight);
  return static_cast<uint32_t>(
      std::clamp(cap * ttl.count() / (4 * reads), 64.0, std::max(64.0, static_cast<double>(most))));
}

routing::DownloadPlan make_plan(const FetchState& fetch, const StateTransferOptions& options) {
  std::vector<std::string> names;
  for (const auto& source : fetch.sources) names.push_back(source.actor.brief());
  routing::DownloadPlanOptions out;
  out.exact_step = fetch.exact_step;
  out.max_bytes = fetch.max_bytes;
  out.chunk_bytes = chunk_bytes_of(fetch, options);
  out.chunks_in_flight = std::max(1u, options.chunks_in_flight);
  return {names, out};
}

}  // namespace

class StateDownload : public std::enable_shared_from_this<StateDownload> {
 public:
  using Done = std::function<void(const Result<FetchedState>&)>;

  StateDownload(caf::event_based_actor* self, caf::actor links, const StateTransferOptions& options,
                ChunkKeeperDeps keeper, FetchState fetch, Done done)
      : self_(self),
        links_(std::move(links)),
        plan_(make_plan(fetch, options)),
        keeper_(std::make_shared<ChunkKeeper>(self, std::move(keeper), options)),
        fetch_(std::move(fetch)),
        cap_bytes_per_s_(cap_of(fetch_, options)),
        done_(std::move(done)),
        start_(self->clock().now()),
        sources_(fetch_.sources.size()) {}

  void start() { carry_out(plan_.start()); }
  /// Answers; nothing happens afterwards.
  void finish(const Result<FetchedState>& result) {
    if (over_) return;
    over_ = true;
    if (result.ok())
      keeper_->forget();
    else
      keeper_->end();
    auto done = std::move(done_);
    done(result);
  }
  std::string describe() const;

 private:
  struct Source {
    caf::actor proxy;
    uint64_t handle = 0;  ///< Of its offer.
  };

  void carry_out(const routing::DownloadPlan::Orders& orders);
  void carry_out(const DownloadOrder& order);
  milliseconds info_budget() const {
    return budget_of(static_cast<double>(fetch_.max_bytes), kSlowestCopy);
  }
  milliseconds chunk_budget() const;
  uint64_t received() const;
  void ask(size_t i);
  void answered(size_t i, const Result<Mail>& reply);
  void begin(const routing::StateOffer& offer);
  void keep(const routing::StateOffer& offer);
  void found(const KeptChunks& chunks);
  void read(size_t i, const DownloadRead& read);
  void send_read(size_t i, const DownloadRead& read);
  void read_answered(size_t i, const DownloadRead& read, const Result<Mail>& reply);
  void verify();
  FetchedState fetched() const;

  caf::event_based_actor* self_;
  caf::actor links_;
  routing::DownloadPlan plan_;
  std::shared_ptr<ChunkKeeper> keeper_;
  uint64_t kept_bytes_ = 0;   ///< Taken from the disk.
  bool disk_is_good_ = true;  ///< No whole has been other than its digest says.
  FetchState fetch_;
  double cap_bytes_per_s_;  ///< 0: none.
  caf::actor_clock::time_point next_read_{};
  Done done_;
  caf::actor_clock::time_point start_;
  std::vector<Source> sources_;
  MutableBuffer state_;
  bool over_ = false;
};

void StateDownload::carry_out(const routing::DownloadPlan::Orders& orders) {
  for (const auto& order : orders)
    if (!over_) carry_out(order);
}

void StateDownload::carry_out(const DownloadOrder& order) {
  switch (order.kind) {
    case DownloadOrder::Kind::kAsk:
      return ask(order.source);
    case DownloadOrder::Kind::kBegin:
      return begin(order.offer);
    case DownloadOrder::Kind::kRead:
      return read(order.source, order.read);
    case DownloadOrder::Kind::kVerify:
      return verify();
    case DownloadOrder::Kind::kDistrust:
      return log_warn("event=state_source_corrupt source=" +
                      fetch_.sources[order.source].actor.brief());
    case DownloadOrder::Kind::kWake:
      return self_->delayed_send(self_, order.pause, run_later_atom::value,
                                 LocalTask([me = shared_from_this(), token = order.token] {
                                   if (!me->over_) me->carry_out(me->plan_.woken(token));
                                 }));
    case DownloadOrder::Kind::kGiveUp:
      return finish(
          Error{order.error.code, fmt::format("no source could supply the state of stage {}: {}",
                                              fetch_.stage, order.error.detail)});
  }
}

void StateDownload::ask(size_t i) {
  const auto& who = fetch_.sources[i];
  auto me = shared_from_this();
  self_->request(links_, kLeastBudget, resolve_atom::value, who.actor, who.endpoint)
      .then(
          [this, me, i](const caf::actor& proxy) {
            sources_[i].proxy = proxy;
            proto::StateInfo info;
            info.set_stage(fetch_.stage.value());
            if (fetch_.exact_step) info.set_exact_step_plus_one(fetch_.exact_step->value() + 1);
            request_mail(self_, proxy, make_mail(std::move(info), {}, info_budget()),
                         [this, me, i](Result<Mail> reply) { answered(i, reply); });
          },
          [this, me, i](const caf::error& error) { answered(i, from_caf(error)); });
}

void StateDownload::answered(size_t i, const Result<Mail>& reply) {
  if (over_) return;
  if (!reply.ok()) return carry_out(plan_.refused(i, reply.error()));
  if (reply->kind != proto::KIND_STATE_INFO_REPLY)
    return carry_out(
        plan_.refused(i, {ErrorCode::kInternal, "answered with another kind of message"}));
  const auto& info = reply->as<proto::StateInfoReply>();
  sources_[i].handle = info.handle();
  carry_out(plan_.offered(i, {Step(info.step()), info.digest(), info.size_bytes()}));
}

void StateDownload::begin(const routing::StateOffer& offer) {
  try {
    state_ = MutableBuffer::allocate(offer.size_bytes);
  } catch (const std::bad_alloc&) {
    return finish(Error{ErrorCode::kOverloaded,
                        fmt::format("no memory for a state of {} bytes", offer.size_bytes)});
  }
  kept_bytes_ = 0;
  keep(offer);
}

/// Live states are others at every moment: only a snapshot is the same after a restart.
void StateDownload::keep(const routing::StateOffer& offer) {
  keeper_->end();
  if (!fetch_.exact_step || !disk_is_good_) return;
  const std::weak_ptr<StateDownload> weak = weak_from_this();
  keeper_->begin(
      fetch_.stage, offer, state_,
      [weak](uint64_t offset, uint64_t bytes) {
        if (const auto me = weak.lock()) me->plan_.expect(offset, bytes);
      },
      [weak](const KeptChunks& chunks) {
        if (const auto me = weak.lock()) me->found(chunks);
      });
}

void StateDownload::found(const KeptChunks& chunks) {
  routing::DownloadPlan::Orders orders;
  if (over_ || !plan_.found(chunks.offset, chunks.bytes.size(), orders)) return;
  std::memcpy(state_.data() + chunks.offset, chunks.bytes.data(), chunks.bytes.size());
  kept_bytes_ += chunks.bytes.size();
  carry_out(orders);
}

uint64_t StateDownload::received() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < sources_.size(); ++i) bytes += plan_.supplied(i);
  return bytes;
}

/// All sources may send over one link.
milliseconds StateDownload::chunk_budget() const {
  const uint64_t got = received();
  const std::chrono::duration<double> since = self_->clock().now() - start_;
  const double rate = since.count() > 0 ? static_cast<double>(got) / since.count() : 0;
  return budget_of(static_cast<double>(plan_.bytes_in_flight()), std::max(rate, kSlowestLink));
}

/// As soon as the cap allows.
void StateDownload::read(size_t i, const DownloadRead& read) {
  const auto now = self_->clock().now();
  const auto at = std::max(next_read_, now);
  if (cap_bytes_per_s_ > 0) {
    const std::chrono::duration<double> takes(static_cast<double>(read.size_bytes) /
                                              cap_bytes_per_s_);
    next_read_ = at + std::chrono::duration_cast<caf::actor_clock::duration_type>(
                          std::min<std::chrono::duration<double>>(takes, std::chrono::hours(1)));
  }
  if (at <= now) return send_read(i, read);
  self_->delayed_send(self_, std::chrono::duration_cast<std::chrono::nanoseconds>(at - now),
                      run_later_atom::value, LocalTask([me = shared_from_this(), i, read] {
                        if (!me->over_ && me->plan_.awaits(read)) me->send_read(i, read);
                      }));
}

void StateDownload::send_read(size_t i, const DownloadRead& read) {
  proto::StateChunk request;
  request.set_handle(sources_[i].handle);
  request.set_offset(read.offset);
  request.set_size_bytes(static_cast<uint32_t>(read.size_bytes));
  request_mail(self_, sources_[i].proxy, make_mail(std::move(request), {}, chunk_budget()),
               [this, me = shared_from_this(), i, read](Result<Mail> reply) {
                 if (!over_) read_answered(i, read, reply);
               });
}

void StateDownload::read_answered(size_t i, const DownloadRead& read, const Result<Mail>& reply) {
  if (!plan_.awaits(read)) return;
  const bool good = reply.ok() && reply->kind == proto::KIND_STATE_CHUNK_REPLY &&
                    reply->body.size() == read.size_bytes;
  if (good) {
    std::memcpy(state_.data() + read.offset, reply->body.data(), reply->body.size());
    keeper_->received(read.offset, read.size_bytes);
    return carry_out(plan_.received(i, read));
  }
  const Error error = reply.ok()
                          ? Error{ErrorCode::kShapeMismatch, "a chunk of the wrong size or kind"}
                          : reply.error();
  log_info(fmt::format("event=state_source_failed source={} error=\"{}\"",
                       fetch_.sources[i].actor.brief(), to_string(error)));
  carry_out(plan_.failed(i, read, error));
}

void StateDownload::verify() {
  if (tensor::digest(state_.data(), state_.size()) == plan_.taken()->digest)
    return finish(fetched());
  keeper_->forget();
  disk_is_good_ = false;
  carry_out(plan_.verified(false));
}

FetchedState StateDownload::fetched() const {
  FetchedState out;
  out.state = state_.freeze();
  out.step = plan_.taken()->step;
  out.kept_bytes = kept_bytes_;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (plan_.supplied(i) == 0) continue;
    out.source += (out.source.empty() ? "" : ", ") + fetch_.sources[i].node_name;
    out.from.push_back(fetch_.sources[i].actor);
  }
  out.seconds = std::chrono::duration<double>(self_->clock().now() - start_).count();
  return out;
}

std::string StateDownload::describe() const {
  if (!plan_.taken()) return "asking who has the state";
  const auto of = static_cast<double>(std::max<uint64_t>(plan_.taken()->size_bytes, 1));
  const auto has = static_cast<double>(received() + kept_bytes_);
  return fmt::format("fetching step {}: {:.1f} of {:.1f} MB ({:.0f} %)", plan_.taken()->step,
                     has / 1e6, of / 1e6, 100 * has / of);
}

// ---- all of them --------------------------------------------------------------------------

StateDownloads::StateDownloads(caf::event_based_actor* self, caf::actor links,
                               const StateTransferOptions& options, ChunkKeeperDeps keeper)
    : self_(self), links_(std::move(links)), options_(options), keeper_(std::move(keeper)) {}

StateDownloads::~StateDownloads() = default;

caf::result<FetchedState> StateDownloads::start(const FetchState& fetch) {
  if (fetch.sources.empty() || fetch.max_bytes == 0)
    return to_caf(ErrorCode::kInvalidArgument, "fetching a state needs sources and max_bytes");
  auto promise = self_->make_response_promise<FetchedState>();
  auto place = std::make_shared<std::weak_ptr<StateDownload>>();
  auto download = std::make_shared<StateDownload>(
      self_, links_, options_, keeper_, fetch,
      [this, place, promise](const Result<FetchedState>& result) mutable {
        if (result.ok())
          promise.deliver(*result);
        else
          promise.deliver(to_caf(result.error()));
        running_.erase(place->lock());
      });
  *place = download;
  running_.insert(download);
  download->start();
  return promise;
}

void StateDownloads::close(const Error& error) {
  auto running = std::move(running_);
  running_.clear();
  for (auto& download : running) download->finish(error);
}

std::string StateDownloads::describe() const {
  std::string text;
  for (auto& download : running_) text += (text.empty() ? "" : ", ") + download->describe();
  return text.empty() ? "no fetch" : text;
}

}  // namespace swarm::actors

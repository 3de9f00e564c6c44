#include "actors/state/state_fetch.h"

#include <algorithm>
#include <caf/typed_response_promise.hpp>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <new>
#include <tuple>
#include <utility>

#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr auto kInfoBudget = milliseconds(10'000);
constexpr auto kChunkBudget = milliseconds(10'000);
constexpr auto kMoreOffers = milliseconds(1'000);  // after the first one
constexpr auto kRetryPause = milliseconds(200);
constexpr int kMaxAttempts = 3;  // in a row without a byte
constexpr uint32_t kMaxChunkBytes = 4u << 20;

/// The bytes that several sources may offer.
struct StateKey {
  uint64_t step = 0, digest = 0, size = 0;
  friend bool operator==(const StateKey& a, const StateKey& b) {
    return a.step == b.step && a.digest == b.digest && a.size == b.size;
  }
  friend bool operator<(const StateKey& a, const StateKey& b) {
    return std::tie(a.step, a.digest, a.size) < std::tie(b.step, b.digest, b.size);
  }
};

struct Source {
  AverageMember who;
  caf::actor proxy;
  std::optional<StateKey> offer;
  uint64_t handle = 0;
  bool asking = false;
  bool active = false;  ///< Downloading from it.
  bool banned = false;  ///< Gave wrong bytes.
  size_t in_flight = 0;
  uint64_t supplied = 0;                               ///< Bytes, of the present download.
  Error last{ErrorCode::kNotFound, "never answered"};  ///< Why it is not used.
};

}  // namespace

class StateDownload : public std::enable_shared_from_this<StateDownload> {
 public:
  using Done = std::function<void(const Result<FetchedState>&)>;

  StateDownload(caf::event_based_actor* self, caf::actor links, const AveragerOptions& options,
                FetchState fetch, Done done)
      : self_(self),
        links_(std::move(links)),
        options_(options),
        fetch_(std::move(fetch)),
        done_(std::move(done)),
        start_(self->clock().now()) {
    chunk_bytes_ = std::min(std::max(options.state_chunk_bytes, 1u), kMaxChunkBytes);
    for (auto& who : fetch_.sources) {
      sources_.emplace_back();
      sources_.back().who = who;
    }
  }

  void ask_all();
  void finish(const Result<FetchedState>& result) {
    if (over_) return;
    over_ = true;
    auto done = std::move(done_);
    done(result);
  }
  std::string describe() const;

 private:
  void later(milliseconds pause, void (StateDownload::*work)());
  void ask(size_t i);
  void info_answered(size_t i, const Result<Mail>& reply);
  Status read_offer(Source& source, const Mail& reply);
  void maybe_choose();
  void choose();
  bool begin(const StateKey& key);
  void pump(size_t i);
  void chunk_answered(size_t i, uint64_t chunk, const Result<Mail>& reply);
  void source_failed(size_t i, const Error& error);
  void ask_again_if_alone();
  void retry_if_stuck();
  void verify();
  void give_up();
  uint64_t length(uint64_t chunk) const {
    return std::min<uint64_t>(chunk_bytes_, key_->size - chunk * chunk_bytes_);
  }

  caf::event_based_actor* self_;
  caf::actor links_;
  AveragerOptions options_;
  FetchState fetch_;
  Done done_;
  caf::actor_clock::time_point start_;
  uint64_t chunk_bytes_ = 0;
  std::vector<Source> sources_;
  int attempt_ = 0;
  bool over_ = false;
  bool choosing_ = true;     ///< Collecting offers; false while downloading.
  bool solo_ = false;        ///< One source at a time, after wrong bytes from several.
  uint64_t generation_ = 0;  ///< Of the download; answers to older ones are ignored.
  std::optional<StateKey> key_;
  MutableBuffer state_;
  std::deque<uint64_t> todo_;  ///< Chunks not asked for.
  uint64_t missing_ = 0;       ///< Chunks not received.
};

void StateDownload::later(milliseconds pause, void (StateDownload::*work)()) {
  self_->delayed_send(self_, pause, run_later_atom::value,
                      LocalTask([me = shared_from_this(), work, attempt = attempt_] {
                        if (!me->over_ && me->attempt_ == attempt) ((*me).*work)();
                      }));
}

// ---- who has what -------------------------------------------------------------------------

void StateDownload::ask_all() {
  ++attempt_;
  choosing_ = true;
  for (auto& source : sources_) source.asking = !source.banned;
  for (size_t i = 0; i < sources_.size(); ++i)
    if (sources_[i].asking) ask(i);
  maybe_choose();
}

void StateDownload::ask(size_t i) {
  auto& who = sources_[i].who;
  auto me = shared_from_this();
  self_->request(links_, kInfoBudget, resolve_atom::value, who.averager, who.endpoint)
      .then(
          [this, me, i](const caf::actor& proxy) {
            sources_[i].proxy = proxy;
            proto::StateInfo info;
            info.set_stage(fetch_.stage);
            if (fetch_.exact_step) info.set_exact_step_plus_one(*fetch_.exact_step + 1);
            request_mail(self_, proxy, make_mail(std::move(info), {}, kInfoBudget),
                         [this, me, i](Result<Mail> reply) { info_answered(i, reply); });
          },
          [this, me, i](const caf::error& error) { info_answered(i, from_caf(error)); });
}

void StateDownload::info_answered(size_t i, const Result<Mail>& reply) {
  if (over_) return;
  auto& source = sources_[i];
  source.asking = false;
  Status valid;
  if (!reply.ok())
    valid = reply.error();
  else
    valid = read_offer(source, *reply);
  if (!valid.ok()) {
    source.last = valid.error();
    source.offer.reset();
  } else if (!choosing_ && !solo_ && key_ && *source.offer == *key_) {  // late, but welcome
    source.active = true;
    return pump(i);
  }
  if (choosing_) maybe_choose();
}

Status StateDownload::read_offer(Source& source, const Mail& reply) {
  if (reply.kind != proto::KIND_STATE_INFO_REPLY)
    return Error{ErrorCode::kInternal, "answered with another kind of message"};
  const auto& info = reply.as<proto::StateInfoReply>();
  if (info.size_bytes() == 0 || info.size_bytes() > fetch_.max_bytes)
    return Error{ErrorCode::kCorruptCheckpoint,
                 "offers " + std::to_string(info.size_bytes()) + " bytes; at most " +
                     std::to_string(fetch_.max_bytes) + " can be right"};
  if (fetch_.exact_step && info.step() != *fetch_.exact_step)
    return Error{ErrorCode::kNotFound, "offers step " + std::to_string(info.step())};
  source.offer = StateKey{info.step(), info.digest(), info.size_bytes()};
  source.handle = info.handle();
  return {};
}

/// Chooses when all have answered, or some time after the first offer.
void StateDownload::maybe_choose() {
  bool asking = false;
  size_t offers = 0;
  for (auto& source : sources_) {
    asking |= source.asking;
    offers += source.offer.has_value();
  }
  if (!asking) return choose();
  if (offers == 1) later(kMoreOffers, &StateDownload::choose);
}

void StateDownload::choose() {
  if (!choosing_) return;
  std::map<StateKey, size_t> votes;
  for (auto& source : sources_)
    if (source.offer && !source.banned) ++votes[*source.offer];
  if (votes.empty()) {
    for (auto& source : sources_)
      if (source.asking) return;  // a slow one may still have it
    return retry_if_stuck();
  }
  auto best = votes.begin();
  for (auto it = votes.begin(); it != votes.end(); ++it)
    if (std::make_pair(it->first.step, it->second) > std::make_pair(best->first.step, best->second))
      best = it;
  choosing_ = false;
  if (!begin(best->first)) return;
  for (size_t i = 0; i < sources_.size(); ++i) {
    auto& source = sources_[i];
    bool another = solo_ && std::any_of(sources_.begin(), sources_.begin() + static_cast<long>(i),
                                        [](const Source& s) { return s.active; });
    source.active = source.offer && !source.banned && *source.offer == *key_ && !another;
  }
  for (size_t i = 0; i < sources_.size(); ++i)
    if (sources_[i].active) pump(i);
}

/// Memory for the state, or what is there of it if the bytes are the same as before.
bool StateDownload::begin(const StateKey& key) {
  if (key_ && *key_ == key) return true;
  ++generation_;
  key_ = key;
  try {
    state_ = MutableBuffer::allocate(key.size);
  } catch (const std::bad_alloc&) {
    finish(Error{ErrorCode::kOverloaded,
                 "no memory for a state of " + std::to_string(key.size) + " bytes"});
    return false;
  }
  todo_.clear();
  missing_ = (key.size + chunk_bytes_ - 1) / chunk_bytes_;
  for (uint64_t chunk = 0; chunk < missing_; ++chunk) todo_.push_back(chunk);
  for (auto& source : sources_) source.in_flight = source.supplied = 0;
  return true;
}

// ---- the bytes ----------------------------------------------------------------------------

void StateDownload::pump(size_t i) {
  auto& source = sources_[i];
  const size_t window = std::max(1u, options_.state_chunks_in_flight);
  while (source.active && source.in_flight < window && !todo_.empty()) {
    const uint64_t chunk = todo_.front();
    todo_.pop_front();
    ++source.in_flight;
    proto::StateChunk request;
    request.set_handle(source.handle);
    request.set_offset(chunk * chunk_bytes_);
    request.set_size_bytes(static_cast<uint32_t>(length(chunk)));
    request_mail(
        self_, source.proxy, make_mail(std::move(request), {}, kChunkBudget),
        [this, me = shared_from_this(), i, chunk, generation = generation_](Result<Mail> reply) {
          if (!over_ && generation == generation_) chunk_answered(i, chunk, reply);
        });
  }
}

void StateDownload::chunk_answered(size_t i, uint64_t chunk, const Result<Mail>& reply) {
  auto& source = sources_[i];
  --source.in_flight;
  const bool good = reply.ok() && reply->kind == proto::KIND_STATE_CHUNK_REPLY &&
                    reply->body.size() == length(chunk);
  if (!good) {
    todo_.push_front(chunk);
    return source_failed(
        i, reply.ok() ? Error{ErrorCode::kShapeMismatch, "a chunk of the wrong size or kind"}
                      : reply.error());
  }
  std::memcpy(state_.data() + chunk * chunk_bytes_, reply->body.data(), reply->body.size());
  source.supplied += reply->body.size();
  attempt_ = 1;  // progress: all retries are open again
  if (--missing_ == 0) return verify();
  pump(i);
  ask_again_if_alone();
}

/// The others take over what it was asked for; when nobody is left, all are asked once more.
void StateDownload::source_failed(size_t i, const Error& error) {
  auto& source = sources_[i];
  source.active = false;
  source.offer.reset();
  source.last = error;
  log_info("event=state_source_failed source=" + source.who.averager.brief() + " error=\"" +
           to_string(error) + "\"");
  for (size_t other = 0; other < sources_.size(); ++other)
    if (sources_[other].active) pump(other);
  ask_again_if_alone();
}

/// Nobody is left to download from and nothing is on the way.
void StateDownload::ask_again_if_alone() {
  if (choosing_) return;
  for (auto& one : sources_)
    if (one.active || one.in_flight > 0) return;
  choosing_ = true;
  retry_if_stuck();
}

void StateDownload::retry_if_stuck() {
  bool hopeless = std::all_of(sources_.begin(), sources_.end(), [](const Source& s) {
    return s.banned || (!s.offer && s.last.code == ErrorCode::kNotFound && s.supplied == 0);
  });
  if (hopeless || attempt_ >= kMaxAttempts) return give_up();
  later(kRetryPause, &StateDownload::ask_all);
}

void StateDownload::verify() {
  if (tensor::digest(state_.data(), state_.size()) == key_->digest) {
    FetchedState fetched;
    fetched.state = state_.freeze();
    fetched.step = key_->step;
    for (auto& source : sources_)
      if (source.supplied > 0)
        fetched.source += (fetched.source.empty() ? "" : ", ") + source.who.averager.brief() +
                          " (" + std::to_string(source.supplied) + " bytes)";
    fetched.seconds = std::chrono::duration<double>(self_->clock().now() - start_).count();
    return finish(fetched);
  }
  const auto suppliers = std::count_if(sources_.begin(), sources_.end(),
                                       [](const Source& s) { return s.supplied > 0; });
  for (auto& source : sources_) {
    if (suppliers == 1 && source.supplied > 0) {
      source.banned = true;
      source.last = {ErrorCode::kCorruptCheckpoint, "its bytes do not match its digest"};
      log_warn("event=state_source_corrupt source=" + source.who.averager.brief());
    }
    source.active = false;
  }
  solo_ |= suppliers > 1;
  key_.reset();
  choosing_ = true;
  choose();
}

void StateDownload::give_up() {
  ErrorCode code = ErrorCode::kNotFound;
  std::string detail;
  for (auto& source : sources_) {
    const auto& why = source.last.code;
    if (why == ErrorCode::kCorruptCheckpoint)
      code = why;
    else if (code != ErrorCode::kCorruptCheckpoint &&
             (why == ErrorCode::kLinkLost || why == ErrorCode::kPeerTimeout))
      code = ErrorCode::kLinkLost;
    detail +=
        (detail.empty() ? "" : "; ") + source.who.averager.brief() + ": " + to_string(source.last);
  }
  finish(Error{code, "no source could supply the state of stage " + std::to_string(fetch_.stage) +
                         ": " + detail});
}

std::string StateDownload::describe() const {
  if (!key_) return "asking who has the state";
  return "fetching step " + std::to_string(key_->step) + ", " + std::to_string(missing_) +
         " chunks missing";
}

// ---- all of them --------------------------------------------------------------------------

StateFetches::StateFetches(caf::event_based_actor* self, caf::actor links,
                           const AveragerOptions& options)
    : self_(self), links_(std::move(links)), options_(options) {}

StateFetches::~StateFetches() = default;

caf::result<FetchedState> StateFetches::start(const FetchState& fetch) {
  if (fetch.sources.empty() || fetch.max_bytes == 0)
    return to_caf(ErrorCode::kInvalidArgument, "fetching a state needs sources and max_bytes");
  auto promise = self_->make_response_promise<FetchedState>();
  auto place = std::make_shared<std::weak_ptr<StateDownload>>();
  auto download = std::make_shared<StateDownload>(
      self_, links_, options_, fetch,
      [this, place, promise](const Result<FetchedState>& result) mutable {
        if (result.ok())
          promise.deliver(*result);
        else
          promise.deliver(to_caf(result.error()));
        running_.erase(place->lock());
      });
  *place = download;
  running_.insert(download);
  download->ask_all();
  return promise;
}

void StateFetches::close(const Error& error) {
  auto running = std::move(running_);
  running_.clear();
  for (auto& download : running) download->finish(error);
}

std::string StateFetches::describe() const {
  std::string text;
  for (auto& download : running_) text += (text.empty() ? "" : ", ") + download->describe();
  return text.empty() ? "no fetch" : text;
}

}  // namespace swarm::actors

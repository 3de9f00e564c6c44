#include "routing/state/download_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "common/erase_if.h"

namespace swarm::routing {
namespace {

using Kind = DownloadOrder::Kind;
using std::chrono::milliseconds;

constexpr auto kMoreOffers = milliseconds(1'000);  // after the first one
constexpr auto kRetryPause = milliseconds(200);
constexpr int kMaxAttempts = 3;  // in a row without a byte

}  // namespace

bool operator<(const StateOffer& a, const StateOffer& b) {
  return std::tie(a.step, a.digest, a.size_bytes) < std::tie(b.step, b.digest, b.size_bytes);
}

DownloadPlan::DownloadPlan(const std::vector<std::string>& sources,
                           const DownloadPlanOptions& options)
    : options_(options) {
  for (const auto& name : sources) {
    sources_.emplace_back();
    sources_.back().name = name;
  }
}

// ---- what happened ------------------------------------------------------------------------

DownloadPlan::Orders DownloadPlan::start() {
  ask_all();
  return std::exchange(orders_, {});
}

DownloadPlan::Orders DownloadPlan::offered(size_t source, const StateOffer& offer) {
  const Status valid = check(offer);
  take(source, valid.ok() ? Result<StateOffer>(offer) : Result<StateOffer>(valid.error()));
  return std::exchange(orders_, {});
}

DownloadPlan::Orders DownloadPlan::refused(size_t source, const Error& error) {
  take(source, error);
  return std::exchange(orders_, {});
}

DownloadPlan::Orders DownloadPlan::received(size_t source, const DownloadRead& read) {
  if (!awaits(read)) return {};
  --sources_[source].in_flight;
  sources_[source].supplied += read.size_bytes;
  attempts_ = 1;  // progress: all retries are open again
  if (--missing_ == 0) {
    add(Kind::kVerify);
  } else {
    pump(source);
    ask_again_if_alone();
  }
  return std::exchange(orders_, {});
}

DownloadPlan::Orders DownloadPlan::failed(size_t source, const DownloadRead& read,
                                          const Error& error) {
  if (!awaits(read)) return {};
  auto& one = sources_[source];
  --one.in_flight;
  to_read_.push_front(read.offset / options_.chunk_bytes);
  one.active = false;
  one.offer.reset();
  one.last = error;
  pump_all();
  ask_again_if_alone();
  return std::exchange(orders_, {});
}

/// First and the one after the last.
std::pair<uint64_t, uint64_t> DownloadPlan::chunks(uint64_t offset, uint64_t size_bytes) const {
  const uint64_t first = offset / options_.chunk_bytes;
  return {first, first + (size_bytes + options_.chunk_bytes - 1) / options_.chunk_bytes};
}

void DownloadPlan::expect(uint64_t offset, uint64_t size_bytes) {
  const auto [first, end] = chunks(offset, size_bytes);
  const auto there = std::stable_partition(
      to_read_.begin(), to_read_.end(),
      [first = first, end = end](uint64_t chunk) { return chunk < first || chunk >= end; });
  on_disk_.insert(on_disk_.end(), there, to_read_.end());
  to_read_.erase(there, to_read_.end());
  std::sort(on_disk_.begin(), on_disk_.end());
}

bool DownloadPlan::found(uint64_t offset, uint64_t size_bytes, Orders& orders) {
  if (over_ || !taken_) return false;
  const auto [first, end] = chunks(offset, size_bytes);
  const auto within = [first = first, end = end](uint64_t chunk) {
    return chunk >= first && chunk < end;
  };
  const auto free = std::count_if(on_disk_.begin(), on_disk_.end(), within);
  if (static_cast<uint64_t>(free) != end - first) return false;
  erase_if(on_disk_, within);
  missing_ -= end - first;
  if (missing_ == 0) add(Kind::kVerify);
  orders = std::exchange(orders_, {});
  return true;
}

DownloadPlan::Orders DownloadPlan::woken(uint64_t token) {
  const bool to_choose = token % 2 == 1;
  if (over_ || token / 2 != static_cast<uint64_t>(attempts_)) return {};
  if (to_choose)
    choose();
  else
    ask_all();
  return std::exchange(orders_, {});
}

DownloadPlan::Orders DownloadPlan::verified(bool good) {
  if (good || over_) return {};
  const auto suppliers = std::count_if(sources_.begin(), sources_.end(),
                                       [](const Source& s) { return s.supplied > 0; });
  for (size_t i = 0; i < sources_.size(); ++i) {
    auto& source = sources_[i];
    source.active = false;
    if (suppliers != 1 || source.supplied == 0) continue;
    source.banned = true;
    source.last = {ErrorCode::kCorruptCheckpoint, "its bytes do not match its digest"};
    add(Kind::kDistrust, i);
  }
  alone_ |= suppliers > 1;
  taken_.reset();
  choosing_ = true;
  choose();
  return std::exchange(orders_, {});
}

// ---- who has what -------------------------------------------------------------------------

void DownloadPlan::ask_all() {
  ++attempts_;
  choosing_ = true;
  for (size_t i = 0; i < sources_.size(); ++i) {
    sources_[i].asked = !sources_[i].banned;
    if (sources_[i].asked) add(Kind::kAsk, i);
  }
  choose_if_known();
}

Status DownloadPlan::check(const StateOffer& offer) const {
  if (offer.size_bytes == 0 || offer.size_bytes > options_.max_bytes)
    return Error{ErrorCode::kCorruptCheckpoint,
                 "offers " + std::to_string(offer.size_bytes) + " bytes; at most " +
                     std::to_string(options_.max_bytes) + " can be right"};
  if (options_.exact_step && offer.step != *options_.exact_step)
    return Error{ErrorCode::kNotFound, fmt::format("offers step {}", offer.step)};
  return {};
}

void DownloadPlan::take(size_t source, const Result<StateOffer>& answer) {
  if (over_) return;
  auto& one = sources_[source];
  one.asked = false;
  if (answer.ok()) {
    one.offer = *answer;
    if (!choosing_ && !alone_ && taken_ && *answer == *taken_) {  // late, but welcome
      one.active = true;
      return pump(source);
    }
  } else {
    one.last = answer.error();
    one.offer.reset();
  }
  if (choosing_) choose_if_known();
}

/// Chooses when all have answered, or some time after the first offer.
void DownloadPlan::choose_if_known() {
  bool asked = false;
  size_t offers = 0;
  for (const auto& source : sources_) {
    asked |= source.asked;
    offers += source.offer.has_value();
  }
  if (!asked) return choose();
  if (offers == 1) wake(kMoreOffers, /*to_choose=*/true);
}

void DownloadPlan::choose() {
  if (!choosing_) return;
  std::map<StateOffer, size_t> votes;
  bool asked = false;
  for (const auto& source : sources_) {
    asked |= source.asked;
    if (source.offer && !source.banned) ++votes[*source.offer];
  }
  if (votes.empty()) {
    if (!asked) retry();  // else a slow one may still have it
    return;
  }
  const auto best = std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) {
    return std::make_pair(a.first.step, a.second) < std::make_pair(b.first.step, b.second);
  });
  choosing_ = false;
  begin(best->first);
  bool another = false;
  for (auto& source : sources_) {
    source.active =
        source.offer && !source.banned && *source.offer == *taken_ && !(alone_ && another);
    another |= source.active;
  }
  pump_all();
}

/// Goes on with what is there if the bytes are the same as before.
void DownloadPlan::begin(const StateOffer& offer) {
  if (taken_ && *taken_ == offer) return;
  ++download_;
  taken_ = offer;
  to_read_.clear();
  on_disk_.clear();
  missing_ = (offer.size_bytes + options_.chunk_bytes - 1) / options_.chunk_bytes;
  for (uint64_t chunk = 0; chunk < missing_; ++chunk) to_read_.push_back(chunk);
  for (auto& source : sources_) source.in_flight = source.supplied = 0;
  add(Kind::kBegin).offer = offer;
}

// ---- the bytes ----------------------------------------------------------------------------

void DownloadPlan::pump(size_t source) {
  auto& one = sources_[source];
  while (one.active && one.in_flight < options_.chunks_in_flight) {
    const auto chunk = next_chunk();
    if (!chunk) return;
    const uint64_t offset = *chunk * options_.chunk_bytes;
    ++one.in_flight;
    add(Kind::kRead, source).read = {
        offset, std::min(options_.chunk_bytes, taken_->size_bytes - offset), download_};
  }
}

/// The disk is read from the front: of what it may have the last is asked for first.
std::optional<uint64_t> DownloadPlan::next_chunk() {
  auto& from = to_read_.empty() ? on_disk_ : to_read_;
  if (from.empty()) return std::nullopt;
  const uint64_t chunk = to_read_.empty() ? from.back() : from.front();
  if (to_read_.empty())
    from.pop_back();
  else
    from.pop_front();
  return chunk;
}

void DownloadPlan::pump_all() {
  for (size_t i = 0; i < sources_.size(); ++i) pump(i);
}

/// Nobody is left to read from and nothing is on the way.
void DownloadPlan::ask_again_if_alone() {
  if (choosing_) return;
  for (const auto& one : sources_)
    if (one.active || one.in_flight > 0) return;
  choosing_ = true;
  retry();
}

void DownloadPlan::retry() {
  const bool hopeless = std::all_of(sources_.begin(), sources_.end(), [](const Source& s) {
    return s.banned || (!s.offer && s.last.code == ErrorCode::kNotFound && s.supplied == 0);
  });
  if (hopeless || attempts_ >= kMaxAttempts) return give_up();
  wake(kRetryPause, /*to_choose=*/false);
}

void DownloadPlan::give_up() {
  ErrorCode code = ErrorCode::kNotFound;
  bool busy = false;
  std::string detail;
  for (const auto& source : sources_) {
    const auto& why = source.last.code;
    if (why == ErrorCode::kCorruptCheckpoint)
      code = why;
    else if (code != ErrorCode::kCorruptCheckpoint &&
             (why == ErrorCode::kLinkLost || why == ErrorCode::kPeerTimeout))
      code = ErrorCode::kLinkLost;
    busy |= why == ErrorCode::kOverloaded;
    detail += (detail.empty() ? "" : "; ") + source.name + ": " + to_string(source.last);
  }
  if (busy && code == ErrorCode::kNotFound) code = ErrorCode::kOverloaded;
  over_ = true;
  add(Kind::kGiveUp).error = Error{code, detail};
}

/// The token names the attempt: a later one does not heed it.
void DownloadPlan::wake(milliseconds pause, bool to_choose) {
  auto& order = add(Kind::kWake);
  order.pause = pause;
  order.token = static_cast<uint64_t>(attempts_) * 2 + (to_choose ? 1 : 0);
}

DownloadOrder& DownloadPlan::add(Kind kind, size_t source) {
  orders_.emplace_back();
  orders_.back().kind = kind;
  orders_.back().source = source;
  return orders_.back();
}

}  // namespace swarm::routing

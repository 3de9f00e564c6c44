#include "routing/state/learn_plan.h"

#include <algorithm>
#include <iterator>

#include "common/check.h"

namespace swarm::routing {
namespace {

using std::chrono::milliseconds;

constexpr Time kShortestPoll = milliseconds(20), kLongestPoll = milliseconds(1'000);
constexpr uint32_t kFailing = 3;  ///< Times in a row.
constexpr Time kShortestPause = milliseconds(200), kLongestPause = milliseconds(5'000);

/// How often a source that has nothing new is asked, where a step takes so long.
Time poll_every(double step_s) {
  const auto eighth =
      std::chrono::duration_cast<Time>(std::chrono::duration<double>(std::min(step_s, 8.0) / 8));
  return std::clamp(eighth, kShortestPoll, kLongestPoll);
}

/// After a whole that was wrong one source at a time is, `alone`.
bool is_asked(const std::map<PeerId, LearnSource>& sources, const std::optional<size_t>& alone,
              const PeerId& id) {
  if (!alone) return true;
  const auto turn = static_cast<std::ptrdiff_t>(*alone % sources.size());
  return id == std::next(sources.begin(), turn)->first;
}

}  // namespace

LearnPlan::LearnPlan(const LearnOptions& options)
    : options_(options), book_(options.elements, options.range_elements), pace_(options.elements) {
  SWARM_CHECK(options.reads_in_flight > 0);
}

// -- what is held

void LearnPlan::hold(size_t range, const StateLabel& label) {
  book_.take(range);
  book_.put(range, label);
}

void LearnPlan::start_anew() {
  flights_.clear();
  here_ = 0;
  book_.clear();
  for (auto& [id, source] : sources_) source.in_flight = 0;
  alone_ = alone_ ? *alone_ + 1 : 0;
}

std::optional<StateLabel> LearnPlan::uniform() const {
  return here_ > 0 ? std::nullopt : book_.uniform();
}

/// What is only asked whether there is more, to no end so far, is held all the same.
std::optional<StateLabel> LearnPlan::whole() const {
  const auto label = uniform();
  if (!label) return std::nullopt;
  const auto of_another = [&](const auto& one) {
    const auto& newest = one.second.newest;
    return newest &&
           (newest->step > label->step || (newest->step == label->step && *newest != *label));
  };
  if (std::any_of(sources_.begin(), sources_.end(), of_another)) return std::nullopt;
  return label;
}

void LearnPlan::end_reads() {
  for (auto it = flights_.begin(); it != flights_.end();) {
    const Flight flight = it->second;
    it = flight.here ? std::next(it) : flights_.erase(it);
    if (!flight.here) book_.put(flight.range, labels()[flight.range]);
  }
  for (auto& [id, source] : sources_) source.in_flight = 0;
}

// -- who is asked

void LearnPlan::set_sources(const std::vector<PeerId>& sources, Step swarm_at) {
  std::map<PeerId, Source> now;
  for (const PeerId& id : sources) {
    Source& source = now[id];
    const auto before = sources_.find(id);
    if (before == sources_.end()) continue;
    source = before->second;
    source.heard = Source::kNever;
  }
  sources_ = std::move(now);
  const bool went_back = swarm_at < swarm_at_;
  swarm_at_ = swarm_at;
  if (!went_back) return;
  for (auto& [id, source] : sources_) source.newest.reset();
  for (auto it = book_.held().begin(); it != book_.held().end();) {
    const auto [label, range] = *it++;
    if (label.step > swarm_at) drop(range);
  }
}

std::optional<Step> LearnPlan::newest() const {
  std::optional<Step> newest;
  for (const auto& [id, source] : sources_)
    if (source.newest) newest = std::max(newest.value_or(Step()), source.newest->step);
  return newest;
}

void LearnPlan::rest(Time until) {
  rest_until_ = until;
  pace_.reset();
}

bool LearnPlan::may_ask(const PeerId& id, const Source& source, Time now) const {
  if (source.in_flight >=
          std::min(static_cast<uint32_t>(source.window), options_.reads_in_flight) ||
      now < source.retry_at)
    return false;
  // What has come and was not taken yet is in memory.
  if (here_ >= 2 * options_.reads_in_flight * sources_.size()) return false;
  return is_asked(sources_, alone_, id);
}

/// What no source can bring on is read anew, as a state. Nobody waits for one that fails again and
/// again.
void LearnPlan::drop_lost() {
  for (auto it = book_.held().begin(); it != book_.held().end();) {
    const StateLabel label = it->first;
    const auto next = book_.held().upper_bound({label, ranges()});
    const bool hopeless = std::all_of(sources_.begin(), sources_.end(), [&](const auto& one) {
      return !is_asked(sources_, alone_, one.first) || one.second.failures >= kFailing ||
             (one.second.newest && !one.second.leads_on(label));
    });
    while (hopeless && it != next) {
      const size_t range = (it++)->second;
      drop(range);
    }
    it = next;
  }
}

/// A range that this source can bring on; the oldest first.
std::optional<size_t> LearnPlan::behind(const Source& source) const {
  if (!source.newest) return std::nullopt;
  const auto& held = book_.held();
  for (auto it = held.begin(); it != held.end();) {
    const StateLabel& label = it->first;
    if (label.step >= source.newest->step) break;
    if (source.leads_on(label)) return it->second;
    it = held.upper_bound({label, ranges()});
  }
  return std::nullopt;
}

std::optional<LearnPlan::Flight> LearnPlan::next_range(const Source& source, Time now) const {
  if (const auto range = behind(source)) return Flight{*range};
  if (now >= next_state_)
    if (const auto range = book_.next_missing()) return Flight{*range};
  const bool asked_long_ago =
      source.in_flight == 0 &&
      (source.heard == Source::kNever || now >= source.heard + poll_every(pace_.step_s()));
  if (!book_.held().empty() && asked_long_ago) return Flight{book_.held().begin()->second, true};
  return std::nullopt;
}

LearnRead LearnPlan::take(const PeerId& id, Source& source, const Flight& flight, Time now) {
  book_.take(flight.range);
  ++source.in_flight;
  const auto [first, count] = elements(flight.range);
  LearnRead read{id, flight.range, first, count, labels()[flight.range], next_number_++, now};
  flights_[read.number] = flight;
  if (!read.label) spend(count, now);
  return read;
}

/// Of what options_.state_bytes_per_s allows.
void LearnPlan::spend(uint64_t elements, Time now) {
  if (options_.state_bytes_per_s <= 0) return;
  const double bytes = static_cast<double>(elements * options_.bytes_per_element);
  const std::chrono::duration<double> takes(bytes / options_.state_bytes_per_s);
  constexpr std::chrono::duration<double> kMost = std::chrono::hours(1);
  next_state_ =
      std::max(next_state_, now) + std::chrono::duration_cast<Time>(std::min(takes, kMost));
}

/// In turns, so that the sources share the work.
std::vector<LearnRead> LearnPlan::reads(Time now) {
  std::vector<LearnRead> out;
  if (now < rest_until_) return out;
  for (bool more = true; more;) {
    more = false;
    for (auto& [id, source] : sources_) {
      if (!may_ask(id, source, now)) continue;
      const auto flight = next_range(source, now);
      if (!flight) continue;
      out.push_back(take(id, source, *flight, now));
      more = true;
    }
  }
  return out;
}

Time LearnPlan::look_again(Time now) const {
  if (now < rest_until_) return rest_until_;
  Time at = now + kLongestPoll;
  if (next_state_ > now) at = std::min(at, next_state_);
  for (const auto& [id, source] : sources_) {
    if (source.retry_at > now) at = std::min(at, source.retry_at);
    if (source.in_flight == 0 && source.heard > now - poll_every(pace_.step_s()))
      at = std::min(at, source.heard + poll_every(pace_.step_s()));
  }
  return at;
}

// -- what came

/// Its source, which may be asked for another one; null: it is no longer one.
LearnPlan::Source* LearnPlan::landed(const LearnRead& read) {
  const auto source = sources_.find(read.source);
  if (source == sources_.end()) return nullptr;
  if (source->second.in_flight > 0) --source->second.in_flight;
  return &source->second;
}

void LearnPlan::arrived(const LearnRead& read, const LearnAnswer& answer, Time now) {
  const auto flight = flights_.find(read.number);
  if (flight == flights_.end() || flight->second.here) return;
  flight->second.here = true;
  ++here_;
  using What = LearnAnswer::What;
  uint64_t bytes = 0;
  if (answer.what == What::kState) bytes = read.count * options_.bytes_per_element;
  if (answer.what == What::kMean) bytes = read.count * sizeof(float);
  if (bytes > 0) pace_.received(bytes, read.asked_at + answer.waited, now);
  if (answer.what == What::kState && read.label) spend(read.count, now);
  pace_.newest(answer.newest.step, now);
  Source* source = landed(read);
  if (source == nullptr) return;
  source->newest = answer.newest;
  source->heard = now;
  source->failures = 0;
  if (answer.what == What::kState)
    source->adapt_window(now - read.asked_at - answer.waited, answer.waited,
                         options_.reads_in_flight);
  if (answer.what == What::kState && read.label) source->lost.insert(*read.label);
  drop_lost();
}

void LearnPlan::answered(const LearnRead& read, const LearnAnswer& answer, Time now) {
  if (!awaits(read)) return;
  arrived(read, answer, now);
  flights_.erase(read.number);
  --here_;
  book_.put(read.range, answer.what == LearnAnswer::What::kNothing ? read.label : answer.label);
}

void LearnPlan::failed(const LearnRead& read, Time now) {
  const auto flight = flights_.find(read.number);
  if (flight == flights_.end()) return;
  Source* source = nullptr;
  if (flight->second.here) {
    --here_;
    if (const auto found = sources_.find(read.source); found != sources_.end())
      source = &found->second;
  } else {
    source = landed(read);
  }
  flights_.erase(flight);
  if (source != nullptr) {
    const auto pause = kShortestPause * (1u << std::min(source->failures, 5u));
    source->retry_at = now + std::min<Time>(pause, kLongestPause);
    if (++source->failures % kFailing == 0 && alone_) ++*alone_;
  }
  book_.put(read.range, read.label);
}

}  // namespace swarm::routing

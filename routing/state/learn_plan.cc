#include "routing/state/learn_plan.h"

#include <algorithm>
#include <iterator>

#include "common/check.h"

namespace swarm::routing {
namespace {

using std::chrono::milliseconds;

constexpr Time kShortestPoll = milliseconds(20), kLongestPoll = milliseconds(1'000);
constexpr Time kShortestPause = milliseconds(200), kLongestPause = milliseconds(5'000);

}  // namespace

LearnPlan::LearnPlan(const LearnOptions& options) : options_(options), pace_(options.elements) {
  SWARM_CHECK(options.elements > 0 && options.range_elements > 0 && options.reads_in_flight > 0);
  labels_.resize((options.elements + options.range_elements - 1) / options.range_elements);
  for (size_t range = 0; range < labels_.size(); ++range) missing_.insert(range);
}

std::pair<uint64_t, uint64_t> LearnPlan::elements(size_t range) const {
  const uint64_t first = range * options_.range_elements;
  return {first, std::min(options_.range_elements, options_.elements - first)};
}

// -- what is held

void LearnPlan::put(size_t range, const std::optional<StateLabel>& label) {
  if (labels_[range]) held_elements_ -= elements(range).second;
  labels_[range] = label;
  if (label) {
    held_elements_ += elements(range).second;
    held_.emplace(*label, range);
  } else {
    missing_.insert(range);
  }
}

/// Out of the lines of what is not being read.
void LearnPlan::forget(size_t range) {
  missing_.erase(range);
  if (labels_[range]) held_.erase({*labels_[range], range});
}

void LearnPlan::hold(size_t range, const StateLabel& label) {
  forget(range);
  put(range, label);
}

void LearnPlan::start_anew() {
  flights_.clear();
  held_.clear();
  for (size_t range = 0; range < labels_.size(); ++range) {
    labels_[range].reset();
    missing_.insert(range);
  }
  held_elements_ = 0;
  for (auto& [id, source] : sources_) source.in_flight = 0;
  alone_ = alone_ ? *alone_ + 1 : 0;
}

std::optional<StateLabel> LearnPlan::whole() const {
  // What is only asked whether there is more, to no end so far, is held all the same.
  const auto polled = std::count_if(flights_.begin(), flights_.end(),
                                    [](const auto& flight) { return flight.second.polls; });
  if (held_.size() + static_cast<size_t>(polled) != labels_.size()) return std::nullopt;
  const auto& label = labels_.front();
  const auto of_another = [&](const auto& one) {
    const auto& newest = one.second.newest;
    return newest &&
           (newest->step > label->step || (newest->step == label->step && *newest != *label));
  };
  const bool one_label = std::all_of(labels_.begin(), labels_.end(),
                                     [&](const auto& other) { return other && other == label; });
  if (!one_label || std::any_of(sources_.begin(), sources_.end(), of_another)) return std::nullopt;
  return label;
}

void LearnPlan::end_polls() {
  for (auto it = flights_.begin(); it != flights_.end();) {
    const Flight flight = it->second;
    it = flight.polls ? flights_.erase(it) : std::next(it);
    if (flight.polls) put(flight.range, labels_[flight.range]);
  }
}

// -- who is asked

void LearnPlan::set_sources(const std::vector<PeerId>& sources, Step swarm_at) {
  std::map<PeerId, Source> now;
  for (const PeerId& id : sources) {
    Source& source = now[id];
    const auto before = sources_.find(id);
    if (before == sources_.end()) continue;
    source = before->second;
    source.heard = kNever;
  }
  sources_ = std::move(now);
  const bool went_back = swarm_at < swarm_at_;
  swarm_at_ = swarm_at;
  if (!went_back) return;
  for (auto& [id, source] : sources_) source.newest.reset();
  for (auto it = held_.begin(); it != held_.end();) {
    const auto [label, range] = *it++;
    if (label.step <= swarm_at) continue;
    forget(range);
    put(range, std::nullopt);
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

Time LearnPlan::poll_every() const {
  const auto eighth = std::chrono::duration_cast<Time>(
      std::chrono::duration<double>(std::min(pace_.step_s(), 8.0) / 8));
  return std::clamp(eighth, kShortestPoll, kLongestPoll);
}

bool LearnPlan::may_ask(const PeerId& id, const Source& source, Time now) const {
  if (source.in_flight >= options_.reads_in_flight || now < source.retry_at) return false;
  if (!alone_) return true;
  return id ==
         std::next(sources_.begin(), static_cast<std::ptrdiff_t>(*alone_ % sources_.size()))->first;
}

/// A range that this source can bring on; the oldest first.
std::optional<size_t> LearnPlan::behind(const Source& source) const {
  if (held_.empty() || !source.newest) return std::nullopt;
  for (const auto& [label, range] : {*held_.begin(), *held_.rbegin()}) {
    const bool of_another = label.step == source.newest->step && label != *source.newest;
    if (label.step < source.newest->step || of_another) return range;
  }
  return std::nullopt;
}

bool LearnPlan::asked_long_ago(const Source& source, Time now) const {
  return source.in_flight == 0 && (source.heard == kNever || now >= source.heard + poll_every());
}

std::optional<LearnPlan::Flight> LearnPlan::next_range(const Source& source, Time now) const {
  if (auto range = behind(source)) return Flight{*range, false};
  if (!missing_.empty() && now >= next_state_) return Flight{*missing_.begin(), false};
  if (!held_.empty() && asked_long_ago(source, now)) return Flight{held_.begin()->second, true};
  return std::nullopt;
}

LearnRead LearnPlan::take(const PeerId& id, Source& source, const Flight& flight, Time now) {
  forget(flight.range);
  ++source.in_flight;
  const auto [first, count] = elements(flight.range);
  LearnRead read{id, flight.range, first, count, labels_[flight.range], next_number_++};
  flights_[read.number] = flight;
  if (!read.label) spend(count, now);
  return read;
}

/// Of what options_.state_bytes_per_s allows.
void LearnPlan::spend(uint64_t elements, Time now) {
  if (options_.state_bytes_per_s <= 0) return;
  const double bytes = static_cast<double>(elements * options_.bytes_per_element);
  const std::chrono::duration<double> takes(bytes / options_.state_bytes_per_s);
  next_state_ = std::max(next_state_, now) + std::chrono::duration_cast<Time>(takes);
}

void LearnPlan::measure(Time now) {
  const bool any = std::any_of(flights_.begin(), flights_.end(),
                               [](const auto& flight) { return !flight.second.polls; });
  pace_.busy(any, now);
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
  measure(now);
  return out;
}

Time LearnPlan::look_again(Time now) const {
  if (now < rest_until_) return rest_until_;
  Time at = now + kLongestPoll;
  if (!missing_.empty() && next_state_ > now) at = std::min(at, next_state_);
  for (const auto& [id, source] : sources_) {
    if (source.retry_at > now) at = std::min(at, source.retry_at);
    if (source.in_flight == 0 && source.heard > now - poll_every())
      at = std::min(at, source.heard + poll_every());
  }
  return at;
}

// -- what came

/// Null: nobody waits for it, or its source is no longer one.
LearnPlan::Source* LearnPlan::landed(const LearnRead& read, Time now) {
  flights_.erase(read.number);
  measure(now);
  const auto source = sources_.find(read.source);
  if (source == sources_.end()) return nullptr;
  if (source->second.in_flight > 0) --source->second.in_flight;
  return &source->second;
}

void LearnPlan::answered(const LearnRead& read, const LearnAnswer& answer, Time now) {
  if (!awaits(read)) return;
  using What = LearnAnswer::What;
  if (answer.what == What::kState) pace_.received(read.count * options_.bytes_per_element);
  if (answer.what == What::kMean) pace_.received(read.count * sizeof(float));
  if (answer.what == What::kState && read.label) spend(read.count, now);
  pace_.newest(answer.newest.step, now);
  if (Source* source = landed(read, now)) {
    source->newest = answer.newest;
    source->heard = now;
    source->failures = 0;
  }
  put(read.range, answer.what == What::kNothing ? read.label : answer.label);
}

void LearnPlan::failed(const LearnRead& read, Time now) {
  if (!awaits(read)) return;
  if (Source* source = landed(read, now)) {
    const auto pause = kShortestPause * (1u << std::min(source->failures, 5u));
    source->retry_at = now + std::min<Time>(pause, kLongestPause);
    ++source->failures;
  }
  put(read.range, read.label);
}

}  // namespace swarm::routing

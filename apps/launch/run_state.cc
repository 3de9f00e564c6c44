#include "apps/launch/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "common/numbers.h"
#include "records/metrics.h"

namespace swarm::launch {

using records::Event;

bool RunState::take_metrics(const std::string& text) {
  const auto line = records::parse_metrics(text);
  if (!line || line->step < seen_.from_step) return false;
  ++closings_;
  nothing_common_.clear();
  if (!line->live_peers.empty()) latest_.live_peers = line->live_peers;
  if (!seen_.insert(line->step)) return false;
  if (line->validation_loss) latest_.validation_loss = line->validation_loss;
  if (line->train_loss) {
    latest_.train_loss = line->train_loss;
    steps_closed_ = std::max(steps_closed_, line->step + 1);
    if (line->time_s) rate_.closed(*line->time_s, line->tokens);
  }
  tokens_ = std::max(tokens_, line->tokens);
  if (line->tokens_per_second) latest_.tokens_per_second = line->tokens_per_second;
  return true;
}

void RunState::nothing_new_before_known() {
  seen_.from_s = seen_.oldest_s;
  if (seen_.below > 0 || seen_.steps.empty()) return;
  seen_.from_step = seen_.below = *seen_.steps.begin();
  seen_.close_gap();
}

bool RunState::Seen::insert(uint64_t step) {
  if (step < below || !steps.insert(step).second) return false;
  close_gap();
  return true;
}

void RunState::Seen::close_gap() {
  for (; !steps.empty() && *steps.begin() == below; ++below) steps.erase(steps.begin());
}

bool RunState::take_event(const std::string& line) {
  const auto event = records::parse_event(line);
  if (!event || (seen_.from_s && event->time_s < *seen_.from_s)) return false;
  if (!seen_.events.insert(std::hash<std::string>{}(line)).second) return false;
  seen_.oldest_s = std::min(seen_.oldest_s.value_or(event->time_s), event->time_s);
  ++events_[event->name];
  if (const auto repeated = event->as<records::Repeated>())
    events_[repeated->name] += repeated->times;
  if (event->is<records::RunResumed>()) rate_.resumed(event->time_s);
  take_end(*event);
  take_schedule(*event);
  take_progress(*event);
  if (const auto coordinator = event->as<records::CoordinatorActive>();
      coordinator && coordinator->term >= term_) {
    term_ = coordinator->term;
    coordinator_ = event->node;
  }
  return true;
}

void RunState::take_end(const Event& event) {
  finished_ |= event.is<records::RunFinished>();
  if (const auto end = event.as<records::RunFinished>())
    not_durable_ = end->not_durable.value_or("");
  diverged_ |= event.is<records::Diverged>();
  if (const auto cannot = event.as<records::CannotGoOn>()) nothing_common_ = cannot->error.detail;
  if (event.is<records::Recovered>()) nothing_common_.clear();
  if (event.is<records::Diverged>() || event.is<records::CannotGoOn>() ||
      event.is<records::AttemptFailed>() || event.is<records::ProcessLost>() ||
      event.is<records::Minority>())
    last_trouble_ = text(event);
}

void RunState::take_schedule(const Event& event) {
  std::optional<uint64_t> chaos;
  if (const auto act = event.as<records::TimelineAct>()) timeline_done_.insert(act->index);
  if (const auto act = event.as<records::ChaosAct>()) chaos = act->index;
  if (const auto spared = event.as<records::ChaosSpared>()) chaos = spared->index;
  if (chaos) chaos_done_ = std::max<size_t>(chaos_done_, *chaos + 1);
}

/// A step that is done again and again gets no further than it was, nor does a node that begins again.
void RunState::take_progress(const Event& event) {
  if (event.is<records::ProcessStarted>() && going_.begun.insert(event.node).second) ++going_.moved;
  const auto goes_on = event.as<records::StepGoesOn>();
  if (!goes_on) return;
  ++going_.moved;
  const auto at = std::make_pair(event.step, uint64_t{goes_on->slots_done});
  if (goes_on->slots_done == 0 || at <= std::make_pair(going_.step, going_.slots_done)) return;
  std::tie(going_.step, going_.slots_done) = at;
  ++going_.done;
}

uint64_t RunState::recoveries() const {
  uint64_t count = 0;
  for (const char* name : {records::Recovered::kInfo.name, records::Restored::kInfo.name})
    if (const auto found = events_.find(name); found != events_.end()) count += found->second;
  return count;
}

std::string RunState::progress() const {
  std::string out = fmt::format("step {}/{}", steps_closed_, steps_);
  out += "  loss " + (latest_.train_loss ? fixed(*latest_.train_loss, 3) : std::string("-"));
  if (latest_.validation_loss) out += "  validation " + fixed(*latest_.validation_loss, 3);
  out += "  " +
         (latest_.tokens_per_second ? fixed(*latest_.tokens_per_second, 0) : std::string("-")) +
         " tokens/s  peers";
  for (size_t stage = 0; stage < num_stages_; ++stage)
    out +=
        " " + (stage < latest_.live_peers.size() ? std::to_string(latest_.live_peers[stage]) : "-");
  return out;
}

}  // namespace swarm::launch

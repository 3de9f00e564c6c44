#include "apps/launch/run_state.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "common/detail_word.h"
#include "records/event.h"

namespace swarm::launch {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Json> parse_object(const std::string& line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

std::optional<double> number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t integer(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : -1;
}

std::string fixed(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

}  // namespace

std::string EventLine::json() const {
  Json line;
  line["time"] = std::round(time_s * 1000) / 1000;
  line["event"] = event;
  line["node"] = node;
  if (stage >= 0) line["stage"] = stage;
  if (step >= 0) line["step"] = step;
  if (!detail.empty()) line["detail"] = detail;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string EventLine::text() const {
  std::string out = node + ": " + event;
  if (stage >= 0) out += " stage=" + std::to_string(stage);
  if (step >= 0) out += " step=" + std::to_string(step);
  if (!detail.empty()) out += " " + detail;
  return out;
}

bool EventLine::has_action(const std::string& action) const {
  return (event == "timeline" || event == "chaos") && detail_word(detail, "action") == action;
}

std::optional<EventLine> parse_event(const std::string& line) {
  const auto json = parse_object(line);
  if (!json) return std::nullopt;
  EventLine out;
  out.event = text_of(*json, "event");
  if (out.event.empty()) return std::nullopt;
  out.time_s = number(*json, "time").value_or(0);
  out.node = text_of(*json, "node");
  out.detail = text_of(*json, "detail");
  if (const auto event = records::parse_event(line); event && out.detail.empty())
    out.detail = records::text(event->fields);
  out.stage = integer(*json, "stage");
  out.step = integer(*json, "step");
  return out;
}

bool RunState::take_metrics(const std::string& line) {
  const auto json = parse_object(line);
  if (!json) return false;
  const int64_t step = integer(*json, "step");
  if (step < 0) return false;
  ++closings_;
  if (const auto peers = json->find("live_peers"); peers != json->end() && peers->is_array()) {
    live_peers_.clear();
    for (const auto& count : *peers)
      live_peers_.push_back(count.is_number_integer() ? count.get<int64_t>() : -1);
  }
  if (!seen_steps_.insert(static_cast<uint64_t>(step)).second) return false;
  if (const auto loss = number(*json, "train_loss")) {
    train_loss_ = loss;
    steps_closed_ = std::max(steps_closed_, static_cast<uint64_t>(step) + 1);
  }
  if (const auto loss = number(*json, "validation_loss")) validation_loss_ = loss;
  if (const int64_t tokens = integer(*json, "tokens"); tokens > 0)
    tokens_ = std::max(tokens_, static_cast<uint64_t>(tokens));
  if (const double rate = number(*json, "tokens_per_second").value_or(0); rate > 0) {
    last_tokens_per_second_ = rate;
    const bool warm = step > 0 || steps_ == 1;  // the first step warms allocators and links up
    const double seconds = warm ? number(*json, "seconds").value_or(0) : 0;
    trained_seconds_ += seconds;
    trained_tokens_ += seconds * rate;
  }
  return true;
}

bool RunState::take_event(const std::string& line) {
  const auto event = parse_event(line);
  if (!event || !seen_events_.insert(std::hash<std::string>{}(line)).second) return false;
  ++events_[event->event];
  if (event->event == "finished") finished_ = true;
  if (event->event == "diverged") diverged_ = true;
  if (event->event == "diverged" || event->event == "cannot_go_on" ||
      event->event == "attempt_failed" || event->event == "process_lost")
    last_trouble_ = event->text();
  if (event->event == "coordinator") take_coordinator(*event);
  if (const std::string word = detail_word(event->detail, "index"); !word.empty()) {
    const size_t index = std::strtoul(word.c_str(), nullptr, 10);
    if (event->event == "timeline") timeline_done_.insert(index);
    if (event->event == "chaos" || event->event == "chaos_spared")
      chaos_done_ = std::max(chaos_done_, index + 1);
  }
  return true;
}

void RunState::take_coordinator(const EventLine& event) {
  const bool has_term = event.detail.rfind("term=", 0) == 0;
  const uint64_t term = has_term ? std::strtoull(event.detail.c_str() + 5, nullptr, 10) : 0;
  if (term < term_) return;
  term_ = term;
  coordinator_ = event.node;
}

double RunState::tokens_per_second() const {
  return trained_seconds_ > 0 ? trained_tokens_ / trained_seconds_ : 0;
}

uint64_t RunState::recoveries() const {
  uint64_t count = 0;
  for (const char* name : {"recovered", "restored"})
    if (const auto found = events_.find(name); found != events_.end()) count += found->second;
  return count;
}

std::string RunState::progress() const {
  std::string out = "step " + std::to_string(steps_closed_) + "/" + std::to_string(steps_);
  out += "  loss " + (train_loss_ ? fixed("%.3f", *train_loss_) : std::string("-"));
  if (validation_loss_) out += "  validation " + fixed("%.3f", *validation_loss_);
  out += "  " + fixed("%.0f", last_tokens_per_second_) + " tokens/s  peers";
  for (size_t stage = 0; stage < num_stages_; ++stage)
    out += " " + (stage < live_peers_.size() ? std::to_string(live_peers_[stage]) : "-");
  return out;
}

}  // namespace swarm::launch

#include "apps/bench/figures/bench_failover_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "common/numbers.h"
#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {
namespace {

using records::Event;

void keep_first(std::optional<double>& place, double value) {
  if (!place) place = value;
}

/// What the timeline did to a node; empty for other events.
std::string action_of(const Event& event) {
  const auto act = event.as<records::TimelineAct>();
  return act ? act->action : std::string();
}

void take_rerouted(Blow& blow, const Event& event, const records::Rerouted& rerouted) {
  ++blow.rerouted;
  keep_first(blow.seen_s, event.time_s - blow.at_s);
  if (rerouted.error.code != ErrorCode::kPeerTimeout) return;
  blow.deadline_s = std::max(blow.deadline_s.value_or(0), rerouted.waited.count() / 1000);
}

/// Takes in what happened between this blow and the next one, in the order of time.
/// `back_at_s`: when the struck peer was started or continued; 0: not yet.
void take(Blow& blow, double& back_at_s, const Event& event) {
  if (event.node == blow.node) {
    const std::string action = action_of(event);
    if ((action == "start" || action == "resume") && back_at_s == 0) back_at_s = event.time_s;
    const bool serves = event.is<records::Joined>() || event.is<records::Resumed>();
    if (back_at_s > 0 && serves) keep_first(blow.again_s, event.time_s - back_at_s);
  }
  if (const auto rerouted = event.as<records::Rerouted>(); rerouted && rerouted->peer == blow.node)
    take_rerouted(blow, event, *rerouted);
  if (const auto served = event.as<records::ReroutedServed>(); served && served->peer == blow.node)
    keep_first(blow.served_s, event.time_s - blow.at_s);
}

using Member = std::optional<double> Blow::*;

std::vector<double> values(const std::vector<Blow>& blows, bool kill, Member member) {
  std::vector<double> out;
  for (const auto& blow : blows)
    if (blow.kill == kill && blow.*member) out.push_back(*(blow.*member));
  return out;
}

struct Column {
  const char* name;
  Member member;
};
const Column kColumns[] = {{"seen", &Blow::seen_s},
                           {"served", &Blow::served_s},
                           {"step", &Blow::step_s},
                           {"again", &Blow::again_s},
                           {"deadline", &Blow::deadline_s}};

std::string summary(const std::vector<double>& seconds) {
  if (seconds.empty()) return "-";
  return fmt::format("{} / {} ({})", fixed(median(seconds), 3), fixed(quantile(seconds, 1), 3),
                     seconds.size());
}

}  // namespace

std::vector<config::TimelineEvent> failover_timeline(const FailoverPlan& plan,
                                                     const std::vector<std::string>& nodes) {
  using config::TimelineAction;
  std::mt19937_64 random(plan.seed);
  std::vector<config::TimelineEvent> timeline;
  for (int i = 0; i < plan.kills + plan.pauses; ++i) {
    const bool kill = i < plan.kills;
    config::TimelineEvent event;
    event.node = nodes[random() % nodes.size()];
    event.at_second = plan.start_s + plan.gap_s * i + static_cast<double>(random() % 2'000) / 1000;
    event.action = kill ? TimelineAction::kKill : TimelineAction::kPause;
    timeline.push_back(event);
    event.at_second += kill ? plan.kill_back_s : plan.pause_back_s;
    event.action = kill ? TimelineAction::kStart : TimelineAction::kResume;
    timeline.push_back(event);
  }
  return timeline;
}

std::vector<Blow> find_blows(std::vector<Event> events, const std::vector<double>& step_times) {
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time_s < b.time_s; });
  std::vector<Blow> blows;
  double back_at_s = 0;
  for (const auto& event : events) {
    const std::string action = action_of(event);
    if (action == "kill" || action == "pause") {
      Blow blow;
      blow.kill = action == "kill";
      blow.node = event.node;
      blow.at_s = event.time_s;
      const auto next = std::upper_bound(step_times.begin(), step_times.end(), event.time_s);
      if (next != step_times.end()) blow.step_s = *next - event.time_s;
      blows.push_back(blow);
      back_at_s = 0;
    } else if (!blows.empty()) {
      take(blows.back(), back_at_s, event);
    }
  }
  return blows;
}

std::string failover_table(const std::vector<Blow>& blows) {
  TextTable table({"median / max [s] (count)", "kill -9", "SIGSTOP"});
  const char* const meanings[] = {"a sender gave up on the peer", "a replacement's reply is there",
                                  "the next step closed", "the peer serves again after its return",
                                  "deadline in force"};
  for (size_t i = 0; i < std::size(kColumns); ++i)
    table.add({meanings[i], summary(values(blows, true, kColumns[i].member)),
               summary(values(blows, false, kColumns[i].member))});
  auto count = [&](bool kill) {
    return std::to_string(std::count_if(blows.begin(), blows.end(),
                                        [&](const Blow& blow) { return blow.kill == kill; }));
  };
  table.add({"blows", count(true), count(false)});
  return table.text();
}

std::string failover_json(const std::vector<Blow>& blows) {
  auto list = nlohmann::json::array();
  for (const auto& blow : blows) {
    nlohmann::json entry{{"action", blow.kill ? "kill" : "pause"},
                         {"node", blow.node},
                         {"time", blow.at_s},
                         {"rerouted", blow.rerouted}};
    for (const auto& column : kColumns)
      if (blow.*column.member) entry[std::string(column.name) + "_s"] = *(blow.*column.member);
    list.push_back(std::move(entry));
  }
  nlohmann::json medians;
  for (bool kill : {true, false})
    for (const auto& column : kColumns) {
      const auto all = values(blows, kill, column.member);
      if (!all.empty())
        medians[kill ? "kill" : "pause"][column.name] = {{"median_s", median(all)},
                                                         {"max_s", quantile(all, 1)}};
    }
  return nlohmann::json{{"failover", medians}, {"blows", list}}.dump(2) + "\n";
}

}  // namespace swarm::apps

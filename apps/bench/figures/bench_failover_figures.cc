#include "apps/bench/figures/bench_failover_figures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "common/detail_word.h"
#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {
namespace {

using launch::EventLine;

void keep_first(std::optional<double>& place, double value) {
  if (!place) place = value;
}

/// Takes in what happened between this blow and the next one, in the order of time.
/// `back_at_s`: when the struck peer was started or continued; 0: not yet.
void take(Blow& blow, double& back_at_s, const EventLine& event) {
  const double since = event.time_s - blow.at_s;
  const std::string action =
      event.event == "timeline" ? detail_word(event.detail, "action") : std::string();
  if (event.node == blow.node && (action == "start" || action == "resume")) {
    if (back_at_s == 0) back_at_s = event.time_s;
  } else if (event.node == blow.node && back_at_s > 0 &&
             (event.event == "joined" || event.event == "resumed")) {
    keep_first(blow.again_s, event.time_s - back_at_s);
  } else if (event.event == "rerouted" && detail_word(event.detail, "peer") == blow.node) {
    ++blow.rerouted;
    keep_first(blow.seen_s, since);
    if (detail_word(event.detail, "error") != "peer_timeout") return;
    const double waited = std::atof(detail_word(event.detail, "waited_ms").c_str()) / 1000;
    blow.deadline_s = std::max(blow.deadline_s.value_or(0), waited);
  } else if (event.event == "rerouted_served" && detail_word(event.detail, "peer") == blow.node) {
    keep_first(blow.served_s, since);
  }
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
  char text[64];
  std::snprintf(text, sizeof text, "%.3f / %.3f (%zu)", median(seconds), quantile(seconds, 1),
                seconds.size());
  return text;
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

std::vector<Blow> find_blows(std::vector<EventLine> events, const std::vector<double>& step_times) {
  std::stable_sort(events.begin(), events.end(),
                   [](const EventLine& a, const EventLine& b) { return a.time_s < b.time_s; });
  std::vector<Blow> blows;
  double back_at_s = 0;
  for (const auto& event : events) {
    const std::string action =
        event.event == "timeline" ? detail_word(event.detail, "action") : std::string();
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

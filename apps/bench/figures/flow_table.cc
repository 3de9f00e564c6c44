#include "apps/bench/figures/flow_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace swarm::apps {
namespace {

constexpr size_t kStages = 4;
constexpr double kSlow = 4;
constexpr double kFar_s = 0.05;  // one way

std::vector<std::vector<FlowPeer>> even(size_t peers, double compute_s) {
  FlowPeer peer;
  peer.compute_s = compute_s;
  return {kStages, std::vector<FlowPeer>(peers, peer)};
}

void slow_link(FlowPeer& peer) { peer.up_s = kSlow * peer.compute_s; }
void slow_computer(FlowPeer& peer) { peer.compute_s *= kSlow; }

using Change = std::function<void(FlowPeer&)>;
using Place = std::pair<size_t, size_t>;  // stage, peer

struct Row {
  const char* name;
  std::vector<std::pair<Place, Change>> changes;
};

std::vector<Row> rows(size_t peers) {
  std::vector<Row> all = {
      {"one slow link", {{{1, 0}, slow_link}}},
      {"one slow computer", {{{2, 0}, slow_computer}}},
      {"a slow link, a slow computer", {{{1, 0}, slow_link}, {{2, 0}, slow_computer}}},
      {"one machine with both", {{{1, 0}, slow_link}, {{1, 0}, slow_computer}}},
  };
  Row each{"one of each in every stage", {}};
  for (size_t stage = 0; stage < kStages && peers > 2; ++stage) {
    each.changes.push_back({{stage, 0}, slow_link});
    each.changes.push_back({{stage, 1}, slow_computer});
  }
  if (peers > 2) all.push_back(std::move(each));
  return all;
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

const char* mode_name(bool asynchronous) { return asynchronous ? "asynchronous" : "synchronous"; }

/// The bars of a ShareCase.
constexpr double kOfCapacity = 0.9, kOfWithout = 0.95, kShare = 0.3, kFarShare = 0.1;

struct ShareLine {
  std::string scenario, mode, cost;
  size_t peers = 0;
  FlowResult result;
  std::optional<FlowResult> without;
  bool judged = false, met = true;

  /// 1 where no machine is slow.
  double of_without() const { return without ? ratio(result.carried, without->carried) : 1; }
};

bool machine_was_free(const FlowResult& result) {
  return !result.machine || result.machine->cpu <= kMostCpu;
}

const char* verdict(bool judged, bool met, const FlowResult& result) {
  if (!judged) return "";
  if (met) return "met";
  return machine_was_free(result) ? "NOT MET" : "NOT JUDGED";
}

std::string loss_text(const FlowResult& result) {
  return result.machine && result.machine->loss ? fmt::format("{:.3f}", *result.machine->loss)
                                                : "-";
}

/// Ends a line of figures that were measured with processes.
std::string machine_text(const FlowResult& result, const std::optional<FlowResult>& without) {
  if (!result.machine) return "";
  return fmt::format(" {:5.2f} {:>7} {:>7}", result.machine->cpu, loss_text(result),
                     without ? loss_text(*without) : "-");
}
std::string machine_json(const FlowResult& result, const std::optional<FlowResult>& without) {
  if (!result.machine) return "";
  const auto loss = [](const FlowResult& of) {
    return of.machine && of.machine->loss ? loss_text(of) : std::string("null");
  };
  return fmt::format(R"(,"cpu":{:.3f},"loss":{},"loss_without":{})", result.machine->cpu,
                     loss(result), without ? loss(*without) : "null");
}

std::string text(const ShareLine& line, bool json) {
  const auto& result = line.result;
  if (json)
    return fmt::format(
        R"({{"scenario":"{}","mode":"{}","peers":{},"cost":"{}","per_s":{:.3f},"of_bound":{:.3f},)"
        R"("of_capacity":{:.3f},"of_without":{:.3f},"worst_share":{:.3f},"met":{}{}}})",
        line.scenario, line.mode, line.peers, line.cost, result.carried, result.of_bound(),
        result.of_capacity(), line.of_without(), result.worst_share(), line.met,
        machine_json(result, line.without));
  return fmt::format("{:30} {:12} {:>5}  {:10} {:8.2f} {:8.3f} {:8.3f} {:8.3f} {:8.3f}{}  {}",
                     line.scenario, line.mode, line.peers, line.cost, result.carried,
                     result.of_capacity(), result.of_bound(), line.of_without(),
                     result.worst_share(), machine_text(result, line.without),
                     verdict(line.judged, line.met, result));
}

/// What one peer could carry, and carries, in microbatches/s.
std::string text(const FlowResult::Peer& peer) {
  return fmt::format("  {:12} {:8.2f} of {:8.2f}, share {:.3f}, of its capacity {:.3f}", peer.name,
                     peer.carried, peer.capacity, peer.share, peer.fair);
}

void print_peers(const FlowResult& result, const Print& print) {
  for (const auto& stage : result.stages)
    for (const auto& peer : stage) print(text(peer));
  if (result.machine) print("  the run is in " + result.machine->folder);
}

/// Where a word begins: "synchronous" is not in "asynchronous".
bool has(const std::string& name, const std::string& part) {
  return part.empty() || (" " + name).find(" " + part) != std::string::npos;
}

/// With what the options say of every scenario.
FlowScenario adapted(FlowScenario scenario, const FlowTableOptions& options) {
  scenario.seed = options.seed;
  scenario.settle_s = options.settle_s.value_or(scenario.settle_s);
  scenario.measured_s = options.measured_s.value_or(scenario.measured_s);
  return scenario;
}

Result<ShareLine> measure(const ShareCase& one, routing::WiringCost cost,
                          const std::optional<FlowResult>& without,
                          const FlowTableOptions& options) {
  ShareLine line;
  line.scenario = one.with.name;
  line.mode = mode_name(one.with.asynchronous);
  line.peers = one.with.stages.front().size();
  line.cost = routing::wiring_cost_names()[static_cast<size_t>(cost)];
  FlowScenario scenario = adapted(one.with, options);
  scenario.cost = cost;
  auto result = options.measure(scenario);
  if (!result) return result.error();
  line.result = std::move(*result);
  line.without = without;
  line.judged = cost == options.costs.front();
  line.met = machine_was_free(line.result) && line.result.of_capacity() >= kOfCapacity &&
             line.of_without() >= kOfWithout &&
             line.result.worst_share() <= (one.has_slow ? kShare : kFarShare);
  return line;
}

/// All costs of one scenario; how many of them were judged and did not meet their bar.
int measure_case(const ShareCase& one, const FlowTableOptions& options, const Print& print) {
  std::optional<FlowResult> without;
  if (one.has_slow) {
    auto result = options.measure(adapted(one.without, options));
    if (!result) {
      print(one.with.name + ", without the slow machines: " + to_string(result.error()));
      return 1;
    }
    without = std::move(*result);
    if (options.peers && !options.json) {
      print(fmt::format("{}, without the slow machines: {:.2f} per s, of capacity {:.3f}{}",
                        one.with.name, without->carried, without->of_capacity(),
                        machine_text(*without, std::nullopt)));
      print_peers(*without, print);
    }
  }
  int missed = 0;
  for (const auto cost : options.costs) {
    const auto line = measure(one, cost, without, options);
    if (!line) {
      print(one.with.name + ": " + to_string(line.error()));
      ++missed;
      continue;
    }
    missed += line->judged && !line->met ? 1 : 0;
    print(text(*line, options.json));
    if (options.peers && !options.json) print_peers(line->result, print);
  }
  return missed;
}

std::string utilisation_text(const FlowScenario& scenario, const FlowResult& result, bool met,
                             bool json) {
  if (json)
    return fmt::format(R"({{"scenario":"{}","per_s":{:.3f},"of_bound":{:.3f},"met":{}{}}})",
                       scenario.name, result.carried, result.of_bound(), met,
                       machine_json(result, std::nullopt));
  return fmt::format("{:36} {:8.2f} {:8.2f} {:8.3f}{}  {}", scenario.name, result.carried,
                     result.bound, result.of_bound(), machine_text(result, std::nullopt),
                     verdict(true, met, result));
}

}  // namespace

std::vector<ShareCase> share_cases(size_t peers, bool asynchronous, double compute_s) {
  std::vector<ShareCase> cases;
  FlowScenario base;
  base.asynchronous = asynchronous;
  for (const Row& row : rows(peers)) {
    ShareCase one;
    one.with = base;
    one.with.name = row.name;
    one.with.stages = even(peers, compute_s);
    one.without = one.with;
    for (const auto& [place, change] : row.changes) {
      change(one.with.stages[place.first][place.second]);
      one.without.stages[place.first][place.second].absent = true;
    }
    cases.push_back(std::move(one));
  }
  ShareCase far;
  far.with = base;
  far.with.name = "one of each stage 100 ms away";
  far.with.stages = even(peers, compute_s);
  for (auto& stage : far.with.stages) stage.front().away_s = kFar_s;
  far.without = far.with;
  far.has_slow = false;
  cases.push_back(std::move(far));
  return cases;
}

FlowScenario utilisation(double transfer, double round_trip_s, double compute_s) {
  FlowScenario scenario;
  scenario.name =
      fmt::format("transfer {:.2f}, round trip {:.0f} ms", transfer, 1e3 * round_trip_s);
  FlowPeer peer;
  peer.compute_s = compute_s;
  peer.up_s = peer.down_s = transfer * peer.compute_s;
  scenario.stages.assign(kStages, std::vector<FlowPeer>(2, peer));
  scenario.way_s = round_trip_s / 2;
  scenario.settle_s = 120;
  scenario.measured_s = 240;
  return scenario;
}

int shares_table(const FlowTableOptions& options, const Print& print) {
  if (!options.json)
    print(fmt::format("{:30} {:12} {:>5}  {:10} {:>8} {:>8} {:>8} {:>8} {:>8}", "scenario", "mode",
                      "peers", "cost", "per s", "of cap.", "of bound", "of w/o", "worst"));
  int missed = 0;
  for (const bool asynchronous : {true, false})
    for (const size_t peers : {2, 4}) {
      const auto cases = options.compute_s ? share_cases(peers, asynchronous, *options.compute_s)
                                           : share_cases(peers, asynchronous);
      for (const ShareCase& one : cases) {
        const auto name = fmt::format("{} {} {}", mode_name(asynchronous), peers, one.with.name);
        if (has(name, options.only)) missed += measure_case(one, options, print);
      }
    }
  return missed;
}

int utilisation_table(const FlowTableOptions& options, const Print& print) {
  if (!options.json)
    print(fmt::format("{:36} {:>8} {:>8} {:>8}", "scenario", "per s", "bound", "of bound"));
  int missed = 0;
  for (const double transfer : {0.12, 0.22, 2.1})
    for (const double round_trip_s : {0.0, 0.05, 0.1, 0.2}) {
      const FlowScenario scenario =
          adapted(options.compute_s ? utilisation(transfer, round_trip_s, *options.compute_s)
                                    : utilisation(transfer, round_trip_s),
                  options);
      if (!has(scenario.name, options.only)) continue;
      const auto result = options.measure(scenario);
      if (!result) print(scenario.name + ": " + to_string(result.error()));
      const bool met =
          result && machine_was_free(*result) && result->of_bound() >= (transfer > 1 ? 0.9 : 0.95);
      missed += met ? 0 : 1;
      if (result) print(utilisation_text(scenario, *result, met, options.json));
    }
  return missed;
}

}  // namespace swarm::apps

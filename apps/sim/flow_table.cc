#include "apps/sim/flow_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace swarm::sim {
namespace {

constexpr size_t kStages = 4;
constexpr double kCompute_s = 0.1, kSlow = 4;
constexpr double kFar_s = 0.05;  // one way

std::vector<std::vector<FlowPeer>> even(size_t peers) {
  FlowPeer peer;
  peer.compute_s = kCompute_s;
  return {kStages, std::vector<FlowPeer>(peers, peer)};
}

void slow_link(FlowPeer& peer) { peer.up_s = kSlow * kCompute_s; }
void slow_computer(FlowPeer& peer) { peer.compute_s = kSlow * kCompute_s; }

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
  double without = 0;  // microbatches/s
  bool judged = false, met = true;
};

std::string text(const ShareLine& line, bool json) {
  const auto& result = line.result;
  if (json)
    return fmt::format(
        R"({{"scenario":"{}","mode":"{}","peers":{},"cost":"{}","per_s":{:.3f},"of_bound":{:.3f},)"
        R"("of_capacity":{:.3f},"of_without":{:.3f},"worst_share":{:.3f},"met":{}}})",
        line.scenario, line.mode, line.peers, line.cost, result.carried, result.of_bound(),
        result.of_capacity(), ratio(result.carried, line.without), result.worst_share(), line.met);
  return fmt::format("{:30} {:12} {:>5}  {:10} {:8.2f} {:8.3f} {:8.3f} {:8.3f} {:8.3f}  {}",
                     line.scenario, line.mode, line.peers, line.cost, result.carried,
                     result.of_capacity(), result.of_bound(), ratio(result.carried, line.without),
                     result.worst_share(),
                     !line.judged ? ""
                     : line.met   ? "met"
                                  : "NOT MET");
}

/// What one peer could carry, and carries, in microbatches/s.
std::string text(const FlowResult::Peer& peer) {
  return fmt::format("  {:12} {:8.2f} of {:8.2f}, share {:.3f}, of its capacity {:.3f}", peer.name,
                     peer.carried, peer.capacity, peer.share, peer.fair);
}

void print_peers(const FlowResult& result, const Print& print) {
  for (const auto& stage : result.stages)
    for (const auto& peer : stage) print(text(peer));
}

/// Where a word begins: "synchronous" is not in "asynchronous".
bool has(const std::string& name, const std::string& part) {
  return part.empty() || (" " + name).find(" " + part) != std::string::npos;
}

ShareLine measure(const ShareCase& one, routing::WiringCost cost, double without) {
  ShareLine line;
  line.scenario = one.with.name;
  line.mode = mode_name(one.with.asynchronous);
  line.peers = one.with.stages.front().size();
  line.cost = routing::wiring_cost_names()[static_cast<size_t>(cost)];
  FlowScenario scenario = one.with;
  scenario.cost = cost;
  line.result = run_flow(scenario);
  line.without = one.has_slow ? without : line.result.carried;
  line.judged = cost == routing::WiringCost::kOccupancy;
  line.met = line.result.of_capacity() >= kOfCapacity &&
             line.result.carried >= kOfWithout * line.without &&
             line.result.worst_share() <= (one.has_slow ? kShare : kFarShare);
  return line;
}

}  // namespace

std::vector<ShareCase> share_cases(size_t peers, bool asynchronous) {
  std::vector<ShareCase> cases;
  FlowScenario base;
  base.asynchronous = asynchronous;
  for (const Row& row : rows(peers)) {
    ShareCase one;
    one.with = base;
    one.with.name = row.name;
    one.with.stages = even(peers);
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
  far.with.stages = even(peers);
  for (auto& stage : far.with.stages) stage.front().away_s = kFar_s;
  far.without = far.with;
  far.has_slow = false;
  cases.push_back(std::move(far));
  return cases;
}

FlowScenario utilisation(double transfer, double round_trip_s) {
  FlowScenario scenario;
  scenario.name =
      fmt::format("transfer {:.2f}, round trip {:.0f} ms", transfer, 1e3 * round_trip_s);
  FlowPeer peer;
  peer.compute_s = 0.2;
  peer.up_s = peer.down_s = transfer * peer.compute_s;
  scenario.stages.assign(kStages, std::vector<FlowPeer>(2, peer));
  scenario.way_s = round_trip_s / 2;
  scenario.settle_s = 120;
  scenario.measured_s = 240;
  return scenario;
}

int shares_table(const FlowTableOptions& options, const Print& print) {
  using routing::WiringCost;
  std::vector<WiringCost> costs = {WiringCost::kOccupancy};
  if (options.others)
    costs.insert(costs.end(), {WiringCost::kResponse, WiringCost::kCompute, WiringCost::kRandom,
                               WiringCost::kFixed});
  if (!options.json)
    print(fmt::format("{:30} {:12} {:>5}  {:10} {:>8} {:>8} {:>8} {:>8} {:>8}", "scenario", "mode",
                      "peers", "cost", "per s", "of cap.", "of bound", "of w/o", "worst"));
  int missed = 0;
  for (const bool asynchronous : {true, false})
    for (const size_t peers : {2, 4})
      for (ShareCase one : share_cases(peers, asynchronous)) {
        const auto name = fmt::format("{} {} {}", mode_name(asynchronous), peers, one.with.name);
        if (!has(name, options.only)) continue;
        one.with.seed = one.without.seed = options.seed;
        const double without = one.has_slow ? run_flow(one.without).carried : 0;
        for (const WiringCost cost : costs) {
          const ShareLine line = measure(one, cost, without);
          missed += line.judged && !line.met ? 1 : 0;
          print(text(line, options.json));
          if (options.peers && !options.json) print_peers(line.result, print);
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
      FlowScenario scenario = utilisation(transfer, round_trip_s);
      if (!has(scenario.name, options.only)) continue;
      scenario.seed = options.seed;
      const FlowResult result = run_flow(scenario);
      const bool met = result.of_bound() >= (transfer > 1 ? 0.9 : 0.95);
      missed += met ? 0 : 1;
      print(
          options.json
              ? fmt::format(R"({{"transfer":{},"round_trip_s":{},"per_s":{:.3f},"of_bound":{:.3f},)"
                            R"("met":{}}})",
                            transfer, round_trip_s, result.carried, result.of_bound(), met)
              : fmt::format("{:36} {:8.2f} {:8.2f} {:8.3f}  {}", scenario.name, result.carried,
                            result.bound, result.of_bound(), met ? "met" : "NOT MET"));
    }
  return missed;
}

}  // namespace swarm::sim

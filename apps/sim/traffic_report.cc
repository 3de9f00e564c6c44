#include "apps/sim/traffic_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "actors/net/mail.h"

namespace swarm::sim {
namespace {

struct Flow {
  double messages = 0;
  double bytes = 0;
};

using Flows = std::map<NodeId, Flow>;

TrafficCount count_of(const TrafficCounts& counts, const NodeId& node, proto::MessageKind kind) {
  auto found = counts.find(node);
  if (found == counts.end()) return {};
  auto row = found->second.find(kind);
  return row == found->second.end() ? TrafficCount{} : row->second;
}

Flow flow_between(const TrafficMark& from, const TrafficMark& to, const NodeId& node,
                  proto::MessageKind kind) {
  const TrafficCount a = count_of(from.counts, node, kind), b = count_of(to.counts, node, kind);
  const double passed_s = to.at_s - from.at_s;
  return {static_cast<double>(b.sent + b.received - a.sent - a.received) / passed_s,
          static_cast<double>(b.sent_bytes + b.received_bytes - a.sent_bytes - a.received_bytes) /
              passed_s};
}

Flow mean(const Flows& flows) {
  Flow sum;
  for (const auto& [node, flow] : flows) {
    sum.messages += flow.messages;
    sum.bytes += flow.bytes;
  }
  const auto nodes = static_cast<double>(flows.size());
  return {sum.messages / nodes, sum.bytes / nodes};
}

/// "kind  mean messages, bytes  |  coordinator's  |  busiest's, by bytes, and its name"
std::string line(const std::string& label, const Flows& flows, const TrafficOptions& options) {
  const auto most = std::max_element(flows.begin(), flows.end(), [](const auto& a, const auto& b) {
    return a.second.bytes < b.second.bytes;
  });
  const Flow all = mean(flows);
  std::string text = fmt::format("  {:<22} {:>9.2f} {:>11.0f}", label, all.messages, all.bytes);
  const auto own = flows.find(options.coordinator);
  if (own != flows.end())
    text += fmt::format(" | {:>9.1f} {:>11.0f}", own->second.messages, own->second.bytes);
  return text + fmt::format(" | {:>9.1f} {:>11.0f} {}", most->second.messages, most->second.bytes,
                            options.names.at(most->first));
}

std::string links_line(const TrafficOptions& options) {
  size_t sum = 0;
  auto most = options.links.begin();
  for (auto it = options.links.begin(); it != options.links.end(); ++it) {
    sum += it->second;
    if (it->second > most->second) most = it;
  }
  if (most == options.links.end()) return "";
  return fmt::format("; links {:.1f} a node, most {} ({})",
                     static_cast<double>(sum) / static_cast<double>(options.links.size()),
                     most->second, options.names.at(most->first));
}

}  // namespace

NodeTraffic mean_traffic(const TrafficMark& from, const TrafficMark& to,
                         const TrafficOptions& options) {
  NodeTraffic sum;
  double nodes = 0;
  for (const auto& [node, name] : options.names) {
    if (node == options.coordinator) continue;
    for (const actors::MailKind& row : actors::mail_kinds()) {
      const Flow flow = flow_between(from, to, node, row.kind);
      sum.messages_per_s += flow.messages;
      sum.bytes_per_s += flow.bytes;
    }
    const auto links = options.links.find(node);
    sum.links += links == options.links.end() ? 0 : static_cast<double>(links->second);
    ++nodes;
  }
  return {sum.messages_per_s / nodes, sum.bytes_per_s / nodes, sum.links / nodes};
}

std::vector<std::string> traffic_lines(const std::string& what, const TrafficMark& from,
                                       const TrafficMark& to, const TrafficOptions& options) {
  std::vector<std::string> lines;
  const bool coordinated = options.names.count(options.coordinator) != 0;
  lines.push_back(fmt::format("traffic of {} nodes while {}, {:.1f} virtual seconds{}",
                              options.names.size(), what, to.at_s - from.at_s,
                              links_line(options)));
  lines.push_back(fmt::format("  {:<22} {:>21}{} | {:>21}", "messages and bytes/s", "a node",
                              coordinated ? fmt::format(" | {:>21}", "the coordinator") : "",
                              "the busiest"));
  Flows all;
  std::vector<std::pair<proto::MessageKind, Flows>> kinds;
  for (const actors::MailKind& row : actors::mail_kinds()) {
    Flows flows;
    for (const auto& [node, name] : options.names) {
      flows[node] = flow_between(from, to, node, row.kind);
      all[node].messages += flows[node].messages;
      all[node].bytes += flows[node].bytes;
    }
    if (mean(flows).messages > 0) kinds.emplace_back(row.kind, std::move(flows));
  }
  lines.push_back(line("all", all, options));
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return mean(a.second).bytes > mean(b.second).bytes;
  });
  for (const auto& [kind, flows] : kinds)
    lines.push_back(line(actors::kind_name(kind), flows, options));
  return lines;
}

}  // namespace swarm::sim

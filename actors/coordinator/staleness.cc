#include "actors/coordinator/staleness.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace swarm::actors {

void Staleness::add(uint64_t updates) {
  const size_t entry = std::min<uint64_t>(updates, kEntries - 1);
  if (histogram.size() <= entry) histogram.resize(entry + 1);
  ++histogram[entry];
  sum += updates;
  max = std::max(max, updates);
}

void Staleness::merge(const Staleness& other) {
  if (histogram.size() < other.histogram.size()) histogram.resize(other.histogram.size());
  for (size_t i = 0; i < other.histogram.size(); ++i) histogram[i] += other.histogram[i];
  sum += other.sum;
  max = std::max(max, other.max);
}

uint64_t Staleness::count() const {
  return std::accumulate(histogram.begin(), histogram.end(), uint64_t{0});
}

double Staleness::mean() const {
  const uint64_t all = count();
  return all == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(all);
}

std::string Staleness::text() const {
  std::ostringstream out;
  out << "mean " << mean() << " max " << max << " (";
  const char* blank = "";
  for (size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i] == 0) continue;
    out << blank << i << (i + 1 == kEntries ? "+" : "") << ":" << histogram[i];
    blank = " ";
  }
  return out.str() + ")";
}

Staleness Staleness::from(const proto::EndPeriodReply& reply) {
  Staleness out;
  const auto entries = std::min<size_t>(kEntries, static_cast<size_t>(reply.staleness_size()));
  out.histogram.assign(reply.staleness().begin(),
                       reply.staleness().begin() + static_cast<int>(entries));
  out.sum = reply.sum_staleness();
  out.max = reply.max_staleness();
  return out;
}

void Staleness::write(proto::EndPeriodReply& reply) const {
  for (uint64_t gradients : histogram) reply.add_staleness(gradients);
  reply.set_sum_staleness(sum);
  reply.set_max_staleness(max);
}

}  // namespace swarm::actors

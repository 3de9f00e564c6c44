#include "routing/dht/record_sample.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/mix.h"

namespace swarm::routing {

std::vector<StoredRecord> sample_for(const NodeId& reader, std::vector<StoredRecord> records,
                                     size_t most, double since_s) {
  if (most == 0 || records.size() <= most) return records;
  const std::string_view bytes(reinterpret_cast<const char*>(reader.bytes.data()),
                               reader.bytes.size());
  const uint64_t start = fnv1a(bytes);
  std::vector<std::tuple<bool, uint64_t, size_t>> places;  // of the rest, drawn, which record
  std::map<NodeId, size_t> own_of;                         // by giver: the first drawn
  for (size_t i = 0; i < records.size(); ++i) {
    const uint64_t drawn = mix(fnv1a(records[i].subkey, start));
    places.emplace_back(true, drawn, i);
    if (!records[i].first_hand || records[i].given_s < since_s) continue;
    const auto [own, fresh] = own_of.emplace(records[i].giver, i);
    if (!fresh && drawn < std::get<1>(places[own->second])) own->second = i;
  }
  for (const auto& [giver, i] : own_of) std::get<0>(places[i]) = false;
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(most),
                   places.end());
  std::vector<StoredRecord> chosen;
  for (size_t i = 0; i < most; ++i) chosen.push_back(std::move(records[std::get<2>(places[i])]));
  return chosen;
}

}  // namespace swarm::routing

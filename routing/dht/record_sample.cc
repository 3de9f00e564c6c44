#include "routing/dht/record_sample.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/mix.h"

namespace swarm::routing {

std::vector<StoredRecord> sample_for(const NodeId& reader, std::vector<StoredRecord> records,
                                     size_t most) {
  if (most == 0 || records.size() <= most) return records;
  const std::string_view bytes(reinterpret_cast<const char*>(reader.bytes.data()),
                               reader.bytes.size());
  const uint64_t start = fnv1a(bytes);
  std::vector<std::pair<uint64_t, size_t>> drawn;
  for (size_t i = 0; i < records.size(); ++i)
    drawn.emplace_back(mix(fnv1a(records[i].subkey, start)), i);
  std::nth_element(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(most), drawn.end());
  std::vector<StoredRecord> chosen;
  for (size_t i = 0; i < most; ++i) chosen.push_back(std::move(records[drawn[i].second]));
  return chosen;
}

}  // namespace swarm::routing

/// What `swarm bench dht` makes of its measurements. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::apps {

/// Of a swarm of one size, in virtual seconds.
struct DhtFigures {
  int nodes = 0;
  double round_trip_s = 0;      ///< The mean one between two nodes: the least that anything takes.
  std::vector<double> store_s;  ///< Until the first of the nearest nodes has it.
  std::vector<double> first_s;  ///< Reads of a name by a node that never asked for it.
  std::vector<double> again_s;  ///< The same read, later.
  double messages_per_s =
      0;  ///< Of a node, sent and received together, while all announce and read once a second.
  double bytes_per_s = 0;
  /// After the deaths: reads at once, those that ended, and how many records of living nodes they
  /// brought of all that they should.
  std::vector<double> after_s;
  int killed = 0;
  uint64_t found = 0, expected = 0;
};

/// A table for people and a JSON object {"dht": [...]}.
std::string dht_table(const std::vector<DhtFigures>& all);
std::string dht_json(const std::vector<DhtFigures>& all);

}  // namespace swarm::apps

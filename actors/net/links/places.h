/// Whether one more connection may come in from an address: nobody takes all places, and a part of them is kept
/// for hosts that are known. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "actors/net/links/conn.h"
#include "actors/net/options.h"

namespace swarm::actors::links {

/// Of an address, "host:port", as comparable as it can be without a look-up; empty: not known.
std::string host_of(const std::string& address);

/// The hosts from which somebody has proven the run's key; they are known for good. One owner.
class ProvenHosts {
 public:
  static constexpr size_t kMost = 1'024;  ///< The newest.
  void add(const std::string& host);
  bool has(const std::string& host) const;

 private:
  std::deque<std::string> hosts_;  // newest last
};

/// Who is there, as has_place() is told.
struct Doorway {
  const Conns& conns;
  const NodeTable& nodes;
  const ProvenHosts& proven;
};

/// `from`: "host:port" or empty. One host gets half of the places before the hello and half of all
/// connections; hosts that are not known get three quarters of either, which links that have proven the key take
/// nothing of. Known are those where somebody has proven it; if this node has none, those where a node is that
/// it knows.
bool has_place(const Doorway& door, const LinksOptions& options, const std::string& from);

}  // namespace swarm::actors::links

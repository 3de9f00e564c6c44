/// Asks other DHT nodes: single questions, and iterative lookups made of them. Belongs to one
/// DhtNode and runs in it; routing/dht/lookup.h decides whom to ask next.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/dht/dht_messages.h"
#include "actors/dht/dht_node.h"
#include "actors/net/mail.h"
#include "routing/dht/lookup.h"
#include "routing/dht/record_store.h"

namespace swarm::actors {

using lookup_limit_atom = caf::atom_constant<caf::atom("dhtlimit")>;

/// By subkey, of each the one that stands before all others seen (stands_before()).
using FoundRecords = std::map<std::string, routing::StoredRecord>;
void merge(FoundRecords& into, routing::StoredRecord record);

/// What a lookup asks for.
struct LookupWish {
  bool contacts_only = true;  ///< Records are not asked for.
  /// How many of the nearest must answer; 0: all k. Where those know nothing, all k are asked.
  size_t width = 0;
  uint32_t max_records = 0;  ///< Of each node; 0: all.
};

/// One iterative lookup under way.
struct Running {
  Running(routing::Lookup l, routing::DhtKey k) : lookup(std::move(l)), key(k) {}
  routing::Lookup lookup;
  routing::DhtKey key;
  LookupWish wish;
  bool over = false;
  bool aborted = false;  ///< The actor ends: answer kShuttingDown.
  FoundRecords records;
  std::function<void(Running&)> done;
};

/// What was found under `name`, for people.
std::string lookup_lines(const std::string& name, const Running& found, double now_s);

class DhtLookups {
 public:
  using Done = std::function<void(Running&)>;
  /// What its DhtNode knows and learns by asking.
  struct Contacts {
    std::function<std::vector<routing::Contact>(const routing::DhtKey&)> nearest;  ///< k at most.
    std::function<void(const routing::Contact&)> heard_from;
    std::function<void(const NodeId&)> lost;
  };

  /// Handles (lookup_limit_atom, id) with limit(id). `deps` outlives this.
  DhtLookups(caf::event_based_actor* self, const DhtDeps& deps, Contacts contacts);

  /// Looks `key` up and calls `done` once, at the latest after 10 request timeouts.
  void lookup(const routing::DhtKey& key, const LookupWish& wish, Done done);
  /// Sends `mail` to the dht of `contact`; exactly one of the callbacks runs. A contact that fails
  /// is reported as lost.
  void ask(const routing::Contact& contact, const Mail& mail, std::function<void(const Mail&)> ok,
           std::function<void()> failed);
  /// Sends `mail`; nobody waits for the answer.
  void tell(const routing::Contact& contact, const Mail& mail);
  Mail find_mail(const routing::DhtKey& key, bool contacts_only, uint32_t max_records = 0) const;
  /// Asks for records only, of a node that is known to keep them.
  Mail read_mail(const routing::DhtKey& key, uint32_t max_records) const;

  /// The time of lookup `id` is over: done with what was found.
  void limit(uint64_t id);
  /// Ends all with `aborted`.
  void abort_all();
  void forget(const NodeId& id) { proxies_.erase(id); }

 private:
  using RunningPtr = std::shared_ptr<Running>;
  static constexpr size_t kSweepEvery = 128;
  double now_s() const;
  /// Forgets proxies that nobody holds any more.
  void sweep();
  void send_to(const caf::actor& proxy, const routing::Contact& contact, const Mail& mail,
               const std::function<void(const Mail&)>& ok, const std::function<void()>& failed);
  void pump(const RunningPtr& running);
  void learn(const RunningPtr& running, const routing::Contact& from,
             const proto::DhtFindReply& reply);

  caf::event_based_actor* self_;
  const DhtDeps& deps_;
  const Contacts contacts_;
  /// Not held: a contact that was asked once is no reason to keep a link.
  std::map<NodeId, caf::actor_addr> proxies_;
  std::map<uint64_t, RunningPtr> running_;
  uint64_t next_id_ = 1;
};

}  // namespace swarm::actors

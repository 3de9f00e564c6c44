/// One iterative lookup: which contact to ask next, and when it is over (Kademlia, Sec. 2.3).
/// Pure: who asks and waits is the caller; one owner.
#pragma once

#include <map>
#include <vector>

#include "routing/dht/dht_key.h"

namespace swarm::routing {

class Lookup {
 public:
  /// `alpha`: questions in flight at once.
  Lookup(DhtKey target, NodeId self, size_t k, size_t alpha, const std::vector<Contact>& start);

  /// Contacts to ask now (at most alpha in flight); each must be answered or failed.
  std::vector<Contact> next();
  /// `closer` is a stranger's word: at most k of it are looked at, and a lookup never remembers
  /// more than kMaxCandidates. Answers of contacts never asked are ignored.
  void answered(const NodeId& id, const std::vector<Contact>& closer);
  void failed(const NodeId& id);
  /// The lookup shall end with the answers of the `width` nearest instead of k: reading needs
  /// fewer than writing.
  void set_width(size_t width) { width_ = width; }
  size_t width() const { return width_; }
  /// The `width` nearest that are known have all answered, or nobody is left to ask.
  bool finished() const;
  /// The nearest contacts that answered, at most k, nearest first.
  std::vector<Contact> result() const;

  static constexpr size_t kMaxCandidates = 1'024;

 private:
  enum class State { kNew, kAsked, kAnswered, kFailed };
  struct Candidate {
    Contact contact;
    State state = State::kNew;
  };
  void add(const Contact& contact);
  DhtKey target_;
  NodeId self_;
  size_t k_, alpha_, width_, in_flight_ = 0;
  std::map<NodeId, Candidate> by_distance_;
};

}  // namespace swarm::routing

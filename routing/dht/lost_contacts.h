/// Nodes that were contacts and are gone: a network that was cut may heal, and nobody else may know their
/// addresses by then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "routing/dht/dht_key.h"

namespace swarm::routing {

/// Pure: times are arguments [s]. One owner.
class LostContacts {
 public:
  static constexpr size_t kMost = 64;       ///< The newest.
  static constexpr size_t kAtOnce = 3;      ///< Are tried.
  static constexpr double kFor_s = 86'400;  ///< Then nobody is waited for.

  void lost(const Contact& contact, double now_s) {
    forget([&contact](const Contact& other) {
      return other.id == contact.id || other.endpoint == contact.endpoint;
    });
    lost_.push_back({contact, now_s});
    if (lost_.size() > kMost) lost_.pop_front();
  }
  /// It is back. (Who says that it is at its address may say so of any.)
  void heard_from(const Contact& contact) {
    forget([&contact](const Contact& other) { return other.id == contact.id; });
  }
  /// Whom to try now: all get their turn but those at whose address a contact is.
  template <class IsKnown>
  std::vector<Contact> next(double now_s, IsKnown is_known) {
    lost_.erase(std::remove_if(lost_.begin(), lost_.end(),
                               [now_s](const One& one) { return now_s - one.since_s > kFor_s; }),
                lost_.end());
    std::vector<Contact> out;
    size_t seen = 0;
    for (; seen < lost_.size() && out.size() < kAtOnce; ++seen)
      if (!is_known(lost_[seen].contact.endpoint)) out.push_back(lost_[seen].contact);
    std::rotate(lost_.begin(), lost_.begin() + static_cast<long>(seen), lost_.end());
    return out;
  }

 private:
  template <class Which>
  void forget(Which which) {
    lost_.erase(std::remove_if(lost_.begin(), lost_.end(),
                               [&which](const One& one) { return which(one.contact); }),
                lost_.end());
  }
  struct One {
    Contact contact;
    double since_s = 0;
  };
  std::deque<One> lost_;
};

}  // namespace swarm::routing

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
    heard_from(contact);
    lost_.push_back({contact, now_s});
    if (lost_.size() > kMost) lost_.pop_front();
  }
  /// It is back, or another one is at its address.
  void heard_from(const Contact& contact) {
    lost_.erase(std::remove_if(lost_.begin(), lost_.end(),
                               [&contact](const One& one) {
                                 return one.contact.id == contact.id ||
                                        one.contact.endpoint == contact.endpoint;
                               }),
                lost_.end());
  }
  /// Whom to try now: all get their turn.
  std::vector<Contact> next(double now_s) {
    lost_.erase(std::remove_if(lost_.begin(), lost_.end(),
                               [now_s](const One& one) { return now_s - one.since_s > kFor_s; }),
                lost_.end());
    std::vector<Contact> out;
    for (size_t i = 0; i < std::min(kAtOnce, lost_.size()); ++i) out.push_back(lost_[i].contact);
    std::rotate(lost_.begin(), lost_.begin() + static_cast<long>(out.size()), lost_.end());
    return out;
  }

 private:
  struct One {
    Contact contact;
    double since_s = 0;
  };
  std::deque<One> lost_;
};

}  // namespace swarm::routing

/// The actors of this node that other nodes may write to, by name, and those that are told when
/// nodes come and go. One owner.
#pragma once

#include <algorithm>
#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "actors/net/links/admission.h"

namespace swarm::actors::links {

class LocalActors {
 public:
  void add(const std::string& name, caf::actor actor) {
    admissions_.forget(name);  // of one that had the name before
    named_[name] = std::move(actor);
  }
  /// Mail with a body for `name` is looked at before it is read, from here on.
  void admit(const std::string& name, AdmissionPtr admission) {
    if (named_.count(name) != 0) admissions_.add(name, std::move(admission));
  }
  void subscribe(caf::actor actor) { subscribers_.push_back(std::move(actor)); }

  /// The actor has ended.
  void forget(const caf::actor_addr& address) {
    for (auto it = named_.begin(); it != named_.end();) {
      const bool gone = it->second.address() == address;
      if (gone) admissions_.forget(it->first);
      it = gone ? named_.erase(it) : std::next(it);
    }
    subscribers_.erase(
        std::remove_if(subscribers_.begin(), subscribers_.end(),
                       [&](const caf::actor& actor) { return actor.address() == address; }),
        subscribers_.end());
  }
  void clear() {
    named_.clear();
    subscribers_.clear();
  }

  /// Null when there is none of that name.
  const caf::actor* find(const std::string& name) const {
    auto it = named_.find(name);
    return it == named_.end() ? nullptr : &it->second;
  }
  const std::vector<caf::actor>& subscribers() const { return subscribers_; }
  const Admissions& admissions() const { return admissions_; }

 private:
  std::map<std::string, caf::actor> named_;
  Admissions admissions_;
  std::vector<caf::actor> subscribers_;
};

}  // namespace swarm::actors::links

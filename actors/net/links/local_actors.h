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

namespace swarm::actors::links {

class LocalActors {
 public:
  void add(const std::string& name, caf::actor actor) { named_[name] = std::move(actor); }
  void subscribe(caf::actor actor) { subscribers_.push_back(std::move(actor)); }

  /// The actor has ended.
  void forget(const caf::actor_addr& address) {
    for (auto it = named_.begin(); it != named_.end();)
      it = it->second.address() == address ? named_.erase(it) : std::next(it);
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

 private:
  std::map<std::string, caf::actor> named_;
  std::vector<caf::actor> subscribers_;
};

}  // namespace swarm::actors::links

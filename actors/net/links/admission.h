/// Whether an actor has room for one more request with a body: it says so as its room changes, and
/// its node's links look before they read such a body. What they refuse has cost no memory, and its
/// sender stops sending it.
///
/// A request that is let in may still be refused by the actor: several may be on their way at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace swarm::actors {

/// Thread-safe: written by the actor, read by its node's Links actor.
class Admission {
 public:
  /// Everybody is let in.
  void open() { retry_after_ms_.store(0); }
  /// Nobody is; refusals give the hint `retry_after_ms`, of 1 at least.
  void close(uint32_t retry_after_ms) { retry_after_ms_.store(std::max(1u, retry_after_ms)); }
  /// 0: open.
  uint32_t retry_after_ms() const { return retry_after_ms_.load(); }

 private:
  std::atomic<uint32_t> retry_after_ms_{0};
};

using AdmissionPtr = std::shared_ptr<const Admission>;

/// (admission_atom, string name, AdmissionPtr) to Links, after register_atom: of the actor that mail
/// to `name` goes to.
using admission_atom = caf::atom_constant<caf::atom("admission")>;

namespace links {

/// Of a node's actors, by name. One owner.
class Admissions {
 public:
  void add(const std::string& name, AdmissionPtr admission) { named_[name] = std::move(admission); }
  void forget(const std::string& name) { named_.erase(name); }
  /// 0: the actor takes it, or has never said anything.
  uint32_t retry_after_ms(const std::string& name) const {
    const auto found = named_.find(name);
    return found == named_.end() ? 0 : found->second->retry_after_ms();
  }

 private:
  std::map<std::string, AdmissionPtr> named_;
};

}  // namespace links
}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::AdmissionPtr)

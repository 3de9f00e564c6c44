/// Whether an actor takes one more request with a body: it says so as its room changes, or it begins and ceases to
/// serve, and its node's links look before they read such a body. What they refuse has cost no memory, and its
/// sender stops sending it.
///
/// A request that is let in may still be refused by the actor: several may be on their way at once.
#pragma once

#include <atomic>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/result.h"

namespace swarm::actors {

/// Thread-safe: written by the actor, read by its node's Links actor.
class Admission {
 public:
  /// Everybody is let in.
  void open() { refusal_.store(0); }
  /// Nobody is: refused with this code (kOverloaded, kNotReady, kShuttingDown) and hint.
  void close(ErrorCode code, uint32_t retry_after_ms) {
    refusal_.store(uint64_t{static_cast<uint8_t>(code)} << 32 | retry_after_ms);
  }
  /// Nothing: open.
  std::optional<Error> refusal() const {
    const uint64_t refusal = refusal_.load();
    if (refusal == 0) return std::nullopt;
    const auto code = static_cast<ErrorCode>(refusal >> 32);
    return Error{code,
                 code == ErrorCode::kOverloaded ? "all places are taken"
                 : code == ErrorCode::kNotReady ? "the peer does not serve"
                                                : "the node leaves",
                 static_cast<uint32_t>(refusal)};
  }

 private:
  std::atomic<uint64_t> refusal_{0};  ///< Code and hint; 0: open.
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
  /// Nothing: the actor takes it, or has never said anything.
  std::optional<Error> refusal(const std::string& name) const {
    const auto found = named_.find(name);
    return found == named_.end() ? std::nullopt : found->second->refusal();
  }

 private:
  std::map<std::string, AdmissionPtr> named_;
};

}  // namespace links
}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::AdmissionPtr)

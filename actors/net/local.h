/// Atoms and small messages between actors of one node. Nothing here travels on a link.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <functional>
#include <memory>
#include <utility>

namespace swarm::actors {

using tick_atom = caf::atom_constant<caf::atom("tick")>;
/// -> std::string: what the actor is doing, for the console.
using describe_atom = caf::atom_constant<caf::atom("describe")>;
/// Stop taking work, hand over, write; answered (true) when it is safe to end the actor.
using drain_atom = caf::atom_constant<caf::atom("drain")>;
/// What the actor was made for may begin now; before, it waits.
using begin_atom = caf::atom_constant<caf::atom("begin")>;
/// (run_later_atom, LocalTask): a delayed call in the actor's own thread.
using run_later_atom = caf::atom_constant<caf::atom("runlater")>;

/// A closure in a message to oneself. Copies share it.
class LocalTask {
 public:
  LocalTask() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, LocalTask>>>
  explicit LocalTask(F work) : work_(std::make_shared<std::function<void()>>(std::move(work))) {}
  void operator()() const {
    if (work_) (*work_)();
  }

 private:
  std::shared_ptr<std::function<void()>> work_;
};

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::LocalTask)

/// What people may type at the console, one row each. A new command is a row and its function in
/// console_commands.cc; help and the completion of clients come from the table.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>
#include <memory>
#include <string>
#include <vector>

#include "actors/coordinator/coordinator_client.h"
#include "actors/node/console.h"

namespace swarm::actors {

/// Answers one command, now or later, exactly once. Copies are the same answer.
class ConsoleAnswer {
 public:
  explicit ConsoleAnswer(caf::response_promise promise) : promise_(std::move(promise)) {}
  void text(std::string text, bool failed = false);
  void error(const std::string& why) { text("error: " + why, true); }

 private:
  caf::response_promise promise_;
};

/// What commands may ask. Owned by the console actor; outlives every request of a command.
struct ConsoleContext {
  caf::event_based_actor* self = nullptr;
  ConsoleDeps deps;
  std::unique_ptr<CoordinatorClient> coordinator;
};

struct ConsoleCommand {
  const char* name;      ///< One word: what is typed and completed.
  const char* argument;  ///< As help shows it; empty: none.
  const char* help;      ///< One line that makes sense alone.
  /// Runs on the console's thread and must not wait.
  void (*run)(ConsoleContext& context, const std::string& argument, ConsoleAnswer answer);
  bool acts = false;  ///< Changes something: only for who has the run's key.
};
/// In the order of help.
const std::vector<ConsoleCommand>& console_commands();

}  // namespace swarm::actors

#include "actors/node/console.h"

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <sstream>

#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/node/console_commands.h"
#include "common/names.h"

namespace swarm::actors {
namespace {

bool one_word(const std::string& text) { return text.find(' ') == std::string::npos; }

struct ConsoleState {
  static constexpr const char* name = "console";
  using Self = caf::stateful_actor<ConsoleState>;

  void init(Self* self, ConsoleDeps deps) {
    install_default_handlers(self);
    context.self = self;
    context.coordinator = std::make_unique<CoordinatorClient>(
        CoordinatorClientDeps{self, deps.links, deps.dht, std::chrono::milliseconds(500), [] {},
                              deps.dht_options.silent_after()});
    context.deps = std::move(deps);
    const auto me = caf::actor_cast<caf::actor>(self);
    self->send(context.deps.links, register_atom::value, std::string(kConsoleName), me);
    self->send(context.deps.links, subscribe_atom::value, me);
    self->send(self, tick_atom::value);
  }

  caf::result<Mail> on_mail(const Mail& mail) {
    const bool order = mail.kind == proto::KIND_CONSOLE_ORDER;
    if (!order && mail.kind != proto::KIND_CONSOLE)
      return to_caf(ErrorCode::kInvalidArgument, "the console takes command lines only");
    std::istringstream line(order ? mail.as<proto::ConsoleOrder>().line()
                                  : mail.as<proto::ConsoleRequest>().line());
    std::string typed, argument;
    if (!(line >> typed)) typed = "help";
    std::getline(line >> std::ws, argument);
    argument.erase(argument.find_last_not_of(' ') + 1);
    auto promise = context.self->make_response_promise();
    const auto& rows = console_commands();
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return typed == one.name; });
    if (row == rows.end())
      ConsoleAnswer(promise).error("unknown command '" + typed + "'; help lists them");
    else if (row->argument[0] == '\0' && !argument.empty())
      ConsoleAnswer(promise).error(typed + " takes no argument, found '" + argument + "'");
    else if (one_word(row->argument) && !one_word(argument))
      ConsoleAnswer(promise).error(typed + " takes one argument, found '" + argument + "'");
    else if (row->acts && !order)
      ConsoleAnswer(promise).error(
          typed +
          " acts, which needs the run's key: swarm console --key FILE (the "
          "nodes' operator.key or node.key)");
    else
      row->run(context, argument, ConsoleAnswer(promise));
    return promise;
  }

  caf::behavior make_behavior() {
    return {
        [this](const Mail& mail) { return on_mail(mail); },
        [this](tick_atom) {
          context.coordinator->tick();
          context.self->delayed_send(context.self, context.deps.dht_options.announce_every,
                                     tick_atom::value);
        },
        [](run_later_atom, const LocalTask& task) { task(); },
        [](node_up_atom, const NodeInfo&) {},
        [this](node_down_atom, const NodeInfo& info, const std::string&) {
          context.coordinator->node_down(info.id);
        },
    };
  }

  ConsoleContext context;
};

}  // namespace

caf::actor spawn_console(caf::actor_system& system, ConsoleDeps deps) {
  return system.spawn([deps = std::move(deps)](ConsoleState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors

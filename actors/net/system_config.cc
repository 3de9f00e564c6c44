#include "actors/net/system_config.h"

#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <string>

#include "common/result.h"

namespace swarm::actors {

void add_swarm_errors(caf::actor_system_config& config) {
  config.add_error_category(caf::atom("swarm"),
                            [](uint8_t code, caf::atom_value, const caf::message& context) {
                              std::string text = swarm::to_string(static_cast<ErrorCode>(code));
                              if (context.match_elements<std::string, uint32_t>()) {
                                text += ": " + context.get_as<std::string>(0);
                              }
                              return text;
                            });
}

SystemConfig::SystemConfig() {
  load<caf::io::middleman>();
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", size_t{2});
  set("middleman.workers", size_t{0});
  set("middleman.attach-utility-actors", true);
  add_swarm_errors(*this);
}

}  // namespace swarm::actors

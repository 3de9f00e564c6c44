#include "actors/net/system_config.h"

#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <string>

#include "common/result.h"

namespace swarm::actors {
namespace {

// Whatever computes or waits for a disk is detached: it has a thread of its own. What is left on
// the pool decodes, decides and sends, for milliseconds. One thread would do for that; the second
// lets the other roles go on while one handler is long (a step of thousands of slots is closed).
// More of them would only take turns with the threads that compute.
constexpr size_t kPoolThreads = 2;

}  // namespace

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
  set("scheduler.max-threads", size_t{kPoolThreads});
  set("middleman.workers", size_t{0});
  set("middleman.attach-utility-actors", true);
  add_swarm_errors(*this);
}

}  // namespace swarm::actors

// The keys of [[nodes]] and [[timeline]].
#include "config/schema.h"
#include "config/schema_builder.h"

namespace swarm::config {

#define AT SWARM_CONFIG_AT

const std::vector<Key<NodeSpec>>& node_keys() {
  static const std::vector<Key<NodeSpec>> keys = [] {
    Builder<NodeSpec> b;
    b.section("nodes", false);
    b.add("name", AT(name), {},
          "Name of the node, which no other has; 1 to 64 of [A-Za-z0-9_.-]. Must be set.");
    b.add("count", AT(count), in(1, 10000),
          "Number of such nodes; more than 1: their names are NAME-0, NAME-1, ...");
    b.add("stages", AT(stages), in(0, 63),
          "Stages that the node serves; a node with neither stages nor trainer only helps others "
          "to find one another.");
    b.add("trainer", AT(trainer), {},
          "Whether the node feeds data; it is then a coordinator or its stand-by, too.");
    b.add("threads", AT(threads), in(0, 1024),
          "LibTorch compute threads of the node; 0: as node.threads.");
    b.add("device", AT(device), {}, "Where the node's stages compute; \"\": as node.device.");
    b.add("log_level", AT(log_level), one_of({"", "trace", "debug", "info", "warn", "error"}),
          "Least severe messages in the node's log; \"\": as node.log_level.");
    b.add("listen", AT(listen), {}, "HOST:PORT that the node listens on; \"\": as node.listen.");
    b.add("announce", AT(announce), {},
          "HOST:PORT that the node tells others; \"\": as node.announce.");
    b.add(
        "delay_s", AT(delay_s), in(0, 3600),
        "Artificial: every microbatch takes each of the node's peers this much longer, half of it "
        "in the forward and half in the backward pass.");
    b.add(
        "send_bytes_per_s", AT(send_bytes_per_s), in(0, 1e12),
        "Artificial: the node sends no more than this on all its links together, 4096 or more; 0: "
        "no limit.");
    b.add(
        "preempt", AT(preempt), {},
        "When the node is taken away and for how long, in seconds since the start of `swarm run`.");
    b.add("preempt_every_s", AT(preempt_every_s), in(0, 1e6),
          "One more preemption at a random moment of each such window, drawn from chaos.seed and "
          "the node's name, from chaos.start_after_s to chaos.end_after_s; 0: none.");
    b.add("preempt_for_s", AT(preempt_for_s), in(0.05, 1e6),
          "How long a preemption of preempt_every_s lasts.");
    b.add("preempt_by", AT(preempt_by), one_of({"kill", "stop"}),
          "How the node is taken away: kill is SIGKILL; stop is SIGTERM, and the node leaves in "
          "order.");
    return b.take();
  }();
  return keys;
}

const std::vector<Key<TimelineEvent>>& timeline_keys() {
  static const std::vector<Key<TimelineEvent>> keys = [] {
    Builder<TimelineEvent> b;
    b.section("timeline", false);
    b.add("at_step", AT(at_step), in(0, 4e9),
          "Done when this many steps are finished; either this or at_second is given.");
    b.add("at_second", AT(at_second), in(0, 1e9),
          "Done this many seconds after training began; either this or at_step is given.");
    b.add("action", AT(action), one_of({"kill", "start", "pause", "resume", "stop"}),
          "What is done to the node: kill is SIGKILL, pause SIGSTOP, resume SIGCONT, stop SIGTERM. "
          "Must be set.");
    b.add("node", AT(node), {}, "Node that it is done to, by its name in [[nodes]]. Must be set.");
    return b.take();
  }();
  return keys;
}

}  // namespace swarm::config

// The keys of [[nodes]], and where others take part in them: of [[paths]] and [[timeline]].
#include "config/schema.h"
#include "config/schema_builder.h"

namespace swarm::config {
namespace {

#define AT SWARM_CONFIG_AT

constexpr double kMaxRate = 1e12;

/// Of a path: `at` leads to the struct that has them.
template <class T, class At>
void add_path_figures(Builder<T>& b, At at) {
  b.add(
      "bytes_per_s", [at](auto& x) -> auto& { return at(x).bytes_per_s; }, in(0, kMaxRate),
      "Artificial: no more than this goes from the one to the other, 4096 or more, within the "
      "sender's own rate; 0: no limit. Left out: as before.");
  b.add(
      "delay_s", [at](auto& x) -> auto& { return at(x).delay_s; }, in(0, actors::kMaxLinkDelay_s),
      "Artificial: what goes from the one to the other comes this much later, beside the "
      "receiver's own link_delay_s. Left out: as before.");
  b.add(
      "jitter_s", [at](auto& x) -> auto& { return at(x).jitter_s; }, in(0, actors::kMaxLinkDelay_s),
      "Artificial: each read of it up to this much later still, in order. Left out: as before.");
  b.add(
      "cut", [at](auto& x) -> auto& { return at(x).cut; }, {},
      "Artificial: whether nothing passes between the two, either way, though their connections "
      "stay. Left out: as before.");
}

/// Of a change of links, beside its node.
template <class T, class At>
void add_change(Builder<T>& b, At at) {
  b.add(
      "to", [at](auto& x) -> auto& { return at(x).to; }, {},
      "link: bytes_per_s, delay_s, jitter_s and cut of the path from node to this one change; a * "
      "stands for any letters. Empty: the node's own keys change, as in [[nodes]].");
  b.add(
      "send_bytes_per_s", [at](auto& x) -> auto& { return at(x).send_bytes_per_s; },
      in(0, kMaxRate), "link: as in [[nodes]]. Left out: as before.");
  b.add(
      "receive_bytes_per_s", [at](auto& x) -> auto& { return at(x).receive_bytes_per_s; },
      in(0, kMaxRate), "link: as in [[nodes]]. Left out: as before.");
  b.add(
      "link_delay_s", [at](auto& x) -> auto& { return at(x).link_delay_s; },
      in(0, actors::kMaxLinkDelay_s), "link: as in [[nodes]]. Left out: as before.");
  b.add(
      "link_jitter_s", [at](auto& x) -> auto& { return at(x).link_jitter_s; },
      in(0, actors::kMaxLinkDelay_s), "link: as in [[nodes]]. Left out: as before.");
  add_path_figures(b, at);
}

}  // namespace

// rows: a key each
const std::vector<Key<NodeSpec>>& node_keys() {
  static const std::vector<Key<NodeSpec>> keys = [] {
    Builder<NodeSpec> b;
    b.section("nodes", false);
    b.add("name", AT(name), {},
          "Name of the node, which no other has; 1 to 64 of [A-Za-z0-9_.-]. Must be set.");
    b.add("count", AT(count), in(1, 10000),
          "Number of such nodes; more than 1: their names are NAME-0, NAME-1, ...");
    b.add("stages", AT(stages), stage_list(0, 63),
          "Stages that the node serves at first. auto: one, whichever needs it most. A node with "
          "neither stages nor trainer only helps others to find one another.");
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
        "send_bytes_per_s", AT(shape.send_bytes_per_s), in(0, kMaxRate),
        "Artificial: the node sends no more than this on all its links together, 4096 or more; 0: "
        "no limit.");
    b.add("receive_bytes_per_s", AT(shape.receive_bytes_per_s), in(0, kMaxRate),
          "Artificial: the node reads no more than this from all its links together, 4096 or more; "
          "0: no limit.");
    b.add("link_delay_s", AT(shape.link_delay_s), in(0, actors::kMaxLinkDelay_s),
          "Artificial: what the node receives comes this much later, and one way only: a round "
          "trip between two such nodes takes both their delays.");
    b.add("link_jitter_s", AT(shape.link_jitter_s), in(0, actors::kMaxLinkDelay_s),
          "Artificial: each read comes up to this much later still, drawn anew each time, and in "
          "order.");
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

const std::vector<Key<actors::PathShape>>& path_keys() {
  static const std::vector<Key<actors::PathShape>> keys = [] {
    Builder<actors::PathShape> b;
    b.section("paths", false);
    b.add("from", AT(from), {}, "Node that sends; a * stands for any letters. Must be set.");
    b.add("to", AT(to), {}, "Node that receives; a * stands for any letters. Must be set.");
    add_path_figures(
        b, [](auto& x) -> auto& { return x; });
    return b.take();
  }();
  return keys;
}

const std::vector<Key<actors::ShapeChange>>& change_keys() {
  static const std::vector<Key<actors::ShapeChange>> keys = [] {
    Builder<actors::ShapeChange> b;
    b.section("change", false);
    b.add("node", AT(node), {}, "Node whose links change; a * stands for any letters.");
    add_change(
        b, [](auto& x) -> auto& { return x; });
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
    b.add("action", AT(action),
          one_of({"kill", "start", "pause", "resume", "stop", "link", "cut", "heal", "full_disk",
                  "free_disk"}),
          "What is done to the node: kill is SIGKILL, pause SIGSTOP, resume SIGCONT, stop SIGTERM; "
          "link changes what its links are made to be, as far as the keys below say; cut lets "
          "nothing pass between it and all others until heal; full_disk lets none of its writes "
          "but its records succeed until free_disk. Must be set.");
    b.add(
        "node", AT(node), {},
        "Node that it is done to, by its name in [[nodes]]; with link a * stands for any letters. "
        "Must be set.");
    add_change(b, AT(link));
    return b.take();
  }();
  return keys;
}

}  // namespace swarm::config

/// What a node's links are told. Defaults live here; config/ fills these in from a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/net/links/shape/options.h"
#include "actors/net/state_share.h"
#include "common/ids.h"
#include "common/result.h"

namespace swarm::actors {

constexpr size_t kMaxRunIdBytes = 128;

/// Whether `host` is this machine only: 127.0.0.0/8, ::1 or "localhost". Looks nothing up.
bool is_loopback(const std::string& host);

/// One setting that all nodes of a run share, as printed.
struct SharedSetting {
  std::string key;    ///< "model.width"
  std::string value;  ///< As TOML.
};

/// A hello that did not match, seen from either side; or mail of a link that was not taken from its
/// other side.
struct Refusal {
  std::string address;   ///< Of the other side, "host:port".
  bool dialled = false;  ///< This node dialled and was refused, or refuses whom it dialled.
  std::string reason;    ///< Printable, whatever the other side said.
  std::string node;      ///< Of mail: its sender's name. Empty: a hello.
};

struct LinksOptions {
  NodeId node_id;
  std::string node_name;
  std::string run_id;  ///< At most kMaxRunIdBytes.
  std::string config_fingerprint;
  /// What config_fingerprint is made of, the most telling first; told to others as far as it fits.
  std::vector<SharedSetting> settings;
  /// Called on the links' thread for each hello that did not match and for each refused mail; may be
  /// empty.
  std::function<void(const Refusal&)> on_refused;
  bool is_tool = false;
  /// The run's key (kKeyBytes), which both ends of a link prove to each other if both have one;
  /// empty: none.
  std::string key;
  static constexpr size_t kKeyBytes = 32;
  /// Lets nodes and tools without the key in even where the node listens beyond loopback.
  bool open = false;
  /// What the node may do in the run: links::Role bits (mail_roles.h). Of no use to a tool.
  uint32_t roles = 7;
  /// Address to listen on; port 0 picks one; empty host: do not listen.
  Endpoint listen{"127.0.0.1", 0};
  /// Address told to others; empty host: the one listened on.
  Endpoint announce;
  /// Plain bytes on anything but loopback are refused unless set.
  bool allow_plaintext = false;
  /// Deadline of one connection attempt, hello included.
  std::chrono::milliseconds dial_timeout{3'000};
  /// After a failed dial of a node, first pause; doubles with jitter up to max_backoff.
  std::chrono::milliseconds min_backoff{100};
  std::chrono::milliseconds max_backoff{5'000};
  std::chrono::milliseconds heartbeat_every{1'000};
  /// A link silent for longer is cut. Shorter: faster detection of frozen peers, more false alarms.
  std::chrono::milliseconds silence_limit{5'000};
  /// Larger chunks are malformed when received: the same on all nodes of a run.
  uint32_t max_chunk_bytes = 256u << 10;
  uint32_t max_head_bytes = 1u << 20;
  uint64_t max_body_bytes = 1ull << 30;
  /// Bodies being received or not yet released by actors, per node; beyond it reading stops.
  uint64_t receive_budget_bytes = 512ull << 20;
  /// Queued to send per link; beyond it new Mail with a body fails with kOverloaded.
  uint64_t send_budget_bytes = 512ull << 20;
  /// Of what is sent while states wait besides other classes, the part that is states: how fast a
  /// newcomer gets its state from busy donors. Higher: sooner, and slower work meanwhile.
  double join_share = kJoinShare;
  /// Artificial rates and delays. What waits to be sent goes by its class first, over all links,
  /// then to each link in turn.
  ShapeOptions shape;
  /// A link without mail for so long [s] that neither side has a use for is closed; new mail dials
  /// anew. Shorter: fewer links in a large swarm, more dialling.
  double idle_close_s = 60;
  /// Links kept. Beyond it those that nobody has a use for are closed as soon as they are idle, the
  /// least recently used first; those that are used may be more.
  uint32_t max_links = 256;
  /// Links that have not said a valid hello within dial_timeout are closed; at most this many wait.
  uint32_t max_pending_hellos = 256;

  /// Whether what travels between nodes is encrypted; make_stream() knows plain bytes only.
  bool encrypted() const { return false; }
  /// Whether a node may listen on `at`: bytes that are not encrypted stay on this machine unless
  /// somebody allowed more. Errors: kInvalidArgument.
  Status may_listen(const Endpoint& at) const;
  /// Connections beyond which none is accepted. Far more than max_links: a node that many others need
  /// turns none of them away, and links that nobody needs end by themselves. No more than the
  /// process has descriptors for.
  size_t most_connections() const;
  /// Whether links end unless the other side proves the key.
  bool demands_key() const;
};

}  // namespace swarm::actors

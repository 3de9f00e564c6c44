/// What a node's links are told. Defaults live here; config/ fills these in from a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/ids.h"
#include "common/result.h"

namespace swarm::actors {

constexpr size_t kMaxRunIdBytes = 128;

/// Whether `host` is this machine only: 127.0.0.0/8, ::1 or "localhost". Looks nothing up.
bool is_loopback(const std::string& host);

struct LinksOptions {
  NodeId node_id;
  std::string node_name;
  std::string run_id;  ///< At most kMaxRunIdBytes.
  std::string config_fingerprint;
  bool is_tool = false;
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
  /// Artificial limit of what the node sends on all links together; 0: none. What waits goes by
  /// its class first, over all links, then to each link in turn. Receiving is not limited.
  double send_bytes_per_s = 0;
  uint32_t max_links = 256;
  /// Links that have not said a valid hello within dial_timeout are closed; at most this many wait.
  uint32_t max_pending_hellos = 64;

  /// Whether what travels between nodes is encrypted; make_stream() knows plain bytes only.
  bool encrypted() const { return false; }
  /// Whether a node may listen on `at`: bytes that are not encrypted stay on this machine unless
  /// somebody allowed more. Errors: kInvalidArgument.
  Status may_listen(const Endpoint& at) const;
};

}  // namespace swarm::actors

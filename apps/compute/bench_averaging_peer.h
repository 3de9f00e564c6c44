/// One process of `swarm bench averaging`: a node with its links over TCP and its averager as a
/// training run has them, and beside it Gloo. Does what the parent process says over a socket.
#pragma once

#include <cstdint>
#include <string>

namespace swarm::apps {

/// Parent -> peer. The peer answers each with one PeerAnswer.
struct PeerCommand {
  enum Kind : uint32_t {
    kMembers,  ///< `count` PeerAddress structs follow, in one packet; connects to all of them.
    kPrepare,  ///< Gloo's algorithm number `argument`.
    kRefill,   ///< Gloo's vector holds its input again.
    kOurs,     ///< Round number `argument`.
    kGloo,
    kCheck,  ///< Whether the last results (ours and, if argument is 1, Gloo's) are right.
  };
  Kind kind = kMembers;
  uint32_t count = 0;
  uint64_t argument = 0;
};

struct PeerAddress {
  uint8_t node[16] = {};
  uint16_t port = 0;
};

struct PeerAnswer {
  bool good = false;
  char error[255] = {};  ///< For people; ends with 0.
  double seconds = 0;    ///< The round, by this peer's clock.
  uint64_t digest = 0;   ///< Digest of our mean.
  PeerAddress address;   ///< In the first answer, which comes without a command.
};

/// Runs the peer until the parent closes `control` (a SOCK_SEQPACKET socket). Returns the exit
/// code. Call it in a process without threads. `folder`: where Gloo's processes meet; empty: no
/// Gloo.
int run_averaging_peer(int control, uint32_t index, uint32_t peers, uint64_t elements,
                       const std::string& folder);

}  // namespace swarm::apps

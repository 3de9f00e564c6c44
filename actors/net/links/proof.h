/// Proofs that a side of a link has the run's key, without showing it (docs/protocol.md, the run's key).
/// Pure but for make_nonce().
#pragma once

#include <string>

#include "common/ids.h"

namespace swarm::actors::links {

constexpr size_t kNonceBytes = 16;
constexpr size_t kProofBytes = 32;

/// From the system's source of randomness.
std::string make_nonce();

/// What both sides know of one link.
struct Challenge {
  NodeId dialler, dialled;
  std::string dialler_nonce, dialled_nonce;
};
enum class Side : char { kDialler = 'd', kDialled = 'a' };

/// HMAC-SHA256 under `key`; what one side proves is no proof of the other.
std::string prove(const std::string& key, const Challenge& challenge, Side side);
/// Takes the same time wherever they differ.
bool equal_proofs(const std::string& a, const std::string& b);

}  // namespace swarm::actors::links

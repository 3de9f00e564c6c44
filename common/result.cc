#include "common/result.h"

namespace swarm {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNone:
      return "none";
    case ErrorCode::kNoLivePeer:
      return "no_live_peer";
    case ErrorCode::kPeerTimeout:
      return "peer_timeout";
    case ErrorCode::kShapeMismatch:
      return "shape_mismatch";
    case ErrorCode::kStaleStep:
      return "stale_step";
    case ErrorCode::kOverloaded:
      return "overloaded";
    case ErrorCode::kCorruptCheckpoint:
      return "corrupt_checkpoint";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kLinkLost:
      return "link_lost";
    case ErrorCode::kNotReady:
      return "not_ready";
    case ErrorCode::kStaleTerm:
      return "stale_term";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kShuttingDown:
      return "shutting_down";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kNonFinite:
      return "non_finite";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  return std::string(to_string(error.code)) + ": " + error.detail;
}

}  // namespace swarm

/// What a session says of itself: frames, and refusals to its node's owner. Included by session*.cc only.
#pragma once

#include <algorithm>
#include <chrono>

#include "actors/net/errors.h"
#include "actors/net/links/frame.h"
#include "actors/net/mail.h"
#include "actors/net/options.h"
#include "common/printable.h"

namespace swarm::actors::links {

constexpr size_t kMaxQueuedFrames = 100'000;

inline OutFrame control_frame(proto::MessageKind kind, const google::protobuf::Message& head) {
  return make_frame(kind, kOneWay, 0, std::chrono::milliseconds(0), {}, head, {});
}

/// As told to the other side: a limit keeps what we say of strange input short.
inline proto::Error short_error(Error error) {
  error.detail.resize(std::min<size_t>(error.detail.size(), 1024));
  return to_proto(error);
}

/// Tells the node's owner of a hello that did not match, or of mail that is not taken.
inline void tell_refused(const LinksOptions& options, Refusal refusal) {
  refusal.reason = printable(refusal.reason, 1024);
  if (options.on_refused) options.on_refused(refusal);
}

}  // namespace swarm::actors::links

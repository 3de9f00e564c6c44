/// Which bodies a link receives when (docs/protocol.md, limits). Pure.
#pragma once

#include <string>

#include "actors/net/links/admission.h"
#include "actors/net/links/frame.h"
#include "actors/net/links/request_table.h"

namespace swarm::actors::links {

/// The reply to an own request always passes: it is what frees memory here, and what was asked for
/// bounds it. What nobody waits for and what its actor does not take is not received at all.
/// `requests`: own ones of this link. `admissions` null: all are let in.
inline BodyRule body_rule(const FrameHeader& header, const std::string& actor,
                          const RequestTable& requests, const Admissions* admissions) {
  if (header.flags != kReply) {
    const bool closed = admissions != nullptr && admissions->refusal(actor).has_value();
    return closed ? BodyRule::kSkip : BodyRule::kWait;
  }
  const auto* request = requests.find(header.request_id);
  if (request == nullptr) return BodyRule::kSkip;
  // At most so much larger than the request's: fp32 gradients for activations in a byte each, and
  // their scales.
  constexpr uint64_t kGrowth = 8;
  const bool bounded = header.body_bytes / kGrowth <= request->body_bytes;
  return bounded ? BodyRule::kTake : BodyRule::kWait;
}

}  // namespace swarm::actors::links

/// Bytes for the disk: a serialized message whose last field, number 15, is a payload of any size, which
/// protobuf never parses (it would stop at 2 GiB). No LibTorch. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/buffer.h"

namespace google::protobuf {
class MessageLite;
}

namespace swarm::tensor {

struct PayloadPlace {
  size_t head_bytes = 0;       ///< Fields before the payload.
  size_t payload_start = 0;    ///< Behind its tag and length.
  uint64_t payload_bytes = 0;  ///< As it says; not checked.
};
/// Walks over varints, 8-byte numbers and byte strings up to the payload's tag; nothing if there is none
/// in the first `most_head_bytes`.
std::optional<PayloadPlace> find_payload(const Buffer& bytes, size_t most_head_bytes);

/// Memory and its bytes.
using PayloadPart = std::pair<const void*, uint64_t>;
/// `head` (its payload empty), then the parts: a valid serialized message.
Buffer serialize_with_payload(const google::protobuf::MessageLite& head,
                              const std::vector<PayloadPart>& parts);

}  // namespace swarm::tensor

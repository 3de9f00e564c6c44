#include "actors/state/kept_chunks.h"

#include <fmt/format.h>

#include <array>
#include <memory>

#include "actors/state/kept_ranges.h"
#include "swarm/kept.pb.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

constexpr uint32_t kFormat = 1;

Error corrupt(const std::string& what) {
  return {ErrorCode::kCorruptCheckpoint, "chunks on disk: " + what};
}

uint64_t digest_of(const KeptChunks& chunks) {
  const std::array<uint64_t, 2> parts{chunks.offset,
                                      tensor::digest(chunks.bytes.data(), chunks.bytes.size())};
  return tensor::digest(parts.data(), sizeof(parts));
}

proto::KeptChunks head_of(const WholeState& state) {
  proto::KeptChunks head;
  head.set_format_version(kFormat);
  head.set_run_id(state.run_id);
  head.set_config_fingerprint(state.config_fingerprint);
  head.set_stage(state.stage.value());
  head.set_step(state.offer.step.value());
  head.set_size_bytes(state.offer.size_bytes);
  head.set_state_digest(state.offer.digest);
  return head;
}

bool of_same_state(const proto::KeptChunks& a, const proto::KeptChunks& b) {
  return a.format_version() == b.format_version() && a.run_id() == b.run_id() &&
         a.config_fingerprint() == b.config_fingerprint() && a.stage() == b.stage() &&
         a.step() == b.step() && a.size_bytes() == b.size_bytes() &&
         a.state_digest() == b.state_digest();
}

}  // namespace

std::string whole_key(Stage stage) { return learned_key(stage) + "/whole"; }

Buffer encode_chunks(const WholeState& state, const KeptChunks& chunks) {
  proto::KeptChunks head = head_of(state);
  head.set_offset(chunks.offset);
  head.set_digest(digest_of(chunks));
  head.set_payload(std::string(chunks.bytes.view()));
  return Buffer::from_string(head.SerializeAsString());
}

Result<KeptChunks> decode_chunks(const WholeState& state, const Buffer& block) {
  auto head = std::make_shared<proto::KeptChunks>();
  if (!head->ParseFromArray(block.data(), static_cast<int>(block.size())))
    return corrupt("not a block of chunks");
  if (!of_same_state(*head, head_of(state)))
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunks on disk are of another state (step {})", head->step())};
  KeptChunks chunks{head->offset(), Buffer(head, head->payload().data(), head->payload().size())};
  if (digest_of(chunks) != head->digest()) return corrupt("the digest differs");
  const uint64_t size = state.offer.size_bytes;
  if (chunks.offset > size || chunks.bytes.size() > size - chunks.offset)
    return corrupt("outside of the state");
  return chunks;
}

}  // namespace swarm::actors

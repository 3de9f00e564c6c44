/// Any bytes from a connection, in reads of any size: frames or a refusal, and never more memory
/// than the budget. Then the head is parsed as what its kind says, as a session does.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "actors/links/frame.h"
#include "actors/mail.h"

namespace {

using swarm::actors::links::FrameDecoder;

constexpr uint64_t kBudgetBytes = 1 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const bool trusted = (data[0] & 1) != 0;
  const size_t read_size = 1 + data[1];
  data += 2;
  size -= 2;

  auto budget = std::make_shared<swarm::actors::links::ReceiveBudget>(kBudgetBytes, [] {});
  swarm::actors::links::FrameLimits limits;
  limits.max_body_bytes = kBudgetBytes;
  FrameDecoder decoder(limits, budget);
  if (trusted) decoder.trust();
  while (size > 0) {
    const size_t part = size < read_size ? size : read_size;
    size_t used = 0;
    const auto outcome = decoder.feed(data, part, used);
    if (used > part || budget->used_bytes() > 4 * kBudgetBytes) std::abort();
    if (outcome == FrameDecoder::Outcome::kMalformed ||
        outcome == FrameDecoder::Outcome::kVersion) {
      if (decoder.error().empty()) std::abort();
      return 0;
    }
    if (outcome == FrameDecoder::Outcome::kNeedBudget) return 0;
    if (outcome == FrameDecoder::Outcome::kFrame) {
      const auto& frame = decoder.frame();
      const auto kind = static_cast<swarm::proto::MessageKind>(frame.header.kind);
      if (auto head = swarm::actors::new_head(kind)) (void)head->ParseFromString(frame.head);
    } else if (used != part) {
      std::abort();  // "more" means that everything was taken
    }
    data += used;
    size -= used;
  }
  return 0;
}

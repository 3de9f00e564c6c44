#include "actors/net/links/head_rule.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "actors/net/mail.h"
#include "swarm/wire.pb.h"

namespace swarm::actors::links {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint64_t kFreeElements = 1'024;  // so many are no harm
constexpr uint64_t kElementBytes = 12;     // the shortest that lists hold: a slot and its attempt
constexpr int kDeepest = 16;

/// False: more than `left`, or too deep.
bool count(const Descriptor& type, CodedInputStream& in, int depth, uint64_t& left) {
  while (const uint32_t tag = in.ReadTag()) {
    const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool text =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const bool message = text && field != nullptr && field->message_type() != nullptr;
    const bool element =
        field == nullptr || message || (text && field->is_repeated() && !field->is_packable());
    if (element && left-- == 0) return false;
    if (!message) {
      if (!WireFormatLite::SkipField(&in, tag)) return true;
      continue;
    }
    uint32_t length = 0;
    if (!in.ReadVarint32(&length)) return true;
    if (depth == 0) return false;
    const auto outer = in.PushLimit(static_cast<int>(std::min<uint32_t>(length, INT32_MAX)));
    if (!count(*field->message_type(), in, depth - 1, left)) return false;
    if (in.BytesUntilLimit() > 0) return true;  // it does not parse
    in.PopLimit(outer);
  }
  return true;
}

}  // namespace

uint32_t head_limit(uint32_t kind, uint32_t max_head_bytes) {
  const bool known = proto::MessageKind_IsValid(static_cast<int>(kind));
  const bool is_long = known && head_size(static_cast<proto::MessageKind>(kind)) == HeadSize::kLong;
  return is_long ? max_head_bytes : std::min(max_head_bytes, kSmallHeadBytes);
}

bool is_lean(const Descriptor& type, const std::string& bytes) {
  if (bytes.size() < 2 * kFreeElements) return true;  // an element has two bytes at least
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  uint64_t left = kFreeElements + bytes.size() / kElementBytes;
  return count(type, in, kDeepest, left);
}

}  // namespace swarm::actors::links

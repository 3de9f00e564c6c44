#include "tensor/core/payload_format.h"

#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace swarm::tensor {
namespace {

constexpr uint64_t kPayloadTag = 15 << 3 | 2;

/// Reads varints from the front of a byte range.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  size_t position() const { return position_; }
  bool done() const { return position_ >= size_; }
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && position_ < size_; shift += 7) {
      uint8_t byte = data_[position_++];
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool skip(uint64_t count) {
    if (count > size_ - position_) return false;
    position_ += static_cast<size_t>(count);
    return true;
  }

 private:
  const uint8_t* data_;
  size_t size_, position_ = 0;
};

void put_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

}  // namespace

std::optional<PayloadPlace> find_payload(const Buffer& bytes, size_t most_head_bytes) {
  PayloadPlace end;
  Reader reader(bytes.data(), std::min(bytes.size(), most_head_bytes));
  while (!reader.done()) {
    end.head_bytes = reader.position();
    uint64_t tag = 0, value = 0;
    if (!reader.varint(tag)) return std::nullopt;
    if ((tag & 7) == 1) {
      if (!reader.skip(sizeof(uint64_t))) return std::nullopt;
      continue;
    }
    if (((tag & 7) != 0 && (tag & 7) != 2) || !reader.varint(value)) return std::nullopt;
    if (tag == kPayloadTag) {
      end.payload_start = reader.position();
      end.payload_bytes = value;
      return end;
    }
    if ((tag & 7) == 2 && !reader.skip(value)) return std::nullopt;
  }
  return std::nullopt;
}

Buffer serialize_with_payload(const google::protobuf::MessageLite& head,
                              const std::vector<PayloadPart>& parts) {
  uint64_t payload_bytes = 0;
  for (const PayloadPart& part : parts) payload_bytes += part.second;
  std::string front = head.SerializeAsString();
  put_varint(kPayloadTag, front);
  put_varint(payload_bytes, front);
  MutableBuffer out = MutableBuffer::allocate(front.size() + payload_bytes);
  std::memcpy(out.data(), front.data(), front.size());
  uint8_t* to = out.data() + front.size();
  for (const PayloadPart& part : parts) {
    if (part.second > 0) std::memcpy(to, part.first, part.second);
    to += part.second;
  }
  return out.freeze();
}

}  // namespace swarm::tensor

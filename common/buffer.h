/// A read-only byte range that keeps its owner alive: tensor memory, a received frame body, a
/// snapshot. Copying a Buffer copies no bytes. Thread-safe as a shared_ptr is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace swarm {

class Buffer {
 public:
  Buffer() = default;
  /// `owner` keeps [data, data + size) alive and unchanged while any copy of the Buffer exists.
  Buffer(std::shared_ptr<const void> owner, const void* data, size_t size_bytes)
      : owner_(std::move(owner)), data_(static_cast<const uint8_t*>(data)), size_(size_bytes) {}
  /// Takes the string over.
  static Buffer from_string(std::string bytes) {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    return {owner, owner->data(), owner->size()};
  }

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {reinterpret_cast<const char*>(data_), size_}; }
  /// A part that shares the owner. Requires offset + size <= size().
  Buffer slice(size_t offset, size_t size) const { return {owner_, data_ + offset, size}; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

/// Writable memory that is reused through a per-process pool (fresh pages cost 4 times a copy):
/// 64-byte aligned, not zeroed. Freeing the last Buffer gives the memory back to the pool.
class MutableBuffer {
 public:
  /// Throws std::bad_alloc. Never call it with a size that came from outside and was not checked.
  static MutableBuffer allocate(size_t size_bytes);
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  /// Read-only view sharing the memory; do not write afterwards.
  Buffer freeze() const { return {owner_, data_, size_}; }
  const std::shared_ptr<void>& owner() const { return owner_; }

 private:
  std::shared_ptr<void> owner_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace swarm

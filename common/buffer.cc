#include "common/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace swarm {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMinPooled = 64u << 10;       // smaller blocks are malloc's business
constexpr size_t kMaxPooledBytes = 64u << 20;  // kept idle per process at most
constexpr size_t kHugePage = 2u << 20;
constexpr size_t kMinHuge = 16u << 20;  // from here on huge pages: 500 times fewer page faults

size_t round_up(size_t size) {
  // Classes of 1/8 power of two: at most 12.5 % waste, few distinct sizes to keep.
  size_t step = kAlignment;
  while (step * 16 <= size) step *= 2;
  size = (size + step - 1) / step * step;
  return size < kMinHuge ? size : (size + kHugePage - 1) / kHugePage * kHugePage;
}

class Pool {
 public:
  void* take(size_t capacity) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto it = idle_.find(capacity);
      if (it != idle_.end() && !it->second.empty()) {
        void* memory = it->second.back();
        it->second.pop_back();
        idle_bytes_ -= capacity;
        return memory;
      }
    }
    bool huge = capacity >= kMinHuge;
    void* memory = std::aligned_alloc(huge ? kHugePage : kAlignment, capacity);
    if (memory == nullptr) throw std::bad_alloc();
    if (huge) ::madvise(memory, capacity, MADV_HUGEPAGE);  // a wish: it may fail
    return memory;
  }

  void give(void* memory, size_t capacity) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (capacity >= kMinPooled && idle_bytes_ + capacity <= kMaxPooledBytes) {
        idle_[capacity].push_back(memory);
        idle_bytes_ += capacity;
        return;
      }
    }
    std::free(memory);
  }

 private:
  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> idle_;  // capacity -> blocks
  size_t idle_bytes_ = 0;
};

Pool& pool() {
  static Pool* instance = new Pool;  // never destroyed: buffers may outlive static destructors
  return *instance;
}

}  // namespace

MutableBuffer MutableBuffer::allocate(size_t size_bytes) {
  if (size_bytes > std::numeric_limits<size_t>::max() / 4) throw std::bad_alloc();
  MutableBuffer buffer;
  size_t capacity = round_up(size_bytes == 0 ? 1 : size_bytes);
  void* memory = pool().take(capacity);
  buffer.owner_ = std::shared_ptr<void>(memory, [capacity](void* p) { pool().give(p, capacity); });
  buffer.data_ = static_cast<uint8_t*>(memory);
  buffer.size_ = size_bytes;
  return buffer;
}

}  // namespace swarm

/// Memory that LibTorch takes for tensors on the CPU, counted while a TorchMemory lives.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <torch/version.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace swarm::tensor {

/// One at a time. Tensors made meanwhile may outlive it. Sizes are those of the pieces that malloc gave,
/// a few bytes more than asked for.
class TorchMemory {
 public:
  TorchMemory() : before_(c10::GetAllocator(c10::kCPU)) {
    c10::SetAllocator(c10::kCPU, &counting());
    reset();
  }
  ~TorchMemory() { c10::SetAllocator(c10::kCPU, before_); }
  TorchMemory(const TorchMemory&) = delete;
  TorchMemory& operator=(const TorchMemory&) = delete;

  /// From here on.
  void reset() {
    start_ = now();
    peak() = start_;
  }
  /// More than at the reset: now, and at most since then [bytes].
  int64_t grown() const { return now() - start_; }
  int64_t most() const { return peak() - start_; }

 private:
  struct Counting final : c10::Allocator {
#if TORCH_VERSION_MAJOR >= 2
    c10::DataPtr allocate(size_t n) override { return make(n); }
    void copy_data(void* to, const void* from, size_t n) const override {
      std::memcpy(to, from, n);
    }
#else
    c10::DataPtr allocate(size_t n) const override { return make(n); }
#endif
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
  };

  static c10::DataPtr make(size_t n) {
    void* piece = c10::alloc_cpu(n);
    const int64_t bytes = size_of(piece), after = now() += bytes;
    for (int64_t most = peak(); most < after && !peak().compare_exchange_weak(most, after);)
      continue;
    return {piece, piece, &release, c10::Device(c10::kCPU)};
  }
  static void release(void* piece) {
    now() -= size_of(piece);
    c10::free_cpu(piece);
  }
  static int64_t size_of(void* piece) { return static_cast<int64_t>(malloc_usable_size(piece)); }
  static Counting& counting() {
    static Counting allocator;
    return allocator;
  }
  static std::atomic<int64_t>& now() {
    static std::atomic<int64_t> bytes{0};
    return bytes;
  }
  static std::atomic<int64_t>& peak() {
    static std::atomic<int64_t> bytes{0};
    return bytes;
  }

  c10::Allocator* const before_;
  int64_t start_ = 0;
};

}  // namespace swarm::tensor

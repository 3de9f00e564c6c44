/// The microbatches that a peer holds, from arrival to answer, and which is computed next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/microbatch_key.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// Backward goes first: it frees a place, and somebody upstream waits for the gradient.
///
///     admit() -> kForwardQueue -> next() -> kForward -> sent_on() -> kDownstream
///             -> came_back() -> kBackwardQueue -> next() -> kBackward -> take()
///
/// take() ends it from any state; on the last stage right after kForward. What is computing cannot
/// be stopped: cancel() only marks it. `Payload` is the owner's: the request, who waits for it.
///
/// Places are bounded in number and by the bytes of what has one. Bytes are the owner's estimate.
///
/// Pure: time [s] is an argument. Not thread-safe; one owner.
template <class Payload>
class MicrobatchDesk {
 public:
  enum class At { kForwardQueue, kForward, kDownstream, kBackwardQueue, kBackward };
  struct Resident {
    At at = At::kForwardQueue;
    bool cancelled = false;  ///< What runs is finished; what follows is not to be begun.
    double give_up_s = 0;
    uint64_t bytes = 0;
    Payload payload;

    bool computing() const { return at == At::kForward || at == At::kBackward; }
  };
  struct Job {
    MicrobatchKey key;
    bool backward = false;
  };

  explicit MicrobatchDesk(size_t places, uint64_t max_bytes = UINT64_MAX)
      : places_(places), max_bytes_(max_bytes) {}

  /// Null if it is not here. Valid until take().
  Resident* find(const MicrobatchKey& key) {
    auto it = residents_.find(key);
    return it == residents_.end() ? nullptr : &it->second;
  }
  /// The one whose computation has just ended; null if it was taken meanwhile, even if it has come
  /// again since.
  Resident* computed(const MicrobatchKey& key) {
    Resident* resident = find(key);
    return resident != nullptr && resident->computing() ? resident : nullptr;
  }
  /// One more of `bytes` has no place. The first always has one, however large it is.
  bool full(uint64_t bytes = 0) const {
    if (residents_.empty()) return places_ == 0;
    return residents_.size() >= places_ || bytes > max_bytes_ - std::min(bytes_, max_bytes_);
  }

  /// Takes a microbatch in, at the end of the queue. Requires that it is not here.
  Resident& admit(const MicrobatchKey& key, double now_s, double budget_s, Payload payload,
                  uint64_t bytes = 0) {
    forward_.push_back(key);
    bytes_ += bytes;
    return residents_[key] = {At::kForwardQueue, false, now_s + budget_s, bytes,
                              std::move(payload)};
  }

  /// What to compute now; it counts as computing from here on. Forward passes of steps after
  /// `newest_step` keep their place in the queue.
  std::optional<Job> next(Step newest_step) {
    if (!backward_.empty()) return start(backward_, backward_.begin(), At::kBackward);
    auto due = std::find_if(forward_.begin(), forward_.end(),
                            [&](const MicrobatchKey& key) { return key.step <= newest_step; });
    if (due == forward_.end()) return std::nullopt;
    return start(forward_, due, At::kForward);
  }

  /// Its forward pass is done, the next stage has it. Requires that it is here.
  void sent_on(const MicrobatchKey& key) { residents_.at(key).at = At::kDownstream; }
  /// The next stage's gradient is here: to the queue for backward. Requires that it is here.
  void came_back(const MicrobatchKey& key) {
    residents_.at(key).at = At::kBackwardQueue;
    backward_.push_back(key);
  }

  /// Ends its stay, wherever it is. Nothing if it is not here.
  std::optional<Payload> take(const MicrobatchKey& key) {
    auto node = residents_.extract(key);
    if (node.empty()) return std::nullopt;
    bytes_ -= node.mapped().bytes;
    forward_.erase(std::remove(forward_.begin(), forward_.end(), key), forward_.end());
    backward_.erase(std::remove(backward_.begin(), backward_.end(), key), backward_.end());
    return std::move(node.mapped().payload);
  }

  /// Nobody waits for it any more. True: take() it now. False: not here, or computing; then it is
  /// marked.
  bool cancel(const MicrobatchKey& key) {
    Resident* resident = find(key);
    if (resident == nullptr) return false;
    if (!resident->computing()) return true;
    resident->cancelled = true;
    return false;
  }

  /// Those whose budget ended more than `grace_s` ago, except what is computing.
  std::vector<MicrobatchKey> late(double now_s, double grace_s) const {
    return keys([&](const auto& resident) {
      return resident.second.give_up_s + grace_s < now_s && !resident.second.computing();
    });
  }
  /// Those of steps before this one.
  std::vector<MicrobatchKey> before(Step step) const {
    return keys([&](const auto& resident) { return resident.first.step < step; });
  }

  size_t size() const { return residents_.size(); }
  size_t places() const { return places_; }
  uint64_t bytes() const { return bytes_; }
  /// In a queue or being computed; the others wait for the next stage.
  size_t in_hand() const {
    return static_cast<size_t>(
        std::count_if(residents_.begin(), residents_.end(),
                      [](const auto& resident) { return resident.second.at != At::kDownstream; }));
  }
  size_t queued_forward() const { return forward_.size(); }
  size_t queued_backward() const { return backward_.size(); }

 private:
  using Queue = std::deque<MicrobatchKey>;

  Job start(Queue& queue, Queue::iterator first, At at) {
    Job job{*first, at == At::kBackward};
    queue.erase(first);
    residents_.at(job.key).at = at;
    return job;
  }
  template <class Condition>
  std::vector<MicrobatchKey> keys(Condition condition) const {
    std::vector<MicrobatchKey> found;
    for (const auto& resident : residents_)
      if (condition(resident)) found.push_back(resident.first);
    return found;
  }

  size_t places_;
  uint64_t max_bytes_;
  uint64_t bytes_ = 0;  // of residents_
  std::map<MicrobatchKey, Resident> residents_;
  Queue forward_, backward_;
};

}  // namespace swarm::routing

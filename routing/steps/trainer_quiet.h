/// What holds a trainer up to which nothing comes back, for the people who look at it. Pure: time is an argument.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

namespace swarm::routing {

class TrainerQuiet {
 public:
  /// From one word to the next; while it only waits for what it carries, the first one comes later.
  static constexpr double kEvery_s = 10, kCarries_s = 30;

  struct Sees {
    bool coordinator = false;  ///< It follows one that it reaches.
    size_t peers = 0;          ///< Of the first stage, that it reaches.
    size_t carries = 0;        ///< Microbatches under way.
    double oldest_s = 0;       ///< Since the oldest of them set out.
  };

  /// A microbatch came back.
  void heard(double now_s) {
    since_s_ = said_s_ = now_s;
    failed_ = 0;
  }
  /// One will not.
  void failed(const std::string& why) {
    ++failed_;
    why_ = why;
  }
  /// Training is finished: there is nothing to wait for until something comes back.
  void finished() { since_s_.reset(); }
  /// A line, if one is due. It begins to wait with the first call.
  std::optional<std::string> word(const Sees& sees, double now_s) {
    if (!begun_) heard(now_s);
    begun_ = true;
    if (!since_s_ || now_s - said_s_ < kEvery_s) return std::nullopt;
    const std::string why = reason(sees);
    if (why.empty()) return std::nullopt;
    said_s_ = now_s;
    return fmt::format("nothing has come back for {:.0f} s: {}", now_s - *since_s_, why);
  }

 private:
  std::string reason(const Sees& sees) const {
    if (!sees.coordinator) return "this trainer reaches no coordinator";
    if (failed_ > 0) return fmt::format("{} microbatches failed, the last one: {}", failed_, why_);
    if (sees.carries > 0 && sees.oldest_s >= kCarries_s)
      return fmt::format("{} microbatches are under way, the oldest since {:.0f} s", sees.carries,
                         sees.oldest_s);
    return sees.peers == 0 ? "this trainer reaches no peer of stage 0" : "";
  }

  bool begun_ = false;
  std::optional<double> since_s_;
  double said_s_ = 0;
  size_t failed_ = 0;
  std::string why_;
};

}  // namespace swarm::routing

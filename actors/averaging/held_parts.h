/// Parts of rounds that have not started here yet, bounded in bytes. As all promises, those within
/// are delivered by whoever takes them. One owner: an Averager.
#pragma once

#include <caf/actor_clock.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <map>
#include <vector>

#include "actors/net/mail.h"
#include "common/strong_id.h"

namespace swarm::actors {

class HeldParts {
 public:
  using TimePoint = caf::actor_clock::time_point;
  struct Part {
    Mail mail;
    caf::typed_response_promise<Mail> promise;
    TimePoint until;
  };

  explicit HeldParts(uint64_t max_bytes = 0) : max_bytes_(max_bytes) {}

  bool has_room(const Mail& mail) const { return bytes_ + weight(mail) <= max_bytes_; }
  void hold(Round round, Part part);
  /// Of this and of earlier rounds.
  std::vector<Part> take(Round newest);
  std::vector<Part> take_expired(TimePoint now);
  std::vector<Part> take_all();

  size_t size() const { return parts_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  static uint64_t weight(const Mail& mail) {
    return mail.body.size() + mail.head->SpaceUsedLong() + 512;
  }

  uint64_t max_bytes_, bytes_ = 0;
  std::multimap<Round, Part> parts_;
};

}  // namespace swarm::actors

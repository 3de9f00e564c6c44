/// The requests of one link that wait for an answer, and until when. Pure; one owner.
///
/// What has been answered leaves nothing behind, however long its budget was.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "actors/net/mail.h"

namespace swarm::actors::links {

class RequestTable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Request {
    uint64_t id = 0;  ///< Unique on the link, from 1.
    proto::MessageKind kind = proto::KIND_UNSPECIFIED;
    TrafficClass traffic = TrafficClass::kControl;  ///< Of its frame: where it may still queue.
    TimePoint deadline{};
    uint64_t body_bytes = 0;  ///< Of the request itself.
  };

  RequestTable() = default;
  RequestTable(const RequestTable&) = delete;  // what is asked about bodies points here
  RequestTable& operator=(const RequestTable&) = delete;

  /// The id for the next request; nothing is remembered of it before add().
  uint64_t next_id() { return next_id_++; }
  void add(const Request& request);

  /// Null when it is not known. Valid until it is taken out.
  const Request* find(uint64_t id) const {
    const auto it = requests_.find(id);
    return it == requests_.end() ? nullptr : &it->second;
  }
  /// Takes an answered request out; nothing when it is not known, or was given up.
  std::optional<Request> take(uint64_t id);
  /// Takes out what has waited until its deadline, earliest first.
  std::vector<Request> take_expired(TimePoint now);
  /// Takes all out, by id.
  std::vector<Request> take_all();

  bool expired(TimePoint now) const {
    return !deadlines_.empty() && deadlines_.begin()->first <= now;
  }
  size_t size() const { return requests_.size(); }
  /// Deadlines kept: as many as requests.
  size_t deadlines() const { return deadlines_.size(); }

 private:
  uint64_t next_id_ = 1;
  std::map<uint64_t, Request> requests_;
  std::set<std::pair<TimePoint, uint64_t>> deadlines_;
};

}  // namespace swarm::actors::links

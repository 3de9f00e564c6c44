/// What a node has received, on its way from the sockets to the links: it reads no faster than its
/// rate (TCP then holds the senders back), and what was read waits for its delay (DelayLine).
///
/// A connection that is read while the rate is used up is not read again before its turn; turns go
/// round among those, so that a busy link does not starve another. What was read beyond the rate (a
/// socket gives more before it can be stopped) waits until the rate would have let it through. What
/// comes while a connection is cut waits, and its end too, until it is cut no more. Pure; one owner.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "actors/net/links/node_table.h"
#include "actors/net/links/send_limit.h"
#include "actors/net/links/shape/delay_line.h"
#include "actors/net/links/shape/options.h"
#include "common/result.h"

namespace swarm::actors::links {

class Inlet {
 public:
  using TimePoint = SendLimit::TimePoint;

  /// Without a rate and without delays everything passes. `seed`: of the jitter.
  explicit Inlet(uint32_t seed) : random_(seed) {}

  void set_rate(double bytes_per_s, TimePoint now) { limit_.set_rate(bytes_per_s, now); }
  bool limited() const { return limit_.limited(); }

  /// What `conn` receives from now on is delayed like this; what waits already keeps its time.
  /// `stranger`: its hello has not been accepted.
  void shape(ConnId conn, const LinkShape& link, bool stranger);
  void forget(ConnId conn);

  /// `data` was read. False: it may pass at once, and nothing is kept. Else take() has it when the
  /// rate has let it through and its delay is over.
  bool push(ConnId conn, const void* data, size_t size, TimePoint now);
  /// The connection is gone for `why`, which is to be known after what was read before. False: at
  /// once.
  bool end(ConnId conn, const Error& why, TimePoint now);

  /// The owner of `conn` takes nothing now: what is due waits, and it is not read once its line is
  /// full.
  void hold(ConnId conn, bool on);
  /// Whether `conn` may be read.
  bool may_read(ConnId conn) const;
  /// Ready for its owner: bytes, or nothing but the reason of the end.
  struct Due {
    ConnId conn = 0;
    std::vector<char> bytes;
    std::optional<Error> end;
  };
  /// The next that is due at `now`, if any.
  std::optional<Due> take(TimePoint now);
  /// When take() will have something more, as far as is known.
  std::optional<TimePoint> next_due() const;
  /// Those that the rate kept from being read and that may be now. Call every 20 ms or so.
  std::vector<ConnId> next_turns(TimePoint now);

  /// How much to read at a time.
  size_t read_bytes(size_t at_most) const { return limit_.chunk_bytes(at_most); }

 private:
  struct Line {
    double delay_s = 0, jitter_s = 0;
    uint64_t bound_bytes = 0;
    DelayLine reads;
    std::optional<Error> ended;
    TimePoint ends_at{};
    bool held = false;
    bool cut = false;
    bool waits = false;  // for its turn to be read

    bool delays() const { return cut || delay_s > 0 || jitter_s > 0 || !reads.empty() || ended; }
    std::optional<TimePoint> next_due() const;
  };
  TimePoint due(const Line& line, TimePoint now);

  SendLimit limit_{0};
  std::deque<ConnId> turns_;  // who waits, longest first
  std::map<ConnId, Line> lines_;
  std::minstd_rand random_;
};

}  // namespace swarm::actors::links

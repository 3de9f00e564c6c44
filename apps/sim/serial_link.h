/// One direction of a wire that carries one chunk at a time. What waits stands in lines, one for
/// each flow (a sender and a receiver) and traffic class; the most urgent class goes first, but for
/// the share that states have (actors/net/state_share.h), of equals the line that has waited
/// longest, and each turn is one chunk: a large mail holds up an urgent one for no longer than a
/// chunk takes.
///
/// Pure: time is an argument. Not thread-safe; one owner.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

#include "actors/net/state_share.h"
#include "actors/net/traffic.h"

namespace swarm::sim {

class SerialLink {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// The longest chunk, as LinksOptions::max_chunk_bytes; slower links cut shorter ones, as a node
  /// whose rate is limited does (actors/net/links/send_limit.h).
  static constexpr uint64_t kMaxChunkBytes = 256u << 10;

  struct Line {
    uint64_t flow = 0;
    actors::TrafficClass traffic = actors::TrafficClass::kControl;
    friend bool operator<(const Line& a, const Line& b) {
      return std::tie(a.flow, a.traffic) < std::tie(b.flow, b.traffic);
    }
  };
  /// A mail, or a part of one.
  struct Piece {
    Line line;
    uint64_t mail = 0;
    uint64_t bytes = 0;
    bool last = true;  ///< It ends the mail.
    int counted = -1;  ///< For the owner; every chunk of the piece has it.
  };

  /// [bytes/s]; 0: no limit, every chunk is through at once.
  double rate() const { return rate_; }
  /// The largest chunk that is cut at this rate.
  uint64_t chunk_bytes() const;
  /// The rest of the chunk under way goes at the new rate. Requires bytes_per_s >= 0.
  void set_rate(TimePoint now, double bytes_per_s);

  /// Puts `piece` at the end of its line. Requires bytes > 0.
  void push(const Piece& piece);
  /// If the wire is free and a line may send: its next chunk is under way from `now` on. Returns
  /// that chunk, if one began.
  std::optional<Piece> begin(TimePoint now);
  const Piece* under_way() const { return under_way_ ? &under_way_->chunk : nullptr; }
  /// When the chunk under way is through, if there is one.
  std::optional<TimePoint> through_at() const;
  /// The chunk under way is through: the wire is free. Requires through_at().
  Piece finish();

  /// A held line keeps what waits in it.
  void hold(const Line& line, bool on);
  /// Forgets what waits of `mail` in `line`, or of the whole line; not the chunk under way.
  void forget(const Line& line, uint64_t mail);
  void forget(const Line& line);
  /// Nothing waits, nothing is under way.
  bool empty() const { return lines_.empty() && !under_way_; }

 private:
  struct Waiting {
    std::deque<Piece> pieces;
    bool held = false;
    bool in_turn = false;  // stands in turns_
  };
  struct UnderWay {
    Piece chunk;
    double bytes_left = 0;  // at `since`
    TimePoint since;
  };
  void enter(const Line& line, Waiting& waiting);
  bool waits(actors::TrafficClass traffic);
  std::optional<actors::TrafficClass> next_class();

  double rate_ = 0;
  std::map<Line, Waiting> lines_;  // with pieces, or held
  std::array<std::deque<Line>, actors::kTrafficClasses> turns_;
  std::optional<UnderWay> under_way_;
  actors::StateShare share_;
};

}  // namespace swarm::sim

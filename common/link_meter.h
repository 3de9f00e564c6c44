/// What one direction of a node's links carries per second in which it has something to carry.
///
///   LinkMeter sending;
///   sending.set_busy(link, true, now);    // a chunk is ready to be written
///   sending.moved(link, 65'536, then);    // so many bytes have left
///   sending.set_busy(link, false, then);  // all have
///   sending.rate();                       // [bytes/s] of the node's uplink
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

namespace swarm {

struct LinkMeterOptions {
  /// The first bytes of a busy time: they may vanish in buffers at once, and say nothing.
  uint64_t hidden_bytes = 256u << 10;
  // A window, over which a rate is taken, may span several busy times. It ends when it has
  uint64_t min_bytes = 128u << 10;  ///< ... so many bytes ...
  uint64_t full_bytes = 1u << 20;   ///< ... and either so many ...
  double full_s = 0.25;             ///< ... or so many busy seconds.
};

/// A rate seen is the least that there is: something else may have held the bytes up, such as the
/// other side's own link. So the best of what was seen lately counts: a faster window at once, a
/// slower one by half.
///
/// Of the node, both all links together while any was busy and each link by itself are such lower
/// bounds. Of one link, the seconds that several were busy in are shared among them, in favour of
/// the link: what is slow because its node is, is not to look like a slow pair. Who of several goes first
/// may hold up one for long; while all together carry what the node can, that too is the node.
///
/// Pure: time is an argument and never goes back. Not thread-safe; one owner.
class LinkMeter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using LinkId = uint64_t;

  explicit LinkMeter(const LinkMeterOptions& options = {}) : options_(options) {}

  /// Something waits to be carried over this link, or is on its way.
  void set_busy(LinkId link, bool busy, TimePoint now);
  /// Ignored while the link is not busy.
  void moved(LinkId link, uint64_t bytes, TimePoint now);
  void forget(LinkId link, TimePoint now);
  /// Time passes: what was seen long ago is not known any more. Frames so small that they say nothing would
  /// otherwise leave a link as slow as it was once.
  void look(TimePoint now);

  /// Of the node's links together [bytes/s]; 0: not known.
  double rate() const;
  /// Of one link [bytes/s]; 0: not known, or about as fast as the node: then the node explains it.
  double rate(LinkId link) const;

 private:
  struct Window {
    uint64_t bytes = 0;
    double busy_s = 0;

    double rate() const { return static_cast<double>(bytes) / std::max(busy_s, 1e-9); }
  };
  struct Link {
    bool busy = false;
    uint64_t hidden_left = 0;
    double alone_from_s = 0, shared_from_s = 0;  // since when time was not added to the windows
    Window alone, shared;
    Window beside;             // what all links carried while this one was busy
    uint64_t beside_from = 0;  // of carried_
    double alone_rate = 0, shared_rate = 0;
    double measured_at_s = 0, shared_at_s = 0;

    bool measured() const { return busy && hidden_left == 0; }
  };

  void advance(TimePoint now);
  void begin(Link& link);
  void add_time(Link& link);
  bool close(Window& window, double& rate) const;

  LinkMeterOptions options_;
  std::map<LinkId, Link> links_;
  Window all_;
  double all_rate_ = 0, all_at_s_ = 0;
  TimePoint last_{};
  double clock_s_ = 0;   // since the first call
  double shared_s_ = 0;  // of a busy second each busy link has its part
  uint64_t carried_ = 0;
  int busy_ = 0, measured_ = 0;
};

}  // namespace swarm

/// What a network of serial links does to mail: the sender's uplink, the wire between the two and
/// the receiver's downlink, one after the other, chunk by chunk. Each is shared by all mail that
/// takes it (serial_link.h); what has no rate takes no time.
///
///   Wires wires;
///   wires.set_node(now, a, {1e6, 0});  // a sends 1 MB/s at most
///   wires.send(now, {a, b, TrafficClass::kActivations, 500'000}, 7);
///   wires.next();                      // the moment when something moves
///   wires.arrived(then);               // {7}, 0.5 s later
///
/// Bytes go on while the rest of their chunk still comes: a mail over three equal links takes as long
/// as over one. A line of the first limited link is the sender's queue: no more than kAhead of the
/// chunks that the slowest link cuts are beyond it, for each flow and class, as a transport's window
/// has it, so that a slow receiver does not fill the others' links.
///
/// Pure: time is an argument and never goes back. Not thread-safe; one owner.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "apps/sim/serial_link.h"
#include "common/ids.h"

namespace swarm::sim {

/// Of one machine [bytes/s]; 0: no limit.
struct LinkRates {
  double up = 0;
  double down = 0;
};

class Wires {
 public:
  using TimePoint = SerialLink::TimePoint;
  static constexpr uint64_t kAhead = 4;

  struct Load {
    NodeId from, to;
    actors::TrafficClass traffic = actors::TrafficClass::kControl;
    uint64_t bytes = 0;
  };

  void set_node(TimePoint now, const NodeId& node, const LinkRates& rates);
  /// From `from` to `to` only; the way back has a rate of its own.
  void set_pair(TimePoint now, const NodeId& from, const NodeId& to, double bytes_per_s);
  /// Whether anything has a rate, or still waits for what had one.
  bool limited() const { return !wires_.empty(); }

  /// `mail` sets out. False: nothing holds it up, it is there already. Requires a number that is
  /// not on its way, and load.bytes > 0.
  bool send(TimePoint now, const Load& load, uint64_t mail);
  /// When something moves next.
  std::optional<TimePoint> next() const;
  /// Moves everything on to `now`: the mail whose last byte arrived since, in order.
  std::vector<uint64_t> arrived(TimePoint now);

  /// Mail that has not left its sender at all is not sent; true if so.
  bool take_back(uint64_t mail);
  /// The connection is gone: all mail from `from` to `to` is lost. Returns it.
  std::vector<uint64_t> lose(const NodeId& from, const NodeId& to);
  /// The machine is gone with its links. Requires that its mail was lost before.
  void forget(const NodeId& node);
  /// On its way from one to the other, sent or not.
  uint64_t bytes(const NodeId& from, const NodeId& to) const;

 private:
  using Line = SerialLink::Line;
  using Piece = SerialLink::Piece;
  enum Hop { kUp, kBetween, kDown, kHops };
  using Place = std::tuple<Hop, NodeId, NodeId>;  // of a link; the second id only between
  struct Flow {
    NodeId from, to;
    uint64_t bytes = 0;
    std::set<uint64_t> mails;
    std::array<uint64_t, actors::kTrafficClasses> ahead{};  // bytes that left and did not arrive
  };
  struct Mail {
    Line line;
    uint64_t bytes = 0;
    bool left = false;
  };

  /// The next moment at which a link is to be looked at.
  struct Wire {
    SerialLink link;
    TimePoint due{};
    bool scheduled = false;
    bool handed = false;  // the chunk under way is in the next link's line already
  };

  static Place place(const Flow& flow, int hop);
  Wire* wire(const Flow& flow, int hop);
  Wire* next_wire(const Flow& flow, int hop, int& found);
  uint64_t window(const Flow& flow);
  void set_rate(TimePoint now, const Place& place, double bytes_per_s);
  bool take(TimePoint now, const Piece& piece, int hop);
  void begin(TimePoint now, const Place& place, Wire& wire);
  void schedule(TimePoint now, const Place& place, Wire& wire);
  void look(TimePoint now, const Place& place, std::vector<uint64_t>& there);
  void hand_over(TimePoint now, int hop, Piece chunk, std::vector<uint64_t>& there);
  void release(TimePoint now, const Piece& piece);
  void forget_mail(uint64_t mail);

  std::map<Place, Wire> wires_;  // with a rate, or not empty
  std::set<std::pair<TimePoint, Place>> due_;
  std::map<std::pair<NodeId, NodeId>, uint64_t> flow_numbers_;
  std::map<uint64_t, Flow> flows_;
  std::map<uint64_t, Mail> mails_;
  uint64_t next_flow_ = 0;
};

}  // namespace swarm::sim

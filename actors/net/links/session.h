/// One link as a state machine: hello, priorities, requests with deadlines, heartbeats, counters.
///
///   kHello --handshake done--> kUp --lost, malformed, silent--> kClosed
///   kHello --refusal, malformed, too late--> kClosed
///
/// Pure: bytes and times in; bytes, events and a closing reason out. The owner moves the bytes
/// (TCP, memory network) and calls tick(). Not thread-safe; one owner.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/net/links/admission.h"
#include "actors/net/links/frame.h"
#include "actors/net/links/handshake.h"
#include "actors/net/links/links.h"
#include "actors/net/links/pulse.h"
#include "actors/net/links/request_table.h"
#include "actors/net/links/send_queue.h"
#include "actors/net/links/serving.h"

namespace swarm::actors::links {

using TimePoint = std::chrono::steady_clock::time_point;

/// What a received byte may lead to.
struct LinkEvent {
  enum class Type {
    kUp,       ///< Hello exchanged; peer() is known.
    kMail,     ///< For local actor `actor`; to be answered with reply() when request_id != 0.
    kReply,    ///< To own request `request_id`.
    kFailed,   ///< Own request `request_id` failed with `error`.
    kGivenUp,  ///< The other side has no use for the link.
  };
  Type type;
  uint64_t request_id = 0;
  std::string actor;
  Mail mail;
  Error error;
};

/// Who may be at the other side.
struct Wanted {
  std::optional<NodeId> node{};  ///< Who is dialled for; none: anybody.
  /// Asked before the link comes up, whether the other side has proven the run's key or not; empty: all
  /// may. Errors: kRefused.
  std::function<Status(const NodeInfo&, bool proven)> judge{};
  /// Asked when the other side's name is known; true: the greeting was never heard. Empty: all are.
  std::function<bool(const std::string& name)> cut{};
};

class Session {
 public:
  enum class State { kHello, kUp, kClosed };

  /// `dialled`: this side opened the connection and speaks first. `options` is shared by the
  /// node's links, `budget` too. `remote`: the other side's address, for people. `admissions`
  /// outlives the session; null: all are let in.
  Session(std::shared_ptr<const LinksOptions> options, bool dialled,
          std::shared_ptr<ReceiveBudget> budget, TimePoint now, std::string remote = {},
          const Admissions* admissions = nullptr, Wanted wanted = {});

  /// Bytes from the other side, any cut. Ignored once closed.
  void receive(const void* data, size_t size, TimePoint now);
  /// Reading stopped because the node's receive budget is used up; keep bytes back until resume().
  bool paused() const { return paused_; }
  void resume(TimePoint now);
  /// The owner has stopped reading for reasons of its own: the other side is not silent.
  void not_read(TimePoint now) { pulse_.not_read(now); }
  /// What is being received; read only.
  const FrameDecoder& input() const { return decoder_; }

  /// Queues mail for `actor` of the other side; the id comes back in kReply or kFailed.
  /// Errors: kOverloaded (send budget), kInvalidArgument, kLinkLost (not up).
  Result<uint64_t> request(const std::string& actor, const Mail& mail, TimePoint now);
  Status send(const std::string& actor, const Mail& mail);
  /// Answers a kMail event. Ignored when the requester has cancelled; but kRefused, also of mail that
  /// went one way (id 0), is told to the node's owner.
  void reply(uint64_t request_id, const Mail& mail);
  void reply(uint64_t request_id, const Error& error);

  /// Appends the next chunk by priority to `out`, of `max_bytes` and max_chunk_bytes at most (its
  /// header not counted); false when nothing is queued. After closing only the goodbye is left.
  bool next_chunk(std::vector<char>& out, uint32_t max_bytes = UINT32_MAX);
  /// What waits to be sent; read only.
  const SendQueue& output() const { return output_; }

  /// Deadlines, heartbeats, silence. At least every 50 ms, where due() says so.
  void tick(TimePoint now);
  /// Whether tick() would do anything.
  bool due(TimePoint now) const;

  /// Ends the link: all own requests fail with `reason`. With `tell`, an Error frame is left for
  /// next_chunk().
  void close(const Error& reason, bool tell);

  std::vector<LinkEvent> take_events();

  State state() const { return state_; }
  const NodeInfo& peer() const { return peer_; }   ///< Valid once up.
  const Error& reason() const { return reason_; }  ///< Valid once closed.
  /// What was wrong with the other side.
  struct Complaints {
    bool refused = false;         ///< A hello did not match (either side's).
    bool malformed = false;       ///< Its bytes are not our protocol; the link ended.
    uint64_t malformed_mail = 0;  ///< Mail that could not be read; the link lives on.
  };
  const Complaints& complaints() const { return complaints_; }
  /// Tells the other side that this one has no use for the link. Requires kUp.
  void give_up();
  /// Since when there has been no mail; none while requests or bytes are under way.
  std::optional<TimePoint> idle_since() const;
  /// Fills all but `node`.
  LinkStats stats(TimePoint now) const;

 private:
  void drain(const uint8_t* data, size_t size, TimePoint now);
  void on_frame(InFrame frame, TimePoint now);
  void on_greeting(const InFrame& frame);
  void on_heartbeat(const InFrame& frame, TimePoint now);
  void on_reply(InFrame frame);
  void on_mail(InFrame frame);
  void break_off(std::string why);
  Status check_mail(const std::string& actor, const Mail& mail) const;

  std::shared_ptr<const LinksOptions> options_;  // shared by the node's links
  const bool dialled_;
  const std::string remote_;
  const Admissions* admissions_;
  const Wanted wanted_;
  Handshake handshake_;
  FrameDecoder decoder_;
  State state_ = State::kHello;
  NodeInfo peer_;
  Error reason_;
  Complaints complaints_;

  SendQueue output_;
  RequestTable requests_;  // own
  Serving serving_;        // the other side's

  bool paused_ = false;
  std::vector<uint8_t> held_back_;  // bytes that wait for the budget

  TimePoint created_;
  TimePoint last_mail_;
  Pulse pulse_;
  std::vector<LinkEvent> events_;
};

}  // namespace swarm::actors::links

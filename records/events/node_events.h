/// Events that a node writes about itself, whatever its roles.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct NodeStarted {
  static constexpr EventInfo kInfo{"started", Level::kInfo, Place::kNone, kPlain,
                                   "The node listens."};
  std::string endpoint, id;
  template <class Visitor>
  void fields(Visitor& v) {
    v("endpoint", endpoint, "HOST:PORT where others reach it");
    v("id", id, "32 hex digits, drawn anew at every start");
  }
};

struct NodeLeaving {
  static constexpr EventInfo kInfo{"leaving", Level::kInfo, Place::kNone, kPlain,
                                   "The node was told to end and takes no more work."};
  template <class Visitor>
  void fields(Visitor&) {}
};

struct NodeLeft {
  static constexpr EventInfo kInfo{"left", Level::kInfo, Place::kNone, kPlain,
                                   "The node has left in order; the process ends. What it held is "
                                   "on its disk, unless `state_unsaved` says otherwise."};
  template <class Visitor>
  void fields(Visitor&) {}
};

struct StateUnsaved {
  static constexpr EventInfo kInfo{"state_unsaved", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "The node leaves, and the last state of a stage is not on its "
                                   "disk: started again it takes it from others, or goes on from "
                                   "an older snapshot."};
  std::string actor, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("actor", actor, "which one, for example `stage.0`");
    v("reason", reason, "why, for people");
  }
};

struct Preempted {
  static constexpr EventInfo kInfo{"preempted", Level::kWarn, Place::kLoss,
                                   kRemarkable | kNeedsReason,
                                   "The node's machine is about to go: the node leaves in order."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "which of the node's `preemption_` keys says so");
  }
};

struct PreemptionUnseen {
  static constexpr EventInfo kInfo{"preemption_unseen", Level::kWarn, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "`node.preemption_command` cannot be run: the node does not see "
                                   "when its machine is about to go. Told once."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "what happened instead, for people");
  }
};

struct StopAsked {
  static constexpr EventInfo kInfo{"stop_asked", Level::kWarn, Place::kNone, kPlain,
                                   "Somebody asked over the network that the node stop."};
  bool at_once = false;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("at_once", at_once, "without saving anything");
    v("reason", reason, "as the sender gave it");
  }
};

struct ActorFailed {
  static constexpr EventInfo kInfo{
      "actor_failed", Level::kError, Place::kNone, kNeedsReason,
      "An actor of the node has ended: its role is started again; one that has no role (`links`, "
      "`dht`, `records`, ...) ends the process with an error."};
  std::string actor, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("actor", actor, "which one, for example `stage.0`");
    v("reason", reason, "why it ended");
  }
};

struct LinksShaped {
  static constexpr EventInfo kInfo{"links_shaped", Level::kInfo, Place::kNone, kPlain,
                                   "The node's links have artificial rates or delays from now on, "
                                   "or others, or none any more."};
  double send_bytes_per_s = 0, receive_bytes_per_s = 0, delay_s = 0, jitter_s = 0;
  uint64_t paths = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("send_bytes_per_s", send_bytes_per_s, "all its links together; 0: no limit");
    v("receive_bytes_per_s", receive_bytes_per_s, "all its links together; 0: no limit");
    v("delay_s", delay_s, "of what it receives");
    v("jitter_s", jitter_s, "of what it receives, at most");
    v("paths", paths, "rows about single pairs");
  }
};

struct LinksFileRefused {
  static constexpr EventInfo kInfo{"links_file_refused", Level::kWarn, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "The file of `--follow-links` has a fault or cannot be read; "
                                   "the node's links stay as they were."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "file, line, column and what is wrong");
  }
};

struct WaitsToJoin {
  static constexpr EventInfo kInfo{
      "waits_to_join", Level::kWarn, Place::kNone, kNeedsReason,
      "The node was told to join others and has met none of them yet."};
  std::string endpoint, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("endpoint", endpoint, "HOST:PORT that it tries");
    v("reason", reason, "why it does not get there, as far as known");
  }
};

struct Refused {
  static constexpr EventInfo kInfo{
      "refused", Level::kWarn, Place::kTrouble, kNeedsReason,
      "Two nodes do not belong together; both write this, once a minute for an address."};
  std::string address;
  bool dialled = false;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("address", address, "HOST:PORT of the other node's end of the connection");
    v("dialled", dialled, "this node had dialled; else the other one had");
    v("reason", reason, "what does not match, with both values");
  }
};

struct MailRefused {
  static constexpr EventInfo kInfo{"mail_refused", Level::kWarn, Place::kTrouble, kNeedsReason,
                                   "A node sent what it may not send, or named another as the "
                                   "sender; once a minute for an address."};
  std::string node;
  std::string address;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("sender", node, "who sent it");
    v("address", address, "HOST:PORT of its end of the link");
    v("reason", reason, "which mail, and why it is not taken");
  }
};

struct NameTaken {
  static constexpr EventInfo kInfo{"name_taken", Level::kError, Place::kTrouble, kPlain,
                                   "Another process of the swarm has the node's name; it ends."};
  std::string endpoint;
  template <class Visitor>
  void fields(Visitor& v) {
    v("endpoint", endpoint, "HOST:PORT of that process");
  }
};

struct AnnounceUnreachable {
  static constexpr EventInfo kInfo{
      "announce_unreachable", Level::kError, Place::kTrouble, kNeedsReason,
      "The node that this one joined through cannot dial it at the address that it announces."};
  std::string endpoint, by, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("endpoint", endpoint, "HOST:PORT that this node announces");
    v("by", by, "HOST:PORT of the node that tried");
    v("reason", reason, "what happened to its dial");
  }
};

struct AnnounceUntried {
  static constexpr EventInfo kInfo{"announce_untried", Level::kWarn, Place::kTrouble, kNeedsReason,
                                   "The node that this one joined through has not tried whether it "
                                   "can dial it at the address that it announces."};
  std::string endpoint, by, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("endpoint", endpoint, "HOST:PORT that this node announces");
    v("by", by, "HOST:PORT of the node that was asked");
    v("reason", reason, "why it has not");
  }
};

struct StoreSetAside {
  static constexpr EventInfo kInfo{
      "store_set_aside", Level::kError, Place::kTrouble, kRemarkable | kNeedsReason,
      "The node's database is damaged: it was renamed, the node begins "
      "with an empty one and fetches its state."};
  std::string path;
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("path", path, "where the damaged one lies now");
    v("error", error, "what is wrong with it");
  }
};

struct VoterSetAside {
  static constexpr EventInfo kInfo{
      "voter_set_aside", Level::kError, Place::kTrouble, kRemarkable | kNeedsReason,
      "What the node's voter had agreed to is damaged on its disk: the file was renamed, and the "
      "node joins as another voter with the next change."};
  std::string path;
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("path", path, "where the damaged file lies now");
    v("error", error, "what is wrong with it");
  }
};

struct LinesLost {
  static constexpr EventInfo kInfo{
      "lines_lost", Level::kWarn, Place::kTrouble, kRemarkable,
      "The node's disk did not take lines of its records (events, metrics or audit); it takes them "
      "again."};
  uint64_t lines = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("lines", lines, "so many are missing");
  }
};

struct AuditFoldRefused {
  static constexpr EventInfo kInfo{"audit_fold_refused", Level::kWarn, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "The oldest lines of an audit.jsonl take too much room and "
                                   "cannot be checked and folded: they "
                                   "stay as they are."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "why");
  }
};

struct Repeated {
  static constexpr EventInfo kInfo{"repeated", Level::kInfo, Place::kNone, kPlain,
                                   "An event said the same more than 20 times within 10 s: lines "
                                   "that were not written."};
  std::string name;
  uint64_t times = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "which event");
    v("times", times, "so many lines beyond the 20");
  }
};

using NodeEvents =
    EventList<NodeStarted, NodeLeaving, NodeLeft, StateUnsaved, Preempted, PreemptionUnseen,
              StopAsked, ActorFailed, LinksShaped, LinksFileRefused, WaitsToJoin, Refused,
              MailRefused, NameTaken, AnnounceUnreachable, AnnounceUntried, StoreSetAside,
              VoterSetAside, LinesLost, AuditFoldRefused, Repeated>;

}  // namespace swarm::records

/// The one message that actors of different nodes exchange: a protobuf head and, for tensors, a
/// body that copies nothing in one process. An actor sends Mail to a handle and does not know
/// whether the other side is in its process, behind a link or in the simulator.
#pragma once

#include <google/protobuf/message.h>

#include <caf/allowed_unsafe_message_type.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/net/traffic.h"
#include "common/buffer.h"
#include "common/ids.h"
#include "common/result.h"
#include "swarm/wire.pb.h"

namespace swarm::actors {

namespace links {
class ReceiveHold;
}

/// `kind` says which protobuf type `head` is (mail_kinds.h has the table). `body` stands for the
/// message's last field, `bytes payload = 15`, which stays empty in `head`.
struct Mail {
  proto::MessageKind kind = proto::KIND_UNSPECIFIED;
  std::shared_ptr<const google::protobuf::Message> head;
  Buffer body;
  /// How long the requester waits; a link fails the request with kPeerTimeout after it.
  std::chrono::milliseconds budget{10'000};
  /// Of a body that came over a link: its bytes in the node's receive budget.
  std::shared_ptr<links::ReceiveHold> hold;
  /// The node at the other end of the link that brought this; none: an actor of the same process.
  std::optional<NodeId> from{};
  /// What that node said at its hello that it is called.
  std::string from_name{};

  /// Requires that `kind` is T's kind (true for whatever came through dispatch or a link).
  template <class T>
  const T& as() const {
    return static_cast<const T&>(*head);
  }
};

/// The MessageKind of protobuf type T; specialised by the table in mail_kinds.h.
template <class T>
struct KindOf;

template <class T>
Mail make_mail(T head, Buffer body = {},
               std::chrono::milliseconds budget = std::chrono::milliseconds(10'000)) {
  return Mail{KindOf<T>::value, std::make_shared<const T>(std::move(head)), std::move(body), budget,
              nullptr};
}

/// Whether mail may say that it is of `node`: mail that came over a link is of the node at its other end
/// and of no other. Errors: kRefused.
Status speaks_for(const Mail& mail, const NodeId& node);

/// The receiver counts the body's bytes itself from here on, however long it keeps them: the node's
/// receive budget gets them back. Of no use twice; nothing for mail from the same process.
void take_over_body(const Mail& mail);

/// An empty message of the type that `kind` names, to parse a received head into; null for kinds
/// that are not known.
std::unique_ptr<google::protobuf::Message> new_head(proto::MessageKind kind);

/// What a request is answered with, unless by an error; KIND_UNSPECIFIED for what is no request.
proto::MessageKind reply_kind(proto::MessageKind request);

/// With which priority mail of this kind leaves a node.
TrafficClass traffic_class(proto::MessageKind kind);

/// "forward", "lease_reply": for logs and counters; "unknown" for kinds that are not known.
const char* kind_name(proto::MessageKind kind);

/// How long a head may be (links/head_rule.h).
enum class HeadSize : uint8_t {
  kShort,
  kLong,  ///< It carries lists or tokens.
};

/// One row of the table in mail_kinds.h.
struct MailKind {
  proto::MessageKind kind;
  const char* type;  ///< The protobuf type's name.
  const char* name;  ///< For people.
  proto::MessageKind reply;
  TrafficClass traffic;
  HeadSize head;
  const char* takers;  ///< Headers (without .h) of the actors that take it, between blanks.
};
const std::vector<MailKind>& mail_kinds();
HeadSize head_size(proto::MessageKind kind);  ///< Short of a kind that is not in the table.

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::Mail)

#include "actors/net/mail_kinds.h"  // IWYU pragma: export

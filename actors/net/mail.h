/// The one message that actors of different nodes exchange: a protobuf head and, for tensors, a
/// body that copies nothing in one process. An actor sends Mail to a handle and does not know
/// whether the other side is in its process, behind a link or in the simulator.
#pragma once

#include <google/protobuf/message.h>

#include <caf/allowed_unsafe_message_type.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "common/buffer.h"
#include "swarm/wire.pb.h"

namespace swarm::actors {

/// `kind` says which protobuf type `head` is (actors/net/mail.cc has the table). `body` stands for the
/// message's last field, `bytes payload = 15`, which stays empty in `head`.
struct Mail {
  proto::MessageKind kind = proto::KIND_UNSPECIFIED;
  std::shared_ptr<const google::protobuf::Message> head;
  Buffer body;
  /// How long the requester waits; a link fails the request with kPeerTimeout after it.
  std::chrono::milliseconds budget{10'000};

  /// Requires that `kind` is T's kind (true for whatever came through dispatch or a link).
  template <class T>
  const T& as() const {
    return static_cast<const T&>(*head);
  }
};

/// The MessageKind of protobuf type T; specialised in mail.h's table below.
template <class T>
struct KindOf;

template <class T>
Mail make_mail(T head, Buffer body = {},
               std::chrono::milliseconds budget = std::chrono::milliseconds(10'000)) {
  return Mail{KindOf<T>::value, std::make_shared<const T>(std::move(head)), std::move(body),
              budget};
}

/// An empty message of the type that `kind` names, to parse a received head into; null for kinds
/// that are not known.
std::unique_ptr<google::protobuf::Message> new_head(proto::MessageKind kind);

/// What a request is answered with, unless by an error.
proto::MessageKind reply_kind(proto::MessageKind request);

/// "forward", "lease_reply": for logs and counters.
const char* kind_name(proto::MessageKind kind);

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::Mail)

#include "actors/net/mail_kinds.h"  // IWYU pragma: export

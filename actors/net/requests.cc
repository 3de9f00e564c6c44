#include "actors/net/requests.h"

#include <fmt/format.h>

#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>

#include "actors/net/links/socket.h"
#include "actors/net/log.h"
#include "common/hex.h"
#include "common/names.h"
#include "common/printable.h"

namespace swarm::actors {

constexpr size_t kMaxTextField = 256;  // of proto::Text

Result<PeerAddress> from_proto(const proto::Peer& peer) {
  auto id = NodeId::from_bytes(peer.node_id());
  if (!id) return id.error();
  const bool named =
      is_name(peer.actor()) && (peer.node_name().empty() || is_name(peer.node_name()));
  if (!named)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a name is 1 to 64 of [A-Za-z0-9_.-]: actor '{}' of node '{}'",
                             printable(peer.actor(), 64), printable(peer.node_name(), 64))};
  auto endpoint = links::told_endpoint(peer.endpoint());
  if (!endpoint) return endpoint.error();
  return PeerAddress{{*id, peer.actor()}, *endpoint, peer.node_name()};
}

Status speaks_for(const Mail& mail, const PeerAddress& sender) {
  if (Status own = speaks_for(mail, sender.id.node); !own.ok()) return own;
  if (!mail.from || mail.from_name == sender.node_name) return {};
  return Error{ErrorCode::kRefused,
               fmt::format("{} names its node '{}', which came as '{}': a node has one name",
                           kind_name(mail.kind), sender.node_name, printable(mail.from_name, 64))};
}

Result<PeerAddress> sender_of(const Mail& mail, const proto::Peer& peer) {
  auto address = from_proto(peer);
  if (!address) return address;
  if (auto own = speaks_for(mail, *address); !own) return own.error();
  return address;
}

proto::KeepStep to_proto(const KeepStep& keep) {
  proto::KeepStep message;
  message.set_step(keep.step.value());
  message.set_order(keep.order);
  return message;
}

proto::Text to_proto(const RunText& text) {
  proto::Text message;
  message.set_fingerprint(text.fingerprint);
  message.set_path(printable(text.path, kMaxTextField));
  message.set_node_name(printable(text.node_name, kMaxTextField));
  return message;
}

RunText from_proto(const proto::Text& text) {
  return {text.fingerprint(), printable(text.path(), kMaxTextField),
          printable(text.node_name(), kMaxTextField)};
}

std::string other_text(const RunText& theirs, const RunText& run) {
  return fmt::format(
      "the text at {} on '{}' is {}, the run's is {} (at {} on '{}'); give all "
      "trainers the same files in the same order",
      theirs.path, theirs.node_name, hex(theirs.fingerprint), hex(run.fingerprint), run.path,
      run.node_name);
}

void install_default_handlers(caf::scheduled_actor* self) {
  self->set_default_handler([](caf::scheduled_actor* who, caf::message_view& view) {
    log_warn(fmt::format("event=unexpected_message actor={} content={}", who->name(),
                         caf::to_string(view.content())));
    return caf::result<caf::message>(to_caf(ErrorCode::kInvalidArgument, "unexpected message"));
  });
  self->set_exception_handler([self](std::exception_ptr& pending) -> caf::error {
    try {
      std::rethrow_exception(pending);
    } catch (const std::exception& e) {
      log_error("event=exception actor=" + std::string(self->name()) + " what=" + e.what());
    } catch (...) {
      log_error("event=exception actor=" + std::string(self->name()));
    }
    return caf::exit_reason::unhandled_exception;
  });
  self->set_error_handler([](caf::scheduled_actor* who, caf::error& error) {
    // The answer to mail that was no request: nobody waits for it.
    log_debug(fmt::format("event=stray_error actor={} error={}", who->name(),
                          to_string(from_caf(error))));
  });
  self->set_down_handler([](const caf::down_msg&) {});
}

}  // namespace swarm::actors

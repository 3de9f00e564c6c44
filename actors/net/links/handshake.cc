#include "actors/net/links/handshake.h"

#include <fmt/format.h>

#include "actors/net/mail_roles.h"
#include "common/printable.h"

namespace swarm::actors::links {
namespace {

Error refuse(std::string why) { return {ErrorCode::kRefused, std::move(why), 0}; }
Error misplaced(std::string why) { return {ErrorCode::kLinkLost, std::move(why), 0}; }

OutFrame control_frame(proto::MessageKind kind, const google::protobuf::Message& head) {
  return make_frame(kind, kOneWay, 0, std::chrono::milliseconds(0), {}, head, {});
}

/// `asks` demands the key, `lacks` has none.
Error keyless(const std::string& asks, const std::string& lacks) {
  return refuse(fmt::format(
      "'{}' asks for the run's key and '{}' has none: copy the key's file there and give "
      "it with --key FILE (nodes: or node.key)",
      asks, lacks));
}

}  // namespace

std::vector<char> no_room() {
  proto::Error error;
  error.set_code(static_cast<uint32_t>(ErrorCode::kOverloaded));
  error.set_detail("no room for another connection at this moment");
  error.set_retry_after_ms(1'000);
  OutFrame frame = control_frame(proto::KIND_ERROR, error);
  std::vector<char> bytes;
  append_chunk(frame, static_cast<uint32_t>(frame.size()), bytes);
  return bytes;
}

Handshake::Handshake(const LinksOptions& options, bool dialled)
    : options_(options), dialled_(dialled) {
  auto& own = dialled ? challenge_.dialler_nonce : challenge_.dialled_nonce;
  if (!options.key.empty()) own = make_nonce();
}

OutFrame Handshake::first() const {
  proto::Hello hello = make_hello(options_);
  hello.set_nonce(challenge_.dialler_nonce);
  return control_frame(proto::KIND_HELLO, hello);
}

Result<std::optional<OutFrame>> Handshake::take(const InFrame& frame) {
  proto::Hello hello;
  proto::Proof proof;
  if (!heard_) {
    if (frame.header.kind != proto::KIND_HELLO || !hello.ParseFromString(frame.head))
      return misplaced("the first frame is not a hello");
    return take_hello(hello);
  }
  if (frame.header.kind != proto::KIND_PROOF || dialled_ || !proof.ParseFromString(frame.head))
    return misplaced("a frame that is no proof of the run's key");
  return take_proof(proof);
}

/// Presence of keys; the dialled side's proof.
Status Handshake::check_key(const proto::Hello& hello) {
  const std::string name = printable(hello.node_name(), 64);
  const bool theirs = !hello.nonce().empty();
  if (theirs && hello.nonce().size() != kNonceBytes) return refuse("the nonce is not 16 bytes");
  if (options_.demands_key() && !theirs) return keyless(options_.node_name, name);
  if (hello.demands_key() && !has_key()) return keyless(name, options_.node_name);
  const auto id = NodeId::from_bytes(hello.node_id());
  if (!theirs || !has_key() || !id) return {};
  challenge_.dialler = dialled_ ? options_.node_id : *id;
  challenge_.dialled = dialled_ ? *id : options_.node_id;
  (dialled_ ? challenge_.dialled_nonce : challenge_.dialler_nonce) = hello.nonce();
  if (!dialled_) return {};
  if (!equal_proofs(hello.proof(), prove(options_.key, challenge_, Side::kDialled)))
    return refuse(fmt::format("the key of '{}' is not that of '{}': one run, one key's file",
                              options_.node_name, name));
  roles_ = kOperator;
  return {};
}

Result<std::optional<OutFrame>> Handshake::take_hello(const proto::Hello& hello) {
  if (expected_ && hello.node_id() != expected_->raw())
    return refuse("another process answers there than the one that was meant");
  if (hello.protocol_version() == kProtocolVersion)
    if (const auto good = check_key(hello); !good) return good.error();
  auto peer = check_hello(hello, options_);
  if (!peer) return peer.error();
  peer_ = *peer;
  heard_ = true;
  roles_ |=
      peer_.is_tool ? uint32_t{kTool} : kNode | (hello.roles() & (kPeer | kTrainer | kCoordinator));
  const bool both = !hello.nonce().empty() && has_key();
  done_ = dialled_ || !both;
  if (dialled_) {
    if (!both) return std::optional<OutFrame>();
    proto::Proof proof;
    proof.set_proof(prove(options_.key, challenge_, Side::kDialler));
    return std::optional<OutFrame>(control_frame(proto::KIND_PROOF, proof));
  }
  proto::Hello own = make_hello(options_);
  own.set_nonce(challenge_.dialled_nonce);
  if (both) own.set_proof(prove(options_.key, challenge_, Side::kDialled));
  return std::optional<OutFrame>(control_frame(proto::KIND_HELLO, own));
}

Result<std::optional<OutFrame>> Handshake::take_proof(const proto::Proof& proof) {
  const bool asked = has_key() && !challenge_.dialler_nonce.empty();
  if (!asked || !equal_proofs(proof.proof(), prove(options_.key, challenge_, Side::kDialler)))
    return refuse(fmt::format("the key of '{}' is not that of '{}': one run, one key's file",
                              peer_.name, options_.node_name));
  roles_ |= kOperator;
  done_ = true;
  return std::optional<OutFrame>();
}

}  // namespace swarm::actors::links

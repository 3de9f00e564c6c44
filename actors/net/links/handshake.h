/// The first frames of a link: who is there, whether it belongs to the run, whether it has the run's key.
///
///   dialler -> Hello(nonce)    dialled -> Hello(nonce, proof)    dialler -> Proof
///
/// A nonce, and so a proof, comes only from a side that has a key; a proof only if both have. Then the
/// dialled side waits for the proof before the link is up.
///
/// Pure but for the nonce. One owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/net/links/frame.h"
#include "actors/net/links/links.h"
#include "actors/net/links/proof.h"
#include "swarm/wire.pb.h"

namespace swarm::actors::links {

/// Own hello, as every side sends it; without nonce and proof.
proto::Hello make_hello(const LinksOptions& own);

/// Whether a link to the sender of `theirs` is wanted. Errors: kRefused with the reason.
Result<NodeInfo> check_hello(const proto::Hello& theirs, const LinksOptions& own);

/// What a node that has as many connections as it takes says to one more, in place of a hello.
std::vector<char> no_room();

class Handshake {
 public:
  /// `options` outlives it. `dialled`: this side opened the connection.
  Handshake(const LinksOptions& options, bool dialled);

  /// The side that dialled means this node: of another one's hello nothing is proven.
  void expect(const NodeId& id) { expected_ = id; }
  /// What the side that dialled says first.
  OutFrame first() const;

  /// A frame of the other side before done(). What is to be sent in return, if anything. Errors:
  /// kRefused; kLinkLost (it is not the frame that belongs here).
  Result<std::optional<OutFrame>> take(const InFrame& frame);

  /// Whether the link may come up.
  bool done() const { return done_; }
  /// Valid once a hello was taken.
  const NodeInfo& peer() const { return peer_; }
  /// Of the other side: Role bits (actors/net/mail_roles.h); 0 before done.
  uint32_t roles() const { return roles_; }
  /// Whether this side has a key that can be proven to it.
  bool has_key() const { return !options_.key.empty(); }

 private:
  Result<std::optional<OutFrame>> take_hello(const proto::Hello& hello);
  Result<std::optional<OutFrame>> take_proof(const proto::Proof& proof);
  Status check_key(const proto::Hello& hello);

  const LinksOptions& options_;
  const bool dialled_;
  Challenge challenge_;
  std::optional<NodeId> expected_;
  NodeInfo peer_;
  bool heard_ = false, done_ = false;
  uint32_t roles_ = 0;
};

}  // namespace swarm::actors::links

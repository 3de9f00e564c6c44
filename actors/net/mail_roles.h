/// Who may send mail of which kind, one row each, beside the table of kinds (mail_kinds.h). The
/// receiving end of a link looks here before it reads a body: whoever has no right to a kind is
/// answered REFUSED, and its bytes are dropped as they come. A kind without a row is taken from
/// nobody; tests/actors/net/mail_roles_test.cc demands one of each.
///
/// Roles are what the other side said in its hello, kOperator what it has proven (links/proof.h): where the
/// key is demanded of every hello, all roles are those of whoever has the key.
#pragma once

#include <cstdint>
#include <string>

#include "swarm/wire.pb.h"

namespace swarm::actors::links {

/// Bits of Hello.roles, and those that a link adds.
enum Role : uint32_t {
  kPeer = 1,         ///< Serves stages.
  kTrainer = 2,      ///< Feeds microbatches.
  kCoordinator = 4,  ///< Hosts a coordinator, active or not.
  kNode = 8,         ///< Any node of the run; added by the link.
  kTool = 16,        ///< No node: it reads.
  kOperator = 32,    ///< A tool or a node that has proven the run's key: it acts.
};

constexpr uint32_t kAnybody = kNode | kTool;

/// X(kind without its KIND_, roles one of which the sender must have)
///
/// Answers are taken from whoever was asked, whatever their row says: links match them by request.
#define SWARM_MAIL_ROLES(X)                    \
  X(HELLO, kAnybody)                           \
  X(HEARTBEAT, kAnybody)                       \
  X(CANCEL_REQUEST, kAnybody)                  \
  X(ERROR, kAnybody)                           \
  X(ACK, kAnybody)                             \
  X(PROOF, kAnybody)                           \
  X(DHT_FIND, kNode)                           \
  X(DHT_FIND_REPLY, kNode)                     \
  X(DHT_STORE, kNode)                          \
  X(DHT_STORE_REPLY, kNode)                    \
  X(FORWARD, kTrainer | kPeer)                 \
  X(FORWARD_REPLY, kPeer)                      \
  X(CANCEL_ATTEMPT, kTrainer | kPeer)          \
  X(REGISTER_PEER, kPeer)                      \
  X(REGISTER_PEER_REPLY, kCoordinator)         \
  X(MAY_LEAVE, kPeer)                          \
  X(MAY_LEAVE_REPLY, kCoordinator)             \
  X(LEASE, kTrainer)                           \
  X(LEASE_REPLY, kCoordinator)                 \
  X(SLOT_DONE, kTrainer)                       \
  X(CLOSE_STEP, kCoordinator)                  \
  X(CLOSE_STEP_REPLY, kPeer)                   \
  X(COMMIT_STEP, kCoordinator)                 \
  X(COMMIT_STEP_REPLY, kPeer)                  \
  X(RESTORE, kCoordinator)                     \
  X(SAVE_CHECKPOINT, kCoordinator | kOperator) \
  X(SWARM_STATUS, kAnybody)                    \
  X(SWARM_STATUS_REPLY, kCoordinator)          \
  X(END_PERIOD, kCoordinator)                  \
  X(END_PERIOD_REPLY, kPeer)                   \
  X(VOTER_PROMISE, kCoordinator)               \
  X(VOTER_STORE, kCoordinator)                 \
  X(VOTER_LEARN, kCoordinator)                 \
  X(VOTER_VOTE, kCoordinator)                  \
  X(VOTER_REPLY, kNode)                        \
  X(VOTER_LEAVES, kPeer | kTrainer)            \
  X(AVERAGE_PART, kPeer)                       \
  X(AVERAGE_PART_REPLY, kPeer)                 \
  X(STATE_INFO, kPeer)                         \
  X(STATE_INFO_REPLY, kPeer)                   \
  X(STATE_CHUNK, kPeer)                        \
  X(STATE_CHUNK_REPLY, kPeer)                  \
  X(STATE_RANGE, kPeer)                        \
  X(STATE_RANGE_REPLY, kPeer)                  \
  X(CONSOLE, kAnybody)                         \
  X(CONSOLE_REPLY, kNode)                      \
  X(CONSOLE_ORDER, kOperator)                  \
  X(STOP_NODE, kOperator)                      \
  X(GO_ON, kOperator)                          \
  X(MOVE_PEER, kOperator)                      \
  X(REBALANCE, kOperator)                      \
  X(PLACEMENT_REPLY, kCoordinator)             \
  X(DIAL_BACK, kNode)                          \
  X(DIAL_BACK_REPLY, kNode)                    \
  X(CALL_ME, kNode)                            \
  X(LIST_RECORDS, kOperator)                   \
  X(LIST_RECORDS_REPLY, kNode)                 \
  X(READ_RECORD, kOperator)                    \
  X(READ_RECORD_REPLY, kNode)                  \
  X(COLLECTED, kOperator)                      \
  X(ECHO, kAnybody)

/// The roles that may send `kind`; 0 for kinds without a row.
uint32_t senders_of(uint32_t kind);

/// Why mail of `kind` is not taken from a sender with `roles`, for people; empty if it is taken.
/// `has_key`: whether this side has a key that could be proven to it.
std::string no_right(uint32_t kind, uint32_t roles, bool has_key);

}  // namespace swarm::actors::links

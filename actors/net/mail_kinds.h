/// Which protobuf type belongs to which MessageKind. One line a type.
#pragma once

#include "actors/net/mail.h"
#include "swarm/console.pb.h"
#include "swarm/dht.pb.h"
#include "swarm/error.pb.h"
#include "swarm/state.pb.h"
#include "swarm/train.pb.h"
#include "swarm/wire.pb.h"

/// X(protobuf type, kind, name for people)
#define SWARM_MAIL_KINDS(X)                                             \
  X(Hello, KIND_HELLO, "hello")                                         \
  X(Heartbeat, KIND_HEARTBEAT, "heartbeat")                             \
  X(CancelRequest, KIND_CANCEL_REQUEST, "cancel_request")               \
  X(Error, KIND_ERROR, "error")                                         \
  X(Ack, KIND_ACK, "ack")                                               \
  X(DhtFind, KIND_DHT_FIND, "dht_find")                                 \
  X(DhtFindReply, KIND_DHT_FIND_REPLY, "dht_find_reply")                \
  X(DhtStore, KIND_DHT_STORE, "dht_store")                              \
  X(DhtStoreReply, KIND_DHT_STORE_REPLY, "dht_store_reply")             \
  X(ForwardRequest, KIND_FORWARD, "forward")                            \
  X(ForwardReply, KIND_FORWARD_REPLY, "forward_reply")                  \
  X(CancelAttempt, KIND_CANCEL_ATTEMPT, "cancel_attempt")               \
  X(RegisterPeer, KIND_REGISTER_PEER, "register_peer")                  \
  X(RegisterPeerReply, KIND_REGISTER_PEER_REPLY, "register_peer_reply") \
  X(Lease, KIND_LEASE, "lease")                                         \
  X(LeaseReply, KIND_LEASE_REPLY, "lease_reply")                        \
  X(SlotDone, KIND_SLOT_DONE, "slot_done")                              \
  X(CloseStep, KIND_CLOSE_STEP, "close_step")                           \
  X(CloseStepReply, KIND_CLOSE_STEP_REPLY, "close_step_reply")          \
  X(CommitStep, KIND_COMMIT_STEP, "commit_step")                        \
  X(CommitStepReply, KIND_COMMIT_STEP_REPLY, "commit_step_reply")       \
  X(Restore, KIND_RESTORE, "restore")                                   \
  X(SaveCheckpoint, KIND_SAVE_CHECKPOINT, "save_checkpoint")            \
  X(SwarmStatus, KIND_SWARM_STATUS, "swarm_status")                     \
  X(SwarmStatusReply, KIND_SWARM_STATUS_REPLY, "swarm_status_reply")    \
  X(EndPeriod, KIND_END_PERIOD, "end_period")                           \
  X(EndPeriodReply, KIND_END_PERIOD_REPLY, "end_period_reply")          \
  X(AveragePart, KIND_AVERAGE_PART, "average_part")                     \
  X(AveragePartReply, KIND_AVERAGE_PART_REPLY, "average_part_reply")    \
  X(StateInfo, KIND_STATE_INFO, "state_info")                           \
  X(StateInfoReply, KIND_STATE_INFO_REPLY, "state_info_reply")          \
  X(StateChunk, KIND_STATE_CHUNK, "state_chunk")                        \
  X(StateChunkReply, KIND_STATE_CHUNK_REPLY, "state_chunk_reply")       \
  X(ConsoleRequest, KIND_CONSOLE, "console")                            \
  X(ConsoleReply, KIND_CONSOLE_REPLY, "console_reply")                  \
  X(StopNode, KIND_STOP_NODE, "stop_node")                              \
  X(Echo, KIND_ECHO, "echo")

namespace swarm::actors {

#define SWARM_KIND_OF(Type, Kind, Name)                      \
  template <>                                                \
  struct KindOf<proto::Type> {                               \
    static constexpr proto::MessageKind value = proto::Kind; \
  };
SWARM_MAIL_KINDS(SWARM_KIND_OF)
#undef SWARM_KIND_OF

}  // namespace swarm::actors

/// The kinds of mail, one row each. A new message is its type in proto/, a number in
/// MessageKind (wire.proto), and a row here; who takes it lists it in the table of its header,
/// which tests/actors/net/mail_kinds_test.cc compares with this one.
#pragma once

#include "actors/net/mail.h"
#include "swarm/collect.pb.h"
#include "swarm/console.pb.h"
#include "swarm/dht.pb.h"
#include "swarm/error.pb.h"
#include "swarm/state.pb.h"
#include "swarm/train.pb.h"
#include "swarm/voting.pb.h"
#include "swarm/wire.pb.h"

/// X(protobuf type, kind, name for people, kind of the reply, traffic class, who takes it)
///
/// Kinds stand without their KIND_. A reply UNSPECIFIED: mail of this kind is not answered, or is
/// itself an answer. "Who": the actors, by the name of their header; none: the link itself (hello,
/// heartbeat, ...) or whoever asked.
#define SWARM_MAIL_KINDS(X)                                                                        \
  X(Hello, HELLO, "hello", UNSPECIFIED, kControl, "")                                              \
  X(Heartbeat, HEARTBEAT, "heartbeat", UNSPECIFIED, kControl, "")                                  \
  X(CancelRequest, CANCEL_REQUEST, "cancel_request", UNSPECIFIED, kControl, "")                    \
  X(Error, ERROR, "error", UNSPECIFIED, kControl, "")                                              \
  X(Ack, ACK, "ack", UNSPECIFIED, kControl, "")                                                    \
  X(Proof, PROOF, "proof", UNSPECIFIED, kControl, "")                                              \
  X(DhtFind, DHT_FIND, "dht_find", DHT_FIND_REPLY, kControl, "dht_node")                           \
  X(DhtFindReply, DHT_FIND_REPLY, "dht_find_reply", UNSPECIFIED, kControl, "")                     \
  X(DhtStore, DHT_STORE, "dht_store", DHT_STORE_REPLY, kControl, "dht_node")                       \
  X(DhtStoreReply, DHT_STORE_REPLY, "dht_store_reply", UNSPECIFIED, kControl, "")                  \
  X(ForwardRequest, FORWARD, "forward", FORWARD_REPLY, kActivations, "stage_server")               \
  X(ForwardReply, FORWARD_REPLY, "forward_reply", UNSPECIFIED, kGradients, "")                     \
  X(CancelAttempt, CANCEL_ATTEMPT, "cancel_attempt", UNSPECIFIED, kControl, "stage_server")        \
  X(RegisterPeer, REGISTER_PEER, "register_peer", REGISTER_PEER_REPLY, kControl, "coordinator")    \
  X(RegisterPeerReply, REGISTER_PEER_REPLY, "register_peer_reply", UNSPECIFIED, kControl, "")      \
  X(MayLeave, MAY_LEAVE, "may_leave", MAY_LEAVE_REPLY, kControl, "coordinator")                    \
  X(MayLeaveReply, MAY_LEAVE_REPLY, "may_leave_reply", UNSPECIFIED, kControl, "")                  \
  X(Lease, LEASE, "lease", LEASE_REPLY, kControl, "coordinator")                                   \
  X(LeaseReply, LEASE_REPLY, "lease_reply", UNSPECIFIED, kControl, "")                             \
  X(SlotDone, SLOT_DONE, "slot_done", ACK, kControl, "coordinator")                                \
  X(CloseStep, CLOSE_STEP, "close_step", CLOSE_STEP_REPLY, kControl, "stage_server")               \
  X(CloseStepReply, CLOSE_STEP_REPLY, "close_step_reply", UNSPECIFIED, kControl, "")               \
  X(CommitStep, COMMIT_STEP, "commit_step", COMMIT_STEP_REPLY, kControl, "stage_server")           \
  X(CommitStepReply, COMMIT_STEP_REPLY, "commit_step_reply", UNSPECIFIED, kControl, "")            \
  X(Restore, RESTORE, "restore", ACK, kControl, "stage_server")                                    \
  X(SaveCheckpoint, SAVE_CHECKPOINT, "save_checkpoint", ACK, kControl, "coordinator stage_server") \
  X(SwarmStatus, SWARM_STATUS, "swarm_status", SWARM_STATUS_REPLY, kControl, "coordinator")        \
  X(SwarmStatusReply, SWARM_STATUS_REPLY, "swarm_status_reply", UNSPECIFIED, kControl, "")         \
  X(EndPeriod, END_PERIOD, "end_period", END_PERIOD_REPLY, kControl, "stage_server")               \
  X(EndPeriodReply, END_PERIOD_REPLY, "end_period_reply", UNSPECIFIED, kControl, "")               \
  X(VoterPromise, VOTER_PROMISE, "voter_promise", VOTER_REPLY, kControl, "voter")                  \
  X(VoterStore, VOTER_STORE, "voter_store", VOTER_REPLY, kControl, "voter")                        \
  X(VoterLearn, VOTER_LEARN, "voter_learn", VOTER_REPLY, kControl, "voter")                        \
  X(VoterVote, VOTER_VOTE, "voter_vote", VOTER_REPLY, kControl, "voter")                           \
  X(VoterReply, VOTER_REPLY, "voter_reply", UNSPECIFIED, kControl, "")                             \
  X(VoterLeaves, VOTER_LEAVES, "voter_leaves", ACK, kControl, "coordinator")                       \
  X(AveragePart, AVERAGE_PART, "average_part", AVERAGE_PART_REPLY, kGradients, "averager")         \
  X(AveragePartReply, AVERAGE_PART_REPLY, "average_part_reply", UNSPECIFIED, kGradients, "")       \
  X(StateInfo, STATE_INFO, "state_info", STATE_INFO_REPLY, kControl, "state_transfer")             \
  X(StateInfoReply, STATE_INFO_REPLY, "state_info_reply", UNSPECIFIED, kControl, "")               \
  X(StateChunk, STATE_CHUNK, "state_chunk", STATE_CHUNK_REPLY, kControl, "state_transfer")         \
  X(StateChunkReply, STATE_CHUNK_REPLY, "state_chunk_reply", UNSPECIFIED, kState, "")              \
  X(StateRange, STATE_RANGE, "state_range", STATE_RANGE_REPLY, kControl, "state_transfer")         \
  X(StateRangeReply, STATE_RANGE_REPLY, "state_range_reply", UNSPECIFIED, kState, "")              \
  X(ConsoleRequest, CONSOLE, "console", CONSOLE_REPLY, kControl, "console")                        \
  X(ConsoleReply, CONSOLE_REPLY, "console_reply", UNSPECIFIED, kControl, "")                       \
  X(ConsoleOrder, CONSOLE_ORDER, "console_order", CONSOLE_REPLY, kControl, "console")              \
  X(StopNode, STOP_NODE, "stop_node", ACK, kControl, "node_supervisor")                            \
  X(GoOn, GO_ON, "go_on", ACK, kControl, "coordinator")                                            \
  X(MovePeer, MOVE_PEER, "move_peer", PLACEMENT_REPLY, kControl, "coordinator")                    \
  X(Rebalance, REBALANCE, "rebalance", PLACEMENT_REPLY, kControl, "coordinator")                   \
  X(PlacementReply, PLACEMENT_REPLY, "placement_reply", UNSPECIFIED, kControl, "")                 \
  X(DialBack, DIAL_BACK, "dial_back", DIAL_BACK_REPLY, kControl, "dial_back")                      \
  X(DialBackReply, DIAL_BACK_REPLY, "dial_back_reply", UNSPECIFIED, kControl, "")                  \
  X(ListRecords, LIST_RECORDS, "list_records", LIST_RECORDS_REPLY, kControl, "records_desk")       \
  X(ListRecordsReply, LIST_RECORDS_REPLY, "list_records_reply", UNSPECIFIED, kControl, "")         \
  X(ReadRecord, READ_RECORD, "read_record", READ_RECORD_REPLY, kControl, "records_desk")           \
  X(ReadRecordReply, READ_RECORD_REPLY, "read_record_reply", UNSPECIFIED, kState, "")              \
  X(Collected, COLLECTED, "collected", ACK, kControl, "records_desk")                              \
  X(CallMe, CALL_ME, "call_me", UNSPECIFIED, kControl, "call_back")                                \
  X(Echo, ECHO, "echo", ECHO, kControl, "echo")

namespace swarm::actors {

#define SWARM_KIND_OF(Type, Kind, Name, Reply, Class, Who)          \
  template <>                                                       \
  struct KindOf<proto::Type> {                                      \
    static constexpr proto::MessageKind value = proto::KIND_##Kind; \
  };
SWARM_MAIL_KINDS(SWARM_KIND_OF)
#undef SWARM_KIND_OF

}  // namespace swarm::actors

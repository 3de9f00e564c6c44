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

/// X(protobuf type, kind, name for people, kind of the reply, traffic class, head, who takes it)
///
/// Kinds stand without their KIND_. A reply UNSPECIFIED: mail of this kind is not answered, or is
/// itself an answer. Head: short (64 KiB), unless it lists something (links/head_rule.h). "Who": the actors, by the name of their header; none: the link itself (hello,
/// heartbeat, ...) or whoever asked.
#define SWARM_MAIL_KINDS(X)                                                                        \
  X(Hello, HELLO, "hello", UNSPECIFIED, kControl, kShort, "")                                      \
  X(Heartbeat, HEARTBEAT, "heartbeat", UNSPECIFIED, kControl, kShort, "")                          \
  X(CancelRequest, CANCEL_REQUEST, "cancel_request", UNSPECIFIED, kControl, kShort, "")            \
  X(Error, ERROR, "error", UNSPECIFIED, kControl, kShort, "")                                      \
  X(Ack, ACK, "ack", UNSPECIFIED, kControl, kShort, "")                                            \
  X(Proof, PROOF, "proof", UNSPECIFIED, kControl, kShort, "")                                      \
  X(DhtFind, DHT_FIND, "dht_find", DHT_FIND_REPLY, kControl, kShort, "dht_node")                   \
  X(DhtFindReply, DHT_FIND_REPLY, "dht_find_reply", UNSPECIFIED, kControl, kLong, "")              \
  X(DhtStore, DHT_STORE, "dht_store", DHT_STORE_REPLY, kControl, kLong, "dht_node")                \
  X(DhtStoreReply, DHT_STORE_REPLY, "dht_store_reply", UNSPECIFIED, kControl, kShort, "")          \
  X(ForwardRequest, FORWARD, "forward", FORWARD_REPLY, kActivations, kLong, "stage_server")        \
  X(ForwardReply, FORWARD_REPLY, "forward_reply", UNSPECIFIED, kGradients, kShort, "")             \
  X(CancelAttempt, CANCEL_ATTEMPT, "cancel_attempt", UNSPECIFIED, kControl, kShort,                \
    "stage_server")                                                                                \
  X(RegisterPeer, REGISTER_PEER, "register_peer", REGISTER_PEER_REPLY, kControl, kLong,            \
    "coordinator")                                                                                 \
  X(RegisterPeerReply, REGISTER_PEER_REPLY, "register_peer_reply", UNSPECIFIED, kControl, kLong,   \
    "")                                                                                            \
  X(MayLeave, MAY_LEAVE, "may_leave", MAY_LEAVE_REPLY, kControl, kShort, "coordinator")            \
  X(MayLeaveReply, MAY_LEAVE_REPLY, "may_leave_reply", UNSPECIFIED, kControl, kShort, "")          \
  X(Lease, LEASE, "lease", LEASE_REPLY, kControl, kLong, "coordinator")                            \
  X(LeaseReply, LEASE_REPLY, "lease_reply", UNSPECIFIED, kControl, kLong, "")                      \
  X(SlotDone, SLOT_DONE, "slot_done", ACK, kControl, kShort, "coordinator")                        \
  X(CloseStep, CLOSE_STEP, "close_step", CLOSE_STEP_REPLY, kControl, kLong, "stage_server")        \
  X(CloseStepReply, CLOSE_STEP_REPLY, "close_step_reply", UNSPECIFIED, kControl, kShort, "")       \
  X(CommitStep, COMMIT_STEP, "commit_step", COMMIT_STEP_REPLY, kControl, kShort, "stage_server")   \
  X(CommitStepReply, COMMIT_STEP_REPLY, "commit_step_reply", UNSPECIFIED, kControl, kShort, "")    \
  X(Restore, RESTORE, "restore", ACK, kControl, kShort, "stage_server")                            \
  X(SaveCheckpoint, SAVE_CHECKPOINT, "save_checkpoint", ACK, kControl, kShort,                     \
    "coordinator stage_server")                                                                    \
  X(SwarmStatus, SWARM_STATUS, "swarm_status", SWARM_STATUS_REPLY, kControl, kShort,               \
    "coordinator")                                                                                 \
  X(SwarmStatusReply, SWARM_STATUS_REPLY, "swarm_status_reply", UNSPECIFIED, kControl, kLong, "")  \
  X(EndPeriod, END_PERIOD, "end_period", END_PERIOD_REPLY, kControl, kLong, "stage_server")        \
  X(EndPeriodReply, END_PERIOD_REPLY, "end_period_reply", UNSPECIFIED, kControl, kShort, "")       \
  X(VoterPromise, VOTER_PROMISE, "voter_promise", VOTER_REPLY, kControl, kShort, "voter")          \
  X(VoterStore, VOTER_STORE, "voter_store", VOTER_REPLY, kControl, kLong, "voter")                 \
  X(VoterLearn, VOTER_LEARN, "voter_learn", VOTER_REPLY, kControl, kLong, "voter")                 \
  X(VoterVote, VOTER_VOTE, "voter_vote", VOTER_REPLY, kControl, kShort, "voter")                   \
  X(VoterReply, VOTER_REPLY, "voter_reply", UNSPECIFIED, kControl, kLong, "")                      \
  X(VoterLeaves, VOTER_LEAVES, "voter_leaves", ACK, kControl, kShort, "coordinator")               \
  X(AveragePart, AVERAGE_PART, "average_part", AVERAGE_PART_REPLY, kGradients, kShort, "averager") \
  X(AveragePartReply, AVERAGE_PART_REPLY, "average_part_reply", UNSPECIFIED, kGradients, kShort,   \
    "")                                                                                            \
  X(StateInfo, STATE_INFO, "state_info", STATE_INFO_REPLY, kControl, kShort, "state_transfer")     \
  X(StateInfoReply, STATE_INFO_REPLY, "state_info_reply", UNSPECIFIED, kControl, kShort, "")       \
  X(StateChunk, STATE_CHUNK, "state_chunk", STATE_CHUNK_REPLY, kControl, kShort, "state_transfer") \
  X(StateChunkReply, STATE_CHUNK_REPLY, "state_chunk_reply", UNSPECIFIED, kState, kShort, "")      \
  X(StateRange, STATE_RANGE, "state_range", STATE_RANGE_REPLY, kControl, kShort, "state_transfer") \
  X(StateRangeReply, STATE_RANGE_REPLY, "state_range_reply", UNSPECIFIED, kState, kShort, "")      \
  X(ConsoleRequest, CONSOLE, "console", CONSOLE_REPLY, kControl, kShort, "console")                \
  X(ConsoleReply, CONSOLE_REPLY, "console_reply", UNSPECIFIED, kControl, kLong, "")                \
  X(ConsoleOrder, CONSOLE_ORDER, "console_order", CONSOLE_REPLY, kControl, kShort, "console")      \
  X(StopNode, STOP_NODE, "stop_node", ACK, kControl, kShort, "node_supervisor")                    \
  X(GoOn, GO_ON, "go_on", ACK, kControl, kShort, "coordinator")                                    \
  X(MovePeer, MOVE_PEER, "move_peer", PLACEMENT_REPLY, kControl, kShort, "coordinator")            \
  X(Rebalance, REBALANCE, "rebalance", PLACEMENT_REPLY, kControl, kShort, "coordinator")           \
  X(PlacementReply, PLACEMENT_REPLY, "placement_reply", UNSPECIFIED, kControl, kShort, "")         \
  X(DialBack, DIAL_BACK, "dial_back", DIAL_BACK_REPLY, kControl, kShort, "dial_back")              \
  X(DialBackReply, DIAL_BACK_REPLY, "dial_back_reply", UNSPECIFIED, kControl, kShort, "")          \
  X(ListRecords, LIST_RECORDS, "list_records", LIST_RECORDS_REPLY, kControl, kShort,               \
    "records_desk")                                                                                \
  X(ListRecordsReply, LIST_RECORDS_REPLY, "list_records_reply", UNSPECIFIED, kControl, kLong, "")  \
  X(ReadRecord, READ_RECORD, "read_record", READ_RECORD_REPLY, kControl, kShort, "records_desk")   \
  X(ReadRecordReply, READ_RECORD_REPLY, "read_record_reply", UNSPECIFIED, kState, kShort, "")      \
  X(Collected, COLLECTED, "collected", ACK, kControl, kShort, "records_desk")                      \
  X(CallMe, CALL_ME, "call_me", UNSPECIFIED, kControl, kShort, "call_back")                        \
  X(Echo, ECHO, "echo", ECHO, kControl, kShort, "echo")

namespace swarm::actors {

#define SWARM_KIND_OF(Type, Kind, Name, Reply, Class, Head, Who)    \
  template <>                                                       \
  struct KindOf<proto::Type> {                                      \
    static constexpr proto::MessageKind value = proto::KIND_##Kind; \
  };
SWARM_MAIL_KINDS(SWARM_KIND_OF)
#undef SWARM_KIND_OF

}  // namespace swarm::actors

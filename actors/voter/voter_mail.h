/// The voter's mail, and what it keeps on its disk, as values and back. What another node says is
/// checked here.
#pragma once

#include <string>

#include "common/result.h"
#include "routing/membership/voter.h"
#include "swarm/voting.pb.h"

namespace swarm::actors {

/// In one configuration, whoever names them.
constexpr int kMostVoters = 4'096;

proto::Ballot to_proto(const routing::Ballot& ballot);
proto::Place to_proto(const routing::Place& place);
proto::Configuration to_proto(const routing::Configuration& configuration);

/// Errors: kInvalidArgument (a node id that is none, a term that cannot be).
Result<routing::Ballot> from_proto(const proto::Ballot& message);
routing::Place from_proto(const proto::Place& message);
/// Errors: kInvalidArgument (too many voters, one twice or none, or what is no name; a number that
/// nothing can follow; forks that cannot be).
Result<routing::Configuration> from_proto(const proto::Configuration& message);

/// Of all its fields; tells a configuration from any other.
uint64_t digest_of(const routing::Configuration& configuration);

/// What the voter has. `known`: the configuration whose digest was told with the question. Errors:
/// kInvalidArgument (also a proposal that does not follow on what holds).
Result<routing::VoterAnswer> read_voter(const proto::VoterReply& message,
                                        const routing::Configuration& known = {});
/// `taken`: what became of what it was asked. `knows`: the digest that came with the question; 0: none.
proto::VoterReply write_voter(const routing::VoterAnswer& answer, const Status& taken,
                              uint64_t knows = 0);

/// For its disk; equal records give equal bytes.
std::string write_voter_record(const routing::VoterRecord& record);
/// Errors: kInvalidArgument (of another version, or none; of no disk).
Result<routing::VoterRecord> read_voter_record(const std::string& bytes);

}  // namespace swarm::actors

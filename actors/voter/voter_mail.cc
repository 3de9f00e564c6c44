#include "actors/voter/voter_mail.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/names.h"
#include "routing/membership/term.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

constexpr uint32_t kFormatVersion = 2;  // 1: voters were names of nodes

Error invalid(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

/// "NODE#DISK", or NODE.
bool is_voter(const std::string& text) {
  const std::string node = routing::node_of(text);
  return is_name(node) && (node == text || is_name(text.substr(node.size() + 1)));
}

/// VoterReply and VoterRecord have the same fields of it. Errors: kInvalidArgument.
template <class Message>
Result<routing::VoterRecord> read_fields(const Message& message,
                                         const Result<routing::Configuration>& decided) {
  auto promised = from_proto(message.promised());
  if (!promised) return promised.error();
  if (!decided) return decided.error();
  routing::VoterRecord record{*promised, *decided, std::nullopt};
  record.forsaken = message.forsaken();
  if (!message.has_proposal()) return record;
  auto ballot = from_proto(message.proposal_ballot());
  if (!ballot) return ballot.error();
  auto next = from_proto(message.proposal());
  if (!next) return next.error();
  if (next->number != decided->number + 1 || next->line() != decided->line())
    return invalid(
        fmt::format("configuration {} does not follow on {}", next->number, decided->number));
  record.proposal = routing::Proposal{*ballot, *next};
  return record;
}

template <class Message>
void write_fields(const routing::VoterRecord& record, Message& message) {
  *message.mutable_promised() = to_proto(record.promised);
  message.set_forsaken(record.forsaken);
  if (!record.proposal) return;
  *message.mutable_proposal_ballot() = to_proto(record.proposal->ballot);
  *message.mutable_proposal() = to_proto(record.proposal->next);
}

/// Errors: kInvalidArgument (too many, of no ballot, or out of order).
Result<std::vector<routing::Fork>> read_forks(const proto::Configuration& message) {
  if (message.forks_size() > static_cast<int>(routing::kMostForks))
    return invalid(
        fmt::format("{} forks are more than {}", message.forks_size(), routing::kMostForks));
  std::vector<routing::Fork> forks;
  for (const proto::Fork& one : message.forks()) {
    const auto ballot = from_proto(one.ballot());
    if (!ballot) return ballot.error();
    const routing::ConfigurationNumber number(one.number());
    const bool follows = forks.empty() ? number.value() > 0 : forks.back().number < number;
    if (!follows || number.value() > message.number() || *ballot == routing::Ballot())
      return invalid("a fork is none, or not where it can be");
    forks.push_back({number, *ballot, from_proto(one.base())});
  }
  return forks;
}

}  // namespace

proto::Ballot to_proto(const routing::Ballot& ballot) {
  proto::Ballot message;
  message.set_term(ballot.term.value());
  message.set_node_id(ballot.node.raw());
  return message;
}

proto::Place to_proto(const routing::Place& place) {
  proto::Place message;
  message.set_step(place.step.value());
  message.set_history(place.history.value());
  return message;
}

proto::Configuration to_proto(const routing::Configuration& configuration) {
  proto::Configuration message;
  message.set_number(configuration.number.value());
  for (const std::string& voter : configuration.voters) message.add_voters(voter);
  *message.mutable_base() = to_proto(configuration.base);
  message.set_gone_back(configuration.gone_back);
  for (const routing::Fork& fork : configuration.forks) {
    proto::Fork& one = *message.add_forks();
    one.set_number(fork.number.value());
    *one.mutable_ballot() = to_proto(fork.ballot);
    *one.mutable_base() = to_proto(fork.base);
  }
  return message;
}

Result<routing::Ballot> from_proto(const proto::Ballot& message) {
  const Term term(message.term());
  if (!routing::is_term(term)) return invalid(fmt::format("{} is no term", term));
  const auto node = NodeId::from_bytes(message.node_id());
  if (!node) return node.error();
  return routing::Ballot{term, *node};
}

routing::Place from_proto(const proto::Place& message) {
  return {Step(message.step()), routing::History(message.history())};
}

Result<routing::Configuration> from_proto(const proto::Configuration& message) {
  if (message.number() == std::numeric_limits<uint64_t>::max())
    return invalid("no configuration can follow on this number");
  if (message.voters_size() > kMostVoters)
    return invalid(fmt::format("{} voters are more than {}", message.voters_size(), kMostVoters));
  if (message.voters_size() == 0 && message.number() > 0)
    return invalid(fmt::format("configuration {} has no voters", message.number()));
  routing::Configuration configuration;
  configuration.number = routing::ConfigurationNumber(message.number());
  for (const std::string& voter : message.voters()) {
    if (!is_voter(voter)) return invalid("a voter's name is none");
    const std::string node = routing::node_of(voter);
    if (!routing::voter_of(configuration.voters, node).empty())
      return invalid("voter " + node + " is named twice");
    configuration.voters.insert(voter);
  }
  configuration.base = from_proto(message.base());
  configuration.gone_back = message.gone_back();
  auto forks = read_forks(message);
  if (!forks) return forks.error();
  configuration.forks = *std::move(forks);
  return configuration;
}

uint64_t digest_of(const routing::Configuration& configuration) {
  const std::string bytes = to_proto(configuration).SerializeAsString();
  return tensor::digest(bytes.data(), bytes.size());
}

Result<routing::VoterAnswer> read_voter(const proto::VoterReply& message,
                                        const routing::Configuration& known) {
  if (!is_voter(message.voter())) return invalid("the voter's name is none");
  auto record =
      read_fields(message, message.decided_as_known() ? known : from_proto(message.decided()));
  if (!record) return record.error();
  routing::VoterAnswer answer;
  answer.voter = message.voter();
  answer.record = *std::move(record);
  answer.remembers = message.remembers();
  if (message.has_mark())
    answer.mark = routing::Mark{routing::ConfigurationNumber(message.mark_number()),
                                from_proto(message.mark()), message.voted()};
  return answer;
}

proto::VoterReply write_voter(const routing::VoterAnswer& answer, const Status& taken,
                              uint64_t knows) {
  proto::VoterReply message;
  message.set_taken(taken.ok());
  if (!taken) message.set_reason(taken.error().detail);
  message.set_voter(answer.voter);
  write_fields(answer.record, message);
  if (knows != 0 && digest_of(answer.record.decided) == knows)
    message.set_decided_as_known(true);
  else
    *message.mutable_decided() = to_proto(answer.record.decided);
  message.set_remembers(answer.remembers);
  if (!answer.mark) return message;
  message.set_mark_number(answer.mark->number.value());
  *message.mutable_mark() = to_proto(answer.mark->place);
  message.set_voted(answer.mark->voted);
  return message;
}

std::string write_voter_record(const routing::VoterRecord& record) {
  proto::VoterRecord message;
  message.set_format_version(kFormatVersion);
  message.set_disk(record.disk);
  message.set_given_up(record.given_up);
  write_fields(record, message);
  *message.mutable_decided() = to_proto(record.decided);
  return message.SerializeAsString();
}

Result<routing::VoterRecord> read_voter_record(const std::string& bytes) {
  proto::VoterRecord message;
  if (!message.ParseFromString(bytes)) return invalid("the voter's record does not parse");
  if (message.format_version() != kFormatVersion)
    return invalid(fmt::format("the voter's record is of version {}; this program reads version {}",
                               message.format_version(), kFormatVersion));
  if (!is_name(message.disk())) return invalid("the voter's record names no disk");
  auto record = read_fields(message, from_proto(message.decided()));
  if (!record) return record;
  record->disk = message.disk();
  record->given_up = message.given_up();
  return record;
}

}  // namespace swarm::actors

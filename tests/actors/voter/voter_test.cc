#include "actors/voter/voter.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <filesystem>
#include <fstream>

#include "actors/dht/dht_node.h"
#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/voter/voter_mail.h"
#include "apps/sim/deterministic_system.h"
#include "common/names.h"
#include "records/event_log.h"
#include "routing/membership/term.h"
#include "swarm/dht.pb.h"
#include "tests/support/ids.h"
#include "tests/support/sim_swarm.h"

using namespace swarm;
using namespace swarm::actors;

namespace {

using routing::ConfigurationNumber;

/// A disk that fails when it is told to.
struct FakeDisk : VoterDisk {
  Result<std::optional<std::string>> load() override {
    if (fails) return Error{ErrorCode::kIo, "input/output error"};
    return bytes;
  }
  Status save(const std::string& record) override {
    if (fails || full) return Error{ErrorCode::kIo, "input/output error"};
    ++writes;
    bytes = record;
    return {};
  }
  std::optional<std::string> bytes;
  bool fails = false, full = false;
  int writes = 0;
};

routing::Ballot ballot(uint64_t term, uint32_t coordinator = 1) {
  return {Term(term), testing::node(coordinator)};
}
routing::Configuration configuration(uint64_t number, uint64_t step = 0) {
  return {ConfigurationNumber(number), {"a", "b", "c"}, {Step(step), routing::History(step)}};
}
proto::VoterPromise promise(const routing::Ballot& ballot) {
  proto::VoterPromise message;
  *message.mutable_ballot() = to_proto(ballot);
  return message;
}
proto::VoterStore store(const routing::Ballot& ballot, uint64_t next) {
  proto::VoterStore message;
  *message.mutable_ballot() = to_proto(ballot);
  *message.mutable_decided() = to_proto(configuration(next - 1));
  *message.mutable_next() = to_proto(configuration(next));
  return message;
}
proto::VoterLearn learn(uint64_t number, const routing::Ballot& of = ballot(5)) {
  proto::VoterLearn message;
  *message.mutable_ballot() = to_proto(of);
  *message.mutable_decided() = to_proto(configuration(number));
  return message;
}
proto::VoterVote vote(const routing::Ballot& ballot, uint64_t number, uint64_t step) {
  proto::VoterVote message;
  *message.mutable_ballot() = to_proto(ballot);
  message.set_number(number);
  *message.mutable_place() = to_proto(routing::Place{Step(step), routing::History(step)});
  return message;
}

/// A voter beside links that know its name.
struct OneVoter {
  OneVoter() {
    links = system.own(system->spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](register_atom, const std::string& name, const caf::actor& actor) {
        if (name == kVoterName) voter = actor;
      }};
    }));
    dht = system.own(system->spawn([this]() -> caf::behavior {
      return {[this](dht_get_atom, const std::string&) { return records; }};
    }));
    begin();
  }

  /// A process, or another life in the same one.
  void begin(std::shared_ptr<VoterMemory> its = {}, uint32_t process = 7) {
    if (voter) caf::anon_send_exit(voter, caf::exit_reason::kill);
    voter = nullptr;
    VoterDeps deps;
    deps.id = {testing::node(process), kVoterName};
    deps.node_name = "a";
    deps.links = links;
    deps.dht = dht;
    deps.disk = disk;
    deps.file = file;
    deps.memory = memory = its ? std::move(its) : std::make_shared<VoterMemory>();
    deps.detached = false;
    system.own(spawn_voter(*system, std::move(deps)));
    system.run();
    BOOST_REQUIRE(voter);
  }

  /// The record of a coordinator.
  void leads(const routing::Ballot& ballot) {
    proto::CoordinatorRecord record;
    record.set_node_id(ballot.node.raw());
    record.set_endpoint("10.0.0.1:100");
    record.set_term(ballot.term.value());
    record.set_active(true);
    records = {{subkey_of(ballot.node), record.SerializeAsString(), 1}};
  }

  template <class Message>
  Result<Mail> ask(Message message, uint32_t from = 1) {
    auto mail = make_mail(std::move(message));
    mail.from = testing::node(from);
    caf::scoped_actor self(*system);
    auto handle = self->request(voter, caf::infinite, mail);
    system.run();
    Result<Mail> out = Error{ErrorCode::kInternal, "no answer"};
    handle.receive([&](const Mail& reply) { out = reply; },
                   [&](const caf::error& error) { out = from_caf(error); });
    return out;
  }
  /// Its answer, which is no error.
  template <class Message>
  proto::VoterReply reply(Message message, uint32_t from = 1) {
    const auto answer = ask(std::move(message), from);
    BOOST_REQUIRE_MESSAGE(answer.ok(), (answer.ok() ? "" : to_string(answer.error())));
    BOOST_REQUIRE((answer->kind == proto::KIND_VOTER_REPLY));
    return answer.value().template as<proto::VoterReply>();
  }
  std::string describe() {
    caf::scoped_actor self(*system);
    auto handle = self->request(voter, caf::infinite, describe_atom::value);
    system.run();
    std::string out;
    handle.receive([&](const std::string& text) { out = text; }, [](const caf::error&) {});
    return out;
  }
  routing::VoterRecord on_disk() { return read_voter_record(disk->bytes.value()).value(); }

  sim::DeterministicSystem system;
  std::shared_ptr<FakeDisk> disk = std::make_shared<FakeDisk>();
  std::shared_ptr<VoterMemory> memory;
  routing::Voters file;
  DhtRecords records;
  caf::actor links, dht, voter;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(VoterTest, OneVoter)

BOOST_AUTO_TEST_CASE(a_promise_is_stored_before_it_is_answered_and_outlives_the_process) {
  const auto first = reply(promise(ballot(5)));
  BOOST_TEST(first.taken());
  BOOST_TEST(first.voter() == "a#" + testing::node(7).hex());
  BOOST_TEST((on_disk().promised == ballot(5)));
  begin();
  const auto lower = reply(promise(ballot(4)));
  BOOST_TEST(!lower.taken());
  BOOST_TEST(lower.reason() != "");
  BOOST_TEST(lower.promised().term() == 5u);
  BOOST_TEST(reply(promise(ballot(5))).taken());
  BOOST_TEST(reply(promise(ballot(6))).taken());
}

BOOST_AUTO_TEST_CASE(what_changes_nothing_is_not_written_again) {
  BOOST_TEST(reply(promise(ballot(5))).taken());
  BOOST_TEST(reply(promise(ballot(5))).taken());
  BOOST_TEST(!reply(promise(ballot(4))).taken());
  BOOST_TEST(disk->writes == 2);  // the disk's id, and that
  BOOST_TEST(reply(learn(2)).taken());
  BOOST_TEST(reply(learn(1)).taken());
  BOOST_TEST(disk->writes == 3);
}

BOOST_AUTO_TEST_CASE(a_disk_has_one_id_for_all_its_processes_and_an_empty_one_another) {
  const auto id = on_disk().disk;  // before anything was asked
  begin({}, 8);
  const auto again = reply(promise(ballot(5)));
  BOOST_TEST(again.voter() == "a#" + id);
  disk->bytes.reset();
  begin({}, 9);
  const auto other = reply(promise(ballot(5)));
  BOOST_TEST(other.voter() == "a#" + testing::node(9).hex());
}

BOOST_AUTO_TEST_CASE(who_gives_up_its_line_is_another_voter_on_the_disk_too) {
  const auto before = reply(promise(ballot(5))).voter();
  auto message = learn(2);
  *message.mutable_decided()->add_forks()->mutable_ballot() = to_proto(ballot(3));
  message.mutable_decided()->mutable_forks(0)->set_number(1);
  message.set_gives_up("a#other");
  BOOST_TEST(!reply(message).taken());
  message.set_gives_up(before);
  const auto after = reply(message);
  BOOST_TEST(after.taken());
  BOOST_TEST(after.voter() == before + ".1");
  BOOST_TEST(after.forsaken());
  BOOST_TEST(!reply(message).taken());  // late, and once more
  begin({}, 8);
  BOOST_TEST(reply(promise(ballot(4))).voter() == before + ".1");
  BOOST_TEST(on_disk().forsaken);
}

BOOST_AUTO_TEST_CASE(a_disk_that_cannot_take_its_id_has_no_vote) {
  disk->bytes.reset();
  disk->full = true;
  begin();
  BOOST_TEST((ask(vote(ballot(5), 1, 7)).code() == ErrorCode::kIo));
  disk->full = false;
  BOOST_TEST(reply(promise(ballot(5))).taken());
}

BOOST_AUTO_TEST_CASE(a_disk_that_fails_is_an_error_and_changes_nothing) {
  BOOST_TEST(reply(promise(ballot(5))).taken());
  disk->fails = true;
  BOOST_TEST((ask(promise(ballot(6))).code() == ErrorCode::kIo));
  BOOST_TEST((ask(store(ballot(6), 1)).code() == ErrorCode::kIo));
  BOOST_TEST((ask(learn(3)).code() == ErrorCode::kIo));
  const auto now = reply(promise(ballot(4)));  // refused by the rule: nothing is to be stored
  BOOST_TEST(now.promised().term() == 5u);
  BOOST_TEST(now.decided().number() == 0u);
  BOOST_TEST(!now.has_proposal());
  // What the disk has by now is not known: it is written before it is answered.
  BOOST_TEST((ask(promise(ballot(5))).code() == ErrorCode::kIo));
  disk->fails = false;
  BOOST_TEST(reply(promise(ballot(6))).taken());
  BOOST_TEST((on_disk().promised == ballot(6)));
}

BOOST_AUTO_TEST_CASE(a_disk_that_cannot_be_read_is_read_later) {
  BOOST_TEST(reply(promise(ballot(5))).taken());
  disk->fails = true;
  begin();
  BOOST_TEST((ask(promise(ballot(9))).code() == ErrorCode::kIo));
  BOOST_TEST(describe().find("cannot read") == 0u);
  disk->fails = false;
  BOOST_TEST(!reply(promise(ballot(4))).taken());
}

BOOST_AUTO_TEST_CASE(a_record_of_another_version_is_left_alone) {
  disk->bytes = "no record";
  begin();
  BOOST_TEST((ask(promise(ballot(9))).code() == ErrorCode::kIo));
  BOOST_TEST(*disk->bytes == "no record");
}

BOOST_AUTO_TEST_CASE(a_change_is_stored_and_then_known_to_hold) {
  const auto stored = reply(store(ballot(5), 1));
  BOOST_TEST(stored.taken());
  BOOST_TEST(stored.proposal().number() == 1u);
  BOOST_TEST(stored.proposal_ballot().term() == 5u);
  BOOST_TEST((on_disk().proposal->next == configuration(1)));
  begin();
  const auto learned = reply(learn(1));
  BOOST_TEST(learned.taken());
  BOOST_TEST(!learned.has_proposal());
  BOOST_TEST((on_disk().decided == configuration(1)));
  BOOST_TEST(reply(learn(1)).taken());  // old news
  const auto over = reply(store(ballot(5), 1));
  BOOST_TEST(!over.taken());
  BOOST_TEST(over.decided().number() == 1u);
}

BOOST_AUTO_TEST_CASE(it_votes_from_where_it_is_told_that_the_swarm_is) {
  BOOST_TEST(reply(promise(ballot(5))).taken());
  BOOST_TEST(!reply(vote(ballot(5), 1, 7)).taken());  // it does not know configuration 1
  BOOST_TEST(reply(learn(1)).taken());
  const int writes = disk->writes;
  const auto voted = reply(vote(ballot(5), 1, 7));
  BOOST_TEST(voted.taken());
  BOOST_TEST(voted.voted());
  BOOST_TEST(voted.remembers());
  BOOST_TEST(voted.mark().step() == 7u);
  BOOST_TEST(voted.mark_number() == 1u);
  BOOST_TEST(!reply(vote(ballot(5), 1, 6)).taken());
  BOOST_TEST(disk->writes == writes);
  BOOST_TEST(reply(promise(ballot(6))).taken());
  BOOST_TEST(!reply(vote(ballot(5), 1, 8)).taken());
}

BOOST_AUTO_TEST_CASE(a_new_process_has_forgotten_its_vote_and_a_new_life_has_not) {
  BOOST_TEST(reply(promise(ballot(5))).taken());
  BOOST_TEST(reply(learn(1)).taken());
  BOOST_TEST(reply(vote(ballot(5), 1, 7)).taken());
  begin(memory);
  auto now = reply(promise(ballot(6)));
  BOOST_TEST(now.remembers());
  BOOST_TEST(now.voted());
  begin();
  now = reply(promise(ballot(7)));
  BOOST_TEST(!now.remembers());
  BOOST_TEST(!now.has_mark());
  BOOST_TEST(now.decided().number() == 1u);
}

BOOST_AUTO_TEST_CASE(a_coordinator_asks_under_its_own_ballot_only) {
  BOOST_TEST((ask(promise(ballot(5, 1)), 2).code() == ErrorCode::kRefused));
  BOOST_TEST((ask(store(ballot(5, 1), 1), 2).code() == ErrorCode::kRefused));
  BOOST_TEST((ask(vote(ballot(5, 1), 1, 7), 2).code() == ErrorCode::kRefused));
  BOOST_TEST((ask(learn(1, ballot(5, 1)), 2).code() == ErrorCode::kRefused));
  auto gives_up = learn(1, ballot(5, 1));
  gives_up.set_gives_up(reply(promise(ballot(5, 1))).voter());
  BOOST_TEST((ask(gives_up, 2).code() == ErrorCode::kRefused));
  BOOST_TEST(disk->writes == 2);  // its id, and that promise
  BOOST_TEST(!reply(learn(1, ballot(4, 2)), 2).taken());
  BOOST_TEST(reply(learn(1, ballot(6, 2)), 2).taken());  // a later one, whose promise is on its way
  BOOST_TEST(disk->writes == 3);
}

BOOST_AUTO_TEST_CASE(a_number_that_jumps_is_refused_with_its_sender) {
  for (const uint64_t number : {uint64_t{1} << 33, ~uint64_t{0} - 2}) {
    BOOST_TEST((ask(learn(number)).code() == ErrorCode::kRefused));
    BOOST_TEST((ask(store(ballot(5), number)).code() == ErrorCode::kRefused));
  }
  BOOST_TEST(disk->writes == 1);
  BOOST_TEST(reply(learn(1'000'000)).taken());  // it was away for long
}

// One message, and it answered no coordinator any more.
BOOST_AUTO_TEST_CASE(a_term_that_jumps_is_refused_unless_the_record_of_its_coordinator_says_so) {
  const auto numbered = [](uint64_t number, uint32_t node) {
    const Term before((number - 1) << routing::kTermNodeBits);
    return routing::Ballot{routing::next_term(before, testing::node(node)), testing::node(node)};
  };
  const auto refused = ErrorCode::kRefused;
  BOOST_TEST(reply(promise(numbered(3, 1))).taken());
  BOOST_TEST((ask(promise(numbered(1'028, 1))).code() == refused));
  BOOST_TEST((ask(store(numbered(1'028, 1), 1)).code() == refused));
  BOOST_TEST((ask(learn(1, numbered(1'028, 1))).code() == refused));
  BOOST_TEST((ask(vote(numbered(1'028, 1), 0, 0)).code() == refused));
  BOOST_TEST((on_disk().promised == numbered(3, 1)));
  BOOST_TEST(reply(promise(numbered(1'027, 1))).taken());
  // A new one, and one that was away while there were 2,000 coordinators.
  for (const uint64_t number : {500'000, 2'003}) {
    disk->bytes.reset();
    records.clear();
    begin();
    if (number < 10'000) BOOST_TEST(reply(promise(numbered(3, 1))).taken());
    BOOST_TEST((ask(promise(numbered(number, 2)), 2).code() == refused));
    leads(numbered(number, 2));
    BOOST_TEST((ask(promise(numbered(number, 3)), 3).code() == refused));  // nobody's record
    BOOST_TEST((ask(promise(numbered(number, 2)), 2).code() == refused));  // it looks
    BOOST_TEST(reply(promise(numbered(number, 2)), 2).taken());
  }
  disk->bytes.reset();
  begin();
  leads(numbered(routing::kLastTermNumber, 2));
  for (int i = 0; i < 9; ++i)
    BOOST_TEST((ask(promise(numbered(routing::kLastTermNumber, 2)), 2).code() == refused));
}

BOOST_AUTO_TEST_CASE(nonsense_is_an_error) {
  const auto invalid = ErrorCode::kInvalidArgument;
  BOOST_TEST((ask(proto::VoterPromise()).code() == invalid));
  BOOST_TEST((ask(proto::VoterStore()).code() == invalid));
  auto message = store(ballot(5), 1);
  *message.mutable_next() = to_proto(configuration(2));
  BOOST_TEST((ask(message).code() == invalid));
  auto nowhere = vote(ballot(5), 1, 7);
  nowhere.clear_place();
  BOOST_TEST((ask(nowhere).code() == invalid));
  BOOST_TEST((ask(proto::Lease()).code() == invalid));
  BOOST_TEST(disk->writes == 1);  // its id
}

BOOST_AUTO_TEST_CASE(the_list_of_the_file_is_that_of_the_file_now) {
  file = {"a", "b"};
  begin();
  BOOST_TEST(reply(promise(ballot(5))).decided().voters_size() == 2);
  file = {"a", "b", "c"};
  begin();
  BOOST_TEST(reply(promise(ballot(5))).decided().voters_size() == 3);
}

BOOST_AUTO_TEST_CASE(the_console_is_told_in_a_line) {
  BOOST_TEST(describe() ==
             "configuration 0 of 0 voters since step 0, has not been told where the swarm is");
  const routing::Ballot high{Term(3 << routing::kTermNodeBits), testing::node(1)};
  reply(promise(high));
  reply(learn(1, high));
  reply(vote(high, 1, 7));
  reply(store(high, 2));
  BOOST_TEST(describe() ==
             "configuration 1 of 3 voters since step 0, stored 2 of 3 voters, promised term 3 of "
             "00000000, at step 7, voted");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(VoterFileTest)

BOOST_AUTO_TEST_CASE(a_damaged_file_is_set_aside_and_told_of) {
  const auto folder = std::filesystem::temp_directory_path() / ("voter-" + NodeId::random().hex());
  std::filesystem::create_directories(folder);
  auto events = std::make_shared<MemoryEventLog>();
  const auto disk = voter_file(folder, events);
  BOOST_TEST(!disk->load().value().has_value());
  BOOST_TEST(disk->save("record").ok());
  BOOST_TEST(voter_file(folder, events)->load().value().value() == "record");
  std::ofstream(folder / kVoterFile) << "damaged";
  BOOST_TEST(!disk->load().value().has_value());
  BOOST_TEST(events->count("voter_set_aside") == 1u);
  BOOST_TEST(!std::filesystem::exists(folder / kVoterFile));
  size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    left += entry.path().filename().string().find("voter.damaged-") == 0 ? 1 : 0;
  BOOST_TEST(left == 1u);
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(SimulatedVoters)

// One on each machine: it outlives kills, fails with its disk and is empty on another one.
BOOST_FIXTURE_TEST_CASE(a_voter_has_the_disk_of_its_machine, testing::SimSwarm) {
  num_stages = 1;
  add_trainer("trainer");
  add_peer("a", 0);
  const auto ask = [this](const std::string& name, uint64_t term) {
    caf::scoped_actor self(*system);
    auto handle = self->request(nodes[name].voter, caf::infinite, make_mail(promise(ballot(term))));
    system.run();
    ErrorCode code = ErrorCode::kNone;
    bool taken = false;
    handle.receive([&](const Mail& mail) { taken = mail.as<proto::VoterReply>().taken(); },
                   [&](const caf::error& error) { code = from_caf(error).code; });
    return code != ErrorCode::kNone ? std::string(to_string(code)) : taken ? "taken" : "refused";
  };
  for (const std::string name : {"trainer", "a"}) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(ask(name, 9) == "taken");
      kill(name);
      start(name);
      BOOST_TEST(ask(name, 8) == "refused");
      disks.at(name)->set_trouble({/*fails=*/true});
      BOOST_TEST(ask(name, 10) == "io");
      disks.at(name)->set_trouble({/*fails=*/false, /*full=*/true});
      BOOST_TEST(ask(name, 10) == "io");
      disks.at(name)->set_trouble({});
      const auto before = disks.at(name)->as_after_a_crash();
      BOOST_TEST(ask(name, 10) == "taken");
      kill(name);
      *disks.at(name) = before;
      start(name);
      BOOST_TEST(ask(name, 9) == "taken");
      kill(name);
      *disks.at(name) = sim::Disk();
      start(name);
      BOOST_TEST(ask(name, 1) == "taken");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

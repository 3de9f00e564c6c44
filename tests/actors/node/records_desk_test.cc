#include "actors/node/records_desk.h"

#include <xxhash.h>

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <filesystem>
#include <fstream>

#include "actors/dht/dht_node.h"
#include "actors/net/links/links.h"
#include "actors/net/requests.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/disk.h"
#include "common/names.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;

namespace {

/// A desk over a folder and a store, beside a DHT and links that know one node each.
struct Desk {
  Desk() {
    folder = std::filesystem::temp_directory_path() / ("desk-" + NodeId::random().hex());
    std::filesystem::create_directories(folder);
    auto dht = system.own(system->spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](dht_status_atom) {
        DhtStatus status;
        status.contacts = {{testing::node(2), Endpoint{"10.0.0.2", 7000}}};
        return status;
      }};
    }));
    auto links = system.own(system->spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {
          [](stats_atom) {
            LinksStats stats;
            LinkStats node, tool, hidden;
            node.node = {testing::node(3), "m3", {"10.0.0.3", 7000}, false};
            tool.node = {testing::node(4), "tool", {"10.0.0.4", 7000}, true};
            hidden.node = {testing::node(5), "m5", {}, false};
            stats.links = {node, tool, hidden};
            return stats;
          },
          [this](register_atom, const std::string& name, const caf::actor&) { registered = name; }};
    }));
    RecordsDeskDeps deps;
    deps.links = links;
    deps.dht = dht;
    deps.node_folder = folder;
    deps.run_id = "run";
    deps.node_name = "m1";
    deps.num_stages = 2;
    deps.store = store;
    deps.collected = [this](bool finished) { (finished ? told_finished : collected) = true; };
    deps.read = [this] { ++reads; };
    deps.detached = false;
    desk = system.own(spawn_records_desk(*system, std::move(deps)));
    system.run();
  }
  ~Desk() { std::filesystem::remove_all(folder); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  }

  template <class Message>
  Result<Mail> ask(Message message) {
    caf::scoped_actor self(*system);
    auto handle = self->request(desk, caf::infinite, make_mail(std::move(message)));
    system.run();
    Result<Mail> out = Error{ErrorCode::kInternal, "no answer"};
    handle.receive([&](const Mail& mail) { out = mail; },
                   [&](const caf::error& error) { out = from_caf(error); });
    return out;
  }
  Result<Mail> read(const std::string& file, uint64_t offset, uint32_t most) {
    proto::ReadRecord message;
    message.set_file(file);
    message.set_offset(offset);
    message.set_max_bytes(most);
    return ask(std::move(message));
  }
  Result<Mail> read(uint32_t stage, uint64_t step, uint64_t offset, uint32_t most) {
    proto::ReadRecord message;
    message.set_stage(stage);
    message.set_step(step);
    message.set_offset(offset);
    message.set_max_bytes(most);
    return ask(std::move(message));
  }

  std::filesystem::path folder;
  std::shared_ptr<sim::Disk> disk = std::make_shared<sim::Disk>();
  std::shared_ptr<sim::DiskStore> store = std::make_shared<sim::DiskStore>(disk, true);
  sim::DeterministicSystem system;
  caf::actor desk;
  std::string registered;
  bool collected = false, told_finished = false;
  int reads = 0;
};

std::string text_of(const Result<Mail>& mail) {
  return mail ? std::string(mail->body.view()) : to_string(mail.error());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RecordsDeskTest)

BOOST_FIXTURE_TEST_CASE(it_lists_files_snapshots_and_the_nodes_that_can_be_asked_next, Desk) {
  write("audit.jsonl", "one\ntwo\n");
  write("secrets.txt", "not a record");
  write("audit-000001.jsonl.zst", "piece");
  BOOST_REQUIRE(store->put({stage_key(1), 40}, Buffer::from_string("state"), 3).ok());
  const auto mail = ask(proto::ListRecords());
  BOOST_REQUIRE(mail.ok());
  const auto& reply = mail->as<proto::ListRecordsReply>();
  BOOST_TEST(registered == kRecordsName);
  BOOST_TEST(reply.node_name() == "m1");
  BOOST_TEST(reply.run_id() == "run");
  BOOST_REQUIRE_EQUAL(reply.files_size(), 2);
  BOOST_TEST(reply.files(0).name() == "audit-000001.jsonl.zst");
  BOOST_TEST(text_of(read("audit-000001.jsonl.zst", 0, 9)) == "piece");
  BOOST_TEST(reply.files(1).name() == "audit.jsonl");
  BOOST_TEST(reply.files(1).bytes() == 8u);
  BOOST_TEST(reply.files(1).digest() == XXH64("one\ntwo\n", 8, 0));
  BOOST_REQUIRE_EQUAL(reply.snapshots_size(), 1);
  BOOST_TEST(reply.snapshots(0).stage() == 1u);
  BOOST_TEST(reply.snapshots(0).step() == 40u);
  BOOST_REQUIRE_EQUAL(reply.nodes_size(), 2);  // no tools, nobody without an address
  BOOST_TEST(reply.nodes(0).endpoint() == "10.0.0.2:7000");
  BOOST_TEST(reply.nodes(1).endpoint() == "10.0.0.3:7000");
}

BOOST_FIXTURE_TEST_CASE(files_are_read_by_ranges, Desk) {
  write("audit.jsonl", "0123456789");
  BOOST_TEST(text_of(read("audit.jsonl", 0, 4)) == "0123");
  BOOST_TEST(text_of(read("audit.jsonl", 8, 4)) == "89");
  BOOST_TEST(text_of(read("audit.jsonl", 10, 4)) == "");
  BOOST_TEST((read("audit.jsonl", 11, 4).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST((read("audit.jsonl", 0, 0).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST((read("audit.jsonl", 0, kMostRecordBytes + 1).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST((read("metrics.jsonl", 0, 4).code() == ErrorCode::kNotFound));
}

BOOST_FIXTURE_TEST_CASE(no_other_file_of_the_machine_is_given, Desk) {
  write("secrets.txt", "not a record");
  for (const char* name : {"secrets.txt", "../../etc/passwd", "/etc/passwd", "db/CURRENT", "."})
    BOOST_TEST((read(name, 0, 10).code() == ErrorCode::kInvalidArgument), name);
}

BOOST_FIXTURE_TEST_CASE(snapshots_are_read_by_ranges_with_the_digest_of_the_whole, Desk) {
  const std::string state(3000, 's');
  BOOST_REQUIRE(store->put({stage_key(0), 7}, Buffer::from_string(state), 3).ok());
  const auto part = read(0, 7, 2000, 4000);
  BOOST_REQUIRE(part.ok());
  BOOST_TEST(part->body.size() == 1000u);
  BOOST_TEST(part->as<proto::ReadRecordReply>().total_bytes() == 3000u);
  BOOST_TEST(part->as<proto::ReadRecordReply>().digest() == XXH64(state.data(), state.size(), 0));
  BOOST_TEST((read(0, 8, 0, 10).code() == ErrorCode::kNotFound));
  BOOST_TEST((read(5, 7, 0, 10).code() == ErrorCode::kNotFound));
  BOOST_TEST((read(0, 7, 3001, 10).code() == ErrorCode::kInvalidArgument));
}

BOOST_FIXTURE_TEST_CASE(a_snapshot_is_let_go_when_nobody_reads_on, Desk) {
  BOOST_REQUIRE(store->put({stage_key(0), 7}, Buffer::from_string("old"), 1).ok());
  BOOST_REQUIRE(read(0, 7, 0, 10).ok());
  BOOST_REQUIRE(store->put({stage_key(0), 8}, Buffer::from_string("new"), 1).ok());
  BOOST_TEST(text_of(read(0, 7, 0, 10)) == "old");  // pruned, but somebody is at it
  system.advance(2min);
  BOOST_TEST((read(0, 7, 0, 10).code() == ErrorCode::kNotFound));
}

BOOST_FIXTURE_TEST_CASE(it_passes_on_that_somebody_holds_all, Desk) {
  BOOST_TEST(!collected);
  BOOST_TEST(ask(proto::Collected()).ok());
  BOOST_TEST(collected);
  BOOST_TEST(!told_finished);
  proto::Collected message;
  message.set_finished(true);
  BOOST_TEST(ask(std::move(message)).ok());
  BOOST_TEST(told_finished);
  BOOST_TEST(reads == 0);
}

BOOST_FIXTURE_TEST_CASE(it_says_at_most_once_a_second_that_somebody_reads, Desk) {
  write("audit.jsonl", "0123456789");
  BOOST_REQUIRE(ask(proto::ListRecords()).ok());
  for (int i = 0; i < 5; ++i) BOOST_REQUIRE(read("audit.jsonl", 0, 4).ok());
  BOOST_TEST(reads == 1);
  system.advance(1s);
  BOOST_REQUIRE(read("audit.jsonl", 0, 4).ok());
  BOOST_TEST(reads == 2);
}

BOOST_AUTO_TEST_SUITE_END()

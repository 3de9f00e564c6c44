// What registrations and records of coordinators say of a node: its address, its device.
#include <boost/test/unit_test.hpp>

#include "actors/coordinator/coordinator_mail.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "swarm/dht.pb.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;

namespace {

routing::DeviceReport read(const proto::RegisterPeer& from) {
  proto::RegisterPeer message = from;
  *message.mutable_peer() = to_proto(testing::peer(1), {"10.0.0.1", 100}, "n1");
  const auto registration = read_registration(message, {1, 10});
  BOOST_REQUIRE(registration.ok());
  return registration->report.device;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RegistrationTest)

BOOST_AUTO_TEST_CASE(a_job_that_does_not_end_is_seen) {
  proto::RegisterPeer message;
  message.set_job_ms(61'000);
  message.set_usual_job_ms(20);
  message.set_since_job_ms(61'000);
  const auto device = read(message);
  BOOST_TEST((device.job == routing::Time(61s)));
  BOOST_TEST((device.usual == routing::Time(20ms)));
  BOOST_TEST((device.since_job == routing::Time(61s)));
  BOOST_TEST(device.hangs());
}

BOOST_AUTO_TEST_CASE(whoever_says_nothing_of_its_device_does_not_hang) {
  const auto device = read({});
  BOOST_TEST(!device.hangs());
  BOOST_TEST(!device.since_job.has_value());
}

BOOST_AUTO_TEST_CASE(no_number_is_too_large) {
  proto::RegisterPeer message;
  message.set_job_ms(~uint64_t{0});
  message.set_usual_job_ms(~uint64_t{0});
  BOOST_TEST(!read(message).hangs());
}

BOOST_AUTO_TEST_CASE(copies_are_of_stages_and_steps_that_there_are) {
  const auto code_of = [](uint32_t stage, uint64_t step) {
    proto::RegisterPeer message;
    *message.mutable_peer() = to_proto(testing::peer(1), {"10.0.0.1", 100}, "n1");
    auto& copy = *message.add_copies();
    copy.set_stage(stage);
    copy.set_step(step);
    return read_registration(message, {2, 10}).code();
  };
  BOOST_TEST((code_of(1, 10) == ErrorCode::kNone));
  BOOST_TEST((code_of(2, 10) == ErrorCode::kInvalidArgument));
  BOOST_TEST((code_of(1, 1'000) == ErrorCode::kRefused));
}

BOOST_AUTO_TEST_CASE(whoever_gives_a_name_for_an_address_is_refused) {
  proto::RegisterPeer message;
  *message.mutable_peer() = to_proto(testing::peer(1), {"far.example", 100}, "n1");
  BOOST_TEST((read_registration(message, {1, 10}).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(a_coordinators_record_that_names_its_host_is_none) {
  const auto is_read = [](const std::string& endpoint) {
    proto::CoordinatorRecord record;
    record.set_node_id(testing::node(1).raw());
    record.set_endpoint(endpoint);
    return read_record({subkey_of(testing::node(1)), record.SerializeAsString(), 1, 60s})
        .has_value();
  };
  BOOST_TEST(is_read("10.0.0.1:100"));
  BOOST_TEST(is_read("[fe80::1]:100"));
  BOOST_TEST(is_read("[fe80::1%no-zone-of-this-machine]:100"));
  BOOST_TEST(!is_read("far.example:100"));
  BOOST_TEST(!is_read("localhost:100"));
}

BOOST_AUTO_TEST_SUITE_END()

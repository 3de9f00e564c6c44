#include "actors/dht/dht_messages.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::actors;
using routing::StoredRecord;

namespace {

std::vector<StoredRecord> some_records(size_t count, size_t value_bytes) {
  std::vector<StoredRecord> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({"key" + std::to_string(i), std::string(value_bytes, 'v'), i, /*expires_s=*/20});
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(DhtMessages)

BOOST_AUTO_TEST_CASE(a_contact_comes_back_as_it_was_sent) {
  const routing::Contact contact{NodeId::random(), {"10.0.0.1", 7}};
  const auto back = parse_contact(to_proto(contact));
  BOOST_REQUIRE(back.ok());
  BOOST_TEST((back->id == contact.id));
  BOOST_TEST((back->endpoint == contact.endpoint));
}

BOOST_AUTO_TEST_CASE(what_is_no_contact_is_refused) {
  proto::DhtContact contact = to_proto({NodeId::random(), {"10.0.0.1", 7}});
  contact.set_node_id("short");
  BOOST_TEST((parse_contact(contact).code() == ErrorCode::kInvalidArgument));
  contact = to_proto({NodeId::random(), {"10.0.0.1", 7}});
  for (const char* endpoint : {"nowhere", "somewhere.example:80", "localhost:80"}) {
    contact.set_endpoint(endpoint);
    BOOST_TEST((parse_contact(contact).code() == ErrorCode::kInvalidArgument));
  }
}

BOOST_AUTO_TEST_CASE(a_record_travels_with_the_time_that_it_has_left) {
  const StoredRecord record{"key", "value", 3, /*expires_s=*/112.5};
  const auto message = to_proto(record, /*now_s=*/110);
  BOOST_TEST(message.ttl_ms() == 2'500u);
  const auto back = from_proto(message, /*now_s=*/5'000);  // another clock
  BOOST_TEST(back.subkey == record.subkey);
  BOOST_TEST(back.value == record.value);
  BOOST_TEST(back.version == record.version);
  BOOST_TEST(back.expires_s == 5'002.5);
  BOOST_TEST(to_proto(record, /*now_s=*/200).ttl_ms() == 1u);  // never "no limit"
}

BOOST_AUTO_TEST_CASE(a_message_takes_what_fits_and_keeps_the_order) {
  const auto all = fitting(some_records(5, 10), 0);
  BOOST_REQUIRE_EQUAL(all.size(), 5u);
  BOOST_TEST(all[2].subkey() == "key2");
  const auto large = fitting(some_records(1'000, 4'096), 0);
  BOOST_TEST(large.size() < 128u);
  BOOST_TEST(large.size() > 120u);
  BOOST_TEST(fitting({}, 0).empty());
}

BOOST_AUTO_TEST_SUITE_END()

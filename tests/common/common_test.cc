#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/ids.h"
#include "tests/support/ids.h"

using namespace swarm;

BOOST_AUTO_TEST_SUITE(NodeIdTest)

BOOST_AUTO_TEST_CASE(ids_are_ordered_as_their_bytes) {
  std::vector<NodeId> ids(64);
  for (NodeId& id : ids) id = NodeId::random();
  for (size_t at = 0; at < 16; ++at) {  // neighbours that differ in one byte
    ids.push_back(ids[at]);
    ids.back().bytes[at] ^= 0x80;
  }
  ids.push_back(ids[0]);
  for (const NodeId& a : ids)
    for (const NodeId& b : ids) {
      BOOST_TEST((a < b) == (a.bytes < b.bytes), a.hex() << " " << b.hex());
      BOOST_TEST((a == b) == (a.bytes == b.bytes), a.hex() << " " << b.hex());
    }
}

BOOST_AUTO_TEST_CASE(hex_and_raw_bytes_lead_back_to_the_id) {
  NodeId id = NodeId::random();
  BOOST_TEST(!id.is_zero());
  BOOST_TEST(NodeId::random() != id);
  BOOST_TEST(NodeId::from_hex(id.hex()).value() == id);
  BOOST_TEST(NodeId::from_bytes(id.raw()).value() == id);
  BOOST_TEST(id.hex().size() == 32u);
}

BOOST_AUTO_TEST_CASE(what_is_no_id_is_refused) {
  for (const std::string& text :
       {std::string(), std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'g'),
        "0x" + std::string(30, '1'), "+1" + std::string(30, '1'), " 1" + std::string(30, '1')})
    BOOST_TEST(NodeId::from_hex(text).code() == ErrorCode::kInvalidArgument, text);
  BOOST_TEST(NodeId::from_bytes(std::string(15, 'x')).code() == ErrorCode::kInvalidArgument);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(EndpointTest)

BOOST_AUTO_TEST_CASE(text_leads_back_to_the_endpoint) {
  for (const char* text : {"127.0.0.1:80", "host.name:65535", "[::1]:0"})
    BOOST_TEST(Endpoint::parse(text).value().text() == text);
}

BOOST_AUTO_TEST_CASE(what_is_no_endpoint_is_refused) {
  for (const char* text : {"", ":", "host", "host:", ":80", "host:65536", "host:-1", "host:8x",
                           "::1:80", "[::1:80", "[]:80", "[::1]"})
    BOOST_TEST(Endpoint::parse(text).code() == ErrorCode::kInvalidArgument, text);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ResultTest)

BOOST_AUTO_TEST_CASE(a_result_is_a_value_or_an_error) {
  Result<int> good = 3;
  Result<int> bad = Error{ErrorCode::kNotFound, "nothing there"};
  BOOST_TEST(good.value() == 3);
  BOOST_TEST(good.code() == ErrorCode::kNone);
  BOOST_TEST(!bad.ok());
  BOOST_TEST(to_string(bad.error()) == "not_found: nothing there");
  BOOST_CHECK_THROW((void)bad.value(), std::bad_variant_access);
  BOOST_TEST(Status().ok());
  BOOST_TEST(Status(bad.error()).code() == ErrorCode::kNotFound);
}

BOOST_AUTO_TEST_CASE(asking_a_success_for_its_error_aborts) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    std::signal(SIGABRT, SIG_DFL);
    (void)Status().error();
    _exit(0);
  }
  int how = 0;
  BOOST_REQUIRE(waitpid(child, &how, 0) == child);
  BOOST_TEST((WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT));
}

BOOST_AUTO_TEST_CASE(every_code_on_the_list_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (uint8_t code = 0; code <= 18; ++code) names.insert(to_string(static_cast<ErrorCode>(code)));
  BOOST_TEST(names.size() == 19u);
  BOOST_TEST(names.count("unknown") == 0u);
  BOOST_TEST(to_string(static_cast<ErrorCode>(200)) == std::string("unknown"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(BufferTest)

BOOST_AUTO_TEST_CASE(a_slice_keeps_the_memory_alive) {
  Buffer slice;
  {
    Buffer whole = Buffer::from_string("hello swarm");
    slice = whole.slice(6, 5);
    BOOST_TEST(static_cast<const void*>(slice.data()) == whole.data() + 6);
  }
  BOOST_TEST(slice.view() == "swarm");
}

BOOST_AUTO_TEST_CASE(freed_memory_is_used_again_and_never_while_in_use) {
  const void* first = nullptr;
  {
    MutableBuffer buffer = MutableBuffer::allocate(1'000'000);
    BOOST_TEST(reinterpret_cast<uintptr_t>(buffer.data()) % 64 == 0u);
    std::memset(buffer.data(), 1, buffer.size());
    first = buffer.data();
    Buffer frozen = buffer.freeze();
    BOOST_TEST(MutableBuffer::allocate(1'000'000).data() != first);
  }
  MutableBuffer again = MutableBuffer::allocate(1'000'000);
  MutableBuffer other = MutableBuffer::allocate(1'000'000);
  BOOST_TEST((again.data() == first || other.data() == first));
  BOOST_TEST(again.data() != other.data());
}

BOOST_AUTO_TEST_CASE(impossible_sizes_throw) {
  BOOST_CHECK_THROW(MutableBuffer::allocate(std::numeric_limits<size_t>::max()), std::bad_alloc);
  BOOST_TEST(MutableBuffer::allocate(0).size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

// docs/events.md against the catalogue. SWARM_UPDATE_DOCS=1 writes it anew.
#include "records/reference.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "records/files.h"

using namespace swarm;

namespace {

const std::string kRoot = SWARM_SOURCE_DIR;

void check_page(const std::string& path, const std::string& right) {
  if (std::getenv("SWARM_UPDATE_DOCS") != nullptr)
    BOOST_REQUIRE(records::write_atomically(kRoot + "/" + path, right).ok());
  const auto found = records::read_file(kRoot + "/" + path);
  BOOST_REQUIRE_MESSAGE(found.ok(), path);
  BOOST_TEST((*found == right), path << " is out of date: run this test with SWARM_UPDATE_DOCS=1");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(records_reference)

BOOST_AUTO_TEST_CASE(the_page_of_events_is_the_catalogue) {
  check_page("docs/events.md", records::events_reference());
}

BOOST_AUTO_TEST_SUITE_END()

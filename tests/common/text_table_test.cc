#include "common/text_table.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(columns_of_a_text_table_line_up_without_trailing_blanks) {
  swarm::TextTable table({"node", "step"});
  table.add({"a", "12"});
  table.add({"stage0-a", ""});
  BOOST_TEST(table.text() == "node      step\na         12\nstage0-a\n");
}

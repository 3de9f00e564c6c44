#include "storage/stores.h"

#include "tests/storage/storage_fixtures.h"

namespace swarm::storage {

BOOST_AUTO_TEST_SUITE(Stores)

// Whatever rows the table has.
BOOST_AUTO_TEST_CASE(a_store_of_every_kind_is_found_again_with_what_was_put) {
  for (size_t row = 0; row < store_names().size(); ++row) {
    BOOST_TEST_CONTEXT(store_names()[row]) {
      const testing::TemporaryDirectory node;
      BOOST_TEST((find_store(node.path()).code() == ErrorCode::kNotFound));
      const Buffer value = testing::content(3, 1000);
      {
        auto store = open_store(static_cast<StoreKind>(row), node.path());
        BOOST_REQUIRE(store.ok());
        BOOST_TEST((*store)->put({"stage/0", 3}, value, 2).ok());
      }
      auto found = find_store(node.path());
      BOOST_REQUIRE(found.ok());
      auto read = (*found)->get({"stage/0", 3});
      BOOST_REQUIRE(read.ok());
      BOOST_TEST((read->view() == value.view()));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::storage

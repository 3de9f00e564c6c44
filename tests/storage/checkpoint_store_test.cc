#include "storage/checkpoint_store.h"

#include <boost/mpl/list.hpp>
#include <memory>

#include "tests/storage/storage_fixtures.h"

namespace {

struct RocksDb {
  swarm::testing::TemporaryDirectory directory;
  std::shared_ptr<swarm::storage::CheckpointStore> store =
      swarm::testing::open_store(directory.path());
};
using Implementations = boost::mpl::list<RocksDb>;

}  // namespace

#include "tests/support/checkpoint_store_contract.h"

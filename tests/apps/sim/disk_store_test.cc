// The simulator's store keeps the contract of the real one.
#include <boost/mpl/list.hpp>
#include <memory>

#include "apps/sim/disk.h"

namespace {

struct SimDisk {
  std::shared_ptr<swarm::storage::CheckpointStore> store =
      std::make_shared<swarm::sim::DiskStore>(std::make_shared<swarm::sim::Disk>(),
                                              /*sync_at_once=*/true);
};
using Implementations = boost::mpl::list<SimDisk>;

}  // namespace

#include "tests/support/checkpoint_store_contract.h"

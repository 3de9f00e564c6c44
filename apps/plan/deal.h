/// Which machines serve which stage. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swarm::plan {

/// [stage][device]: microbatches/s of one machine there; 0: it has too little memory.
using Rates = std::vector<std::vector<double>>;
/// [stage][device]: how many.
using Deal = std::vector<std::vector<uint32_t>>;

/// Deals out `counts[device]` machines, `order` first, so that the sums of the stages' rates are even:
/// each goes where the least is and it has room. The sum of a stage is what it carries (paper: the
/// throughput of a stage is that of its peers together). Machines that fit nowhere are left out;
/// empty if a stage gets none.
Deal deal(const Rates& rates, const std::vector<uint32_t>& counts,
          const std::vector<size_t>& order);

}  // namespace swarm::plan

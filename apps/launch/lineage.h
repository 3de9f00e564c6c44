/// Which updates the final parameters of a run contain. Pure.
///
/// A step may have been closed and applied several times: again after a recovery gave up the first
/// update, or by two parts of a network that was divided for a while. What counts is what the final
/// parameters descend from: from there the updates are followed back, by checksums, to step 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace swarm::launch {

/// One update that one peer applied.
struct AppliedUpdate {
  uint32_t stage = 0;
  uint64_t step = 0;
  std::optional<uint64_t> before;  ///< Checksum of its parameters; empty: it never said.
  uint64_t after = 0;              ///< The same when the update was applied.
  size_t closing = 0;              ///< Index into the closings, which are in the order of rounds.
};

/// Step -> for each stage the closing whose update the final parameters hold. A stage in which
/// nobody reported the step as applied gets the closing that the others applied.
using History = std::map<uint64_t, std::vector<size_t>>;

/// `steps`: the step of each closing. `last_step`: the last step of a finished run; an unfinished
/// run ends with the last closing that somebody applied. Where checksums lead nowhere (a
/// peer died before it could write its line) the last closing of the step takes their place.
History trace_history(const std::vector<AppliedUpdate>& updates, uint32_t num_stages,
                      const std::vector<uint64_t>& steps, std::optional<uint64_t> last_step);

}  // namespace swarm::launch

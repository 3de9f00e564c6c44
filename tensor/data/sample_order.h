/// Which window of the text a sample reads: the data order of a run (invariant I10).
///
/// Pure, O(1) memory: any node can ask for any sample of any epoch, and the answer does not depend
/// on the number of trainers, on failures or on restarts (design: the step ledger).
#pragma once

#include <cstdint>

namespace swarm::tensor {

/// Window of training sample `sample` (numbered over the whole run: step * samples per step +
/// place in the step). Each epoch of `num_windows` samples visits every window once, in a
/// pseudo-random order of its own: a Feistel network over the next power of four, walked until it
/// lands inside. Requires num_windows >= 1.
uint64_t sample_window(uint64_t seed, uint64_t sample, uint64_t num_windows);

/// Window of validation sample `sample`: the first n samples are spread evenly over the text for
/// every n (steps of a golden-ratio stride), and after num_windows samples all were read once.
/// Requires num_windows >= 1.
uint64_t validation_window(uint64_t sample, uint64_t num_windows);

}  // namespace swarm::tensor

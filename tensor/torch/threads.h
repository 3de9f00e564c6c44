/// How many threads LibTorch uses for one operation.
#pragma once

namespace swarm::tensor {

/// For the CALLING thread (OpenMP keeps the number per thread): call it on the thread that runs
/// the stage, before its first pass. Requires count >= 1.
void set_threads(int count);

}  // namespace swarm::tensor

#include "tensor/torch/threads.h"

#include <torch/torch.h>

#include "common/check.h"

namespace swarm::tensor {

void set_threads(int count) {
  SWARM_CHECK(count >= 1);
  at::set_num_threads(count);
}

}  // namespace swarm::tensor

#include "tensor/core/stage.h"

namespace swarm::tensor {

Error Stage::not_asynchronous() {
  return {ErrorCode::kInvalidArgument, "this kind of stage has no asynchronous training", 0};
}

Result<LocalUpdate> Stage::apply_local(uint64_t, uint64_t) { return not_asynchronous(); }
Status Stage::set_step(uint64_t) { return not_asynchronous(); }
Result<Buffer> Stage::to_average(AveragedPart) const { return not_asynchronous(); }
Status Stage::take_average(AveragedPart, const Buffer&, const Buffer&) {
  return not_asynchronous();
}

}  // namespace swarm::tensor

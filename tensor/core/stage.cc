#include "tensor/core/stage.h"

namespace swarm::tensor {
namespace {

Error not_asynchronous() {
  return {ErrorCode::kInvalidArgument, "this kind of stage has no asynchronous training", 0};
}

Error no_ranges() {
  return {ErrorCode::kInvalidArgument, "this kind of stage has no ranges of a state", 0};
}

}  // namespace

Result<LocalUpdate> Stage::apply_local(uint64_t, uint64_t) { return not_asynchronous(); }
Status Stage::set_step(uint64_t) { return not_asynchronous(); }
Result<Buffer> Stage::to_average(AveragedPart) const { return not_asynchronous(); }
Status Stage::take_average(AveragedPart, const Buffer&, const Buffer&) {
  return not_asynchronous();
}

Result<Buffer> Stage::save_range(uint64_t, uint64_t) const { return no_ranges(); }
Status Stage::load_range(uint64_t, uint64_t, const Buffer&) { return no_ranges(); }
Result<OptimizerCounters> Stage::update_range(uint64_t, uint64_t, uint64_t,
                                              const OptimizerCounters&, const Buffer&,
                                              const UpdateScales&) {
  return no_ranges();
}
Status Stage::settle(uint64_t, const OptimizerCounters&) { return no_ranges(); }

}  // namespace swarm::tensor

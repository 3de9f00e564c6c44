#include "tensor/torch/passes.h"

#include <torch/torch.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "tensor/core/codec.h"
#include "tensor/torch/block_loss.h"
#include "tensor/torch/bytes.h"

namespace swarm::tensor {

using torch::Tensor;

Passes::Passes(const StageOptions& options, torch::Device device, TrainedParameters& parameters)
    : options_(options),
      part_(stage_part(options.model, options.stage, options.num_stages)),
      device_(device),
      parameters_(parameters),
      model_(model_code(options.model.kind).make(options.model, part_, options.compute)) {}

Result<EncodedTensor> Passes::forward(const MicrobatchKey& key, const StageInput& input,
                                      bool forward_only) {
  if (part_.last) return invalid("forward: the last stage does forward and backward in one visit");
  if (kept_.count(key) != 0) {
    return Error{ErrorCode::kAlreadyExists, "forward: this attempt already waits", 0};
  }
  auto checked = check_input(options_, device_, input);
  if (!checked) return checked.error();
  const auto& weights = parameters_.weights();
  const int64_t batch = checked->batch, sequence = checked->sequence;
  Kept kept;
  kept.batch = batch;
  kept.sequence = sequence;
  kept.pass = BlockPass(*model_, keeps() || forward_only, batch, sequence);
  const Tensor rows = kept.pass.forward(weights, checked->input, keeps() && !forward_only);
  if (!all_finite(rows)) return non_finite("activations computed are not finite");
  if (!forward_only) {
    kept.updates = parameters_.counters().updates;
    kept.changes = parameters_.versions().changes();
    if (keeps()) kept.version = parameters_.versions().current();
    if (!keeps()) kept.input = input;
    kept_.emplace(key, std::move(kept));
  }
  return encode_rows(rows, batch, sequence, options_.activation_codec);
}

Result<EncodedTensor> Passes::backward(const MicrobatchKey& key, const EncodedTensor& gradient,
                                       bool accumulate) {
  auto found = kept_.find(key);
  if (found == kept_.end()) {
    return Error{ErrorCode::kNotFound, "backward: no forward of this attempt is kept", 0};
  }
  const int64_t batch = found->second.batch, sequence = found->second.sequence;
  const int64_t width = boundary_width(options_.model), rows = batch * sequence;
  if (Status status = check_shape(options_, "gradient", gradient.meta, batch, sequence); !status) {
    return status.error();
  }
  auto values = decode_flat(gradient, static_cast<uint64_t>(rows * width));
  if (!values) return values.error();
  Kept kept = std::move(found->second);
  kept_.erase(found);
  const Tensor seed = view_of(*values, {rows, width}).to(device_);
  WeightGradients sums(parameters_.layout().size());
  auto by_input = pull(kept, seed, accumulate ? &sums : nullptr);
  if (!by_input) return by_input.error();
  if (Status status = add(accumulate ? &sums : nullptr, *by_input); !status) return status.error();
  if (part_.first) return EncodedTensor{};
  return encode_rows(by_input->contiguous(), batch, sequence, options_.gradient_codec);
}

/// Gradients of a kept forward whose output's is `seed`, by its input, returned, and by the weights.
Result<Tensor> Passes::pull(Kept& kept, const Tensor& seed, WeightGradients* sums) {
  if (keeps()) {
    const auto& weights = parameters_.versions().weights(kept.version);
    return kept.pass.backward(weights, {}, seed, !part_.first, sums);
  }
  auto checked = check_input(options_, device_, kept.input);
  if (!checked) return checked.error();
  const auto& weights = parameters_.weights();
  // The pieces' inputs were made with other parameters: all of it once more with today's.
  if (kept.changes != parameters_.versions().changes())
    kept.pass.forward(weights, checked->input, /*with_graph=*/true);
  return kept.pass.backward(weights, checked->input, seed, !part_.first, sums);
}

/// Adds what a pass has found by the weights, if it looked for that, to the stage's sum; all is checked
/// before any is added.
Status Passes::add(const WeightGradients* sums, const Tensor& by_input) {
  at::NoGradGuard guard;
  std::vector<Tensor> found;
  if (sums != nullptr) found = sums->sums();
  if (by_input.defined()) found.push_back(by_input);
  for (const Tensor& gradient : found) {
    if (!gradient.defined())
      return Error{ErrorCode::kInternal, "a parameter has no part in what its stage computes", 0};
    if (!all_finite(gradient)) return non_finite("gradient is not finite; nothing was added");
  }
  if (sums != nullptr) parameters_.add_gradients(found);
  return {};
}

Result<LossResult> Passes::loss(const StageInput& input, bool accumulate, bool forward_only) {
  if (!part_.last) return invalid("forward_backward: only the last stage has the loss");
  auto checked = check_input(options_, device_, input);
  if (!checked) return checked.error();
  if (!forward_only && (accumulate || !part_.first)) return trained(*checked, accumulate);
  at::NoGradGuard guard;
  const auto& weights = parameters_.weights();
  const Tensor x = model_->blocks(weights, checked->input, checked->batch, checked->sequence);
  LossResult result;
  result.loss_sum =
      loss_in_blocks(*model_, weights, x, checked->targets, static_cast<double>(checked->sequence),
                     rows_of_block(options_.model.vocabulary), nullptr);
  if (!std::isfinite(result.loss_sum)) return non_finite("loss is not finite");
  return result;
}

/// Loss and gradients.
Result<LossResult> Passes::trained(const CheckedInput& input, bool accumulate) {
  const auto& weights = parameters_.weights();
  WeightGradients sums(weights.size());
  LossGradients gradients{{}, accumulate ? &sums : nullptr};
  BlockPass pass(*model_, keeps(), input.batch, input.sequence);
  const Tensor x = pass.forward(weights, input.input, /*with_graph=*/true);
  LossResult result;
  result.loss_sum =
      loss_in_blocks(*model_, weights, x, input.targets, static_cast<double>(input.sequence),
                     rows_of_block(options_.model.vocabulary), &gradients);
  if (!std::isfinite(result.loss_sum)) return non_finite("loss is not finite");
  const Tensor by_input =
      pass.backward(weights, input.input, gradients.by_rows, !part_.first, gradients.weights);
  if (Status status = add(gradients.weights, by_input); !status) return status.error();
  if (part_.first) return result;
  result.gradient =
      encode_rows(by_input.contiguous(), input.batch, input.sequence, options_.gradient_codec);
  return result;
}

Result<Buffer> Passes::next_logits(const StageInput& input) {
  if (!part_.last) return invalid("next_logits: only the last stage has the head");
  auto checked = check_input(options_, device_, input);
  if (!checked) return checked.error();
  at::NoGradGuard guard;
  const auto& weights = parameters_.weights();
  Tensor x = model_->blocks(weights, checked->input, checked->batch, checked->sequence);
  x = x.view({checked->batch, checked->sequence, options_.model.width}).select(1, -1);
  Tensor logits = model_->logits(weights, x).to(torch::kCPU).contiguous();
  if (!all_finite(logits)) return non_finite("logits are not finite");
  return share(logits);
}

EncodedTensor Passes::encode_rows(const Tensor& rows, int64_t batch, int64_t sequence,
                                  Codec codec) const {
  return encode(share(rows.to(torch::kCPU).contiguous()),
                {batch, sequence, boundary_width(options_.model)}, codec);
}

size_t Passes::versions() const {
  std::set<const void*> seen = {parameters_.versions().current().get()};
  for (const auto& [key, kept] : kept_) {
    if (kept.version) seen.insert(kept.version.get());
  }
  return seen.size();
}

std::optional<uint64_t> Passes::updates_at_forward(const MicrobatchKey& key) const {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return {};
  return found->second.updates;
}

}  // namespace swarm::tensor

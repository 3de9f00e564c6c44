#include "tensor/torch/passes.h"

#include <torch/torch.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "tensor/core/codec.h"
#include "tensor/torch/bytes.h"
#include "tensor/torch/stage_input.h"

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
  const bool graph = !forward_only && options_.backward == BackwardPolicy::kKeep;
  at::AutoGradMode mode(graph);
  Kept kept;
  kept.batch = checked->batch;
  kept.sequence = checked->sequence;
  kept.updates = parameters_.counters().updates;
  if (graph) kept.version = parameters_.versions().current();
  if (graph && !part_.first) kept.leaf = checked->input.requires_grad_();
  Tensor output =
      model_->blocks(parameters_.weights(), checked->input, checked->batch, checked->sequence);
  Tensor rows = output.detach();
  if (!all_finite(rows)) return non_finite("activations computed are not finite");
  if (graph) kept.output = output;
  if (!graph) kept.input = input;
  if (!forward_only) kept_.emplace(key, std::move(kept));
  return encode_rows(rows, checked->batch, checked->sequence, options_.activation_codec);
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
  at::AutoGradMode mode(true);
  if (options_.backward == BackwardPolicy::kRecompute) {
    if (Status status = run_again(kept); !status) return status.error();
  }
  const Tensor seed = view_of(*values, {rows, width}).to(device_);
  auto pulled = pull(kept.version, kept.output, seed, kept.leaf, accumulate);
  if (!pulled) return pulled.error();
  if (part_.first) return EncodedTensor{};
  return encode_rows(*pulled, batch, sequence, options_.gradient_codec);
}

/// Makes the graph of a forward of which only the input was kept.
Status Passes::run_again(Kept& kept) {
  auto checked = check_input(options_, device_, kept.input);
  if (!checked) return checked.error();
  if (!part_.first) kept.leaf = checked->input.requires_grad_();
  kept.output =
      model_->blocks(parameters_.weights(), checked->input, checked->batch, checked->sequence);
  kept.version = parameters_.versions().current();
  return {};
}

Result<LossResult> Passes::loss(const StageInput& input, bool accumulate, bool forward_only) {
  if (!part_.last) return invalid("forward_backward: only the last stage has the loss");
  auto checked = check_input(options_, device_, input);
  if (!checked) return checked.error();
  at::AutoGradMode mode(!forward_only);
  Tensor leaf;
  if (!part_.first) leaf = forward_only ? checked->input : checked->input.requires_grad_();
  const auto& weights = parameters_.weights();
  Tensor x = model_->blocks(weights, checked->input, checked->batch, checked->sequence);
  Tensor loss = torch::cross_entropy_loss(model_->logits(weights, x), checked->targets, {},
                                          at::Reduction::Sum) /
                static_cast<double>(checked->sequence);
  LossResult result;
  result.loss_sum = loss.item<float>();
  if (!std::isfinite(result.loss_sum)) return non_finite("loss is not finite");
  if (forward_only) return result;
  if (part_.first && !accumulate) return result;
  auto pulled = pull(parameters_.versions().current(), loss, {}, leaf, accumulate);
  if (!pulled) return pulled.error();
  if (!part_.first) {
    result.gradient =
        encode_rows(*pulled, checked->batch, checked->sequence, options_.gradient_codec);
  }
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

/// Gradients of `end` (weighted by `end_gradient`) by `leaf`, returned, and by the weights of
/// `version`, which `end` was computed with, added to the sum if `accumulate`. All are checked
/// before any is added.
Result<Tensor> Passes::pull(const ParameterVersions::Held& version, const Tensor& end,
                            const Tensor& end_gradient, const Tensor& leaf, bool accumulate) {
  std::vector<Tensor> inputs;
  if (accumulate) inputs = parameters_.versions().weights(version);
  if (leaf.defined()) inputs.push_back(leaf);
  if (inputs.empty()) return Tensor{};
  std::vector<Tensor> seeds;
  if (end_gradient.defined()) seeds.push_back(end_gradient);
  std::vector<Tensor> found = torch::autograd::grad({end}, inputs, seeds);
  at::NoGradGuard guard;
  for (const Tensor& gradient : found) {
    if (!all_finite(gradient)) return non_finite("gradient is not finite; nothing was added");
  }
  if (accumulate) parameters_.add_gradients(found);
  return leaf.defined() ? found.back().contiguous() : Tensor{};
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

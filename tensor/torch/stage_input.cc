#include "tensor/torch/stage_input.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tensor/core/codec.h"
#include "tensor/core/flat.h"
#include "tensor/torch/bytes.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;

bool is_first(const StageOptions& options) { return options.stage == 0; }
bool is_last(const StageOptions& options) { return options.stage == options.num_stages - 1; }

Status check_sizes(const ModelOptions& model, const StageInput& input) {
  if (input.samples < 1 || input.sequence < 1) return invalid("microbatch: no samples or tokens");
  if (input.sequence > static_cast<uint32_t>(model.sequence)) {
    return invalid(fmt::format("microbatch: sequence {} is longer than the model's {}",
                               input.sequence, model.sequence));
  }
  if (input.samples > most_samples(model, input.sequence)) {
    return invalid(fmt::format("microbatch: {} samples need tensors larger than {} bytes",
                               input.samples, kMaxTensorBytes));
  }
  return {};
}

Status read_tokens(const StageOptions& options, torch::Device device, const StageInput& input,
                   CheckedInput& out) {
  const uint64_t row = static_cast<uint64_t>(input.sequence) + 1;
  if (input.tokens.size() != input.samples * row * sizeof(int32_t)) {
    return mismatch(fmt::format("tokens: [{}, {}] int32 take {} bytes, but there are {}",
                                input.samples, row, input.samples * row * sizeof(int32_t),
                                input.tokens.size()));
  }
  Tensor all = torch::empty({out.batch, out.sequence + 1}, torch::kInt64);
  auto* to = all.data_ptr<int64_t>();
  for (uint64_t i = 0; i < input.samples * row; ++i) {
    int32_t token;
    std::memcpy(&token, input.tokens.data() + i * sizeof token, sizeof token);
    if (token < 0 || token >= options.model.vocabulary) {
      return invalid(fmt::format("tokens: {} is not in [0, {})", token, options.model.vocabulary));
    }
    to[i] = token;
  }
  if (is_first(options)) out.input = all.narrow(1, 0, out.sequence).contiguous().to(device);
  if (is_last(options)) out.targets = all.narrow(1, 1, out.sequence).reshape({-1}).to(device);
  return {};
}

}  // namespace

Status check_shape(const StageOptions& options, const char* what, const proto::Tensor& meta,
                   int64_t batch, int64_t sequence) {
  const int64_t shape[] = {batch, sequence, boundary_width(options.model)};
  if (std::equal(meta.shape().begin(), meta.shape().end(), shape, shape + 3)) return {};
  return mismatch(fmt::format("{}: shape must be [B, T, W] = [{}, {}, {}]", what, shape[0],
                              shape[1], shape[2]));
}

Result<CheckedInput> check_input(const StageOptions& options, torch::Device device,
                                 const StageInput& input) {
  if (Status status = check_sizes(options.model, input); !status) return status.error();
  CheckedInput out;
  out.batch = input.samples;
  out.sequence = input.sequence;
  if (is_first(options) || is_last(options)) {
    if (Status status = read_tokens(options, device, input, out); !status) return status.error();
  }
  if (is_first(options)) {
    if (!input.activations.empty()) return invalid("activations: the first stage takes none");
    return out;
  }
  if (Status status =
          check_shape(options, "activations", input.activations.meta, out.batch, out.sequence);
      !status) {
    return status.error();
  }
  const int64_t width = boundary_width(options.model);
  const int64_t rows = out.batch * out.sequence;
  auto values = decode_flat(input.activations, static_cast<uint64_t>(rows * width));
  if (!values) return values.error();
  if (!all_finite(reinterpret_cast<const float*>(values->data()), values->size() / 4)) {
    return non_finite("activations received are not finite");
  }
  out.input = view_of(*values, {rows, width}).to(device);
  return out;
}

}  // namespace swarm::tensor

/// Tensors and Buffers that share memory, and the errors of a stage. LibTorch; included by .cc files
/// of tensor/ only.
#pragma once

#include <torch/types.h>

#include <string>

#include "common/buffer.h"
#include "common/result.h"

namespace swarm::tensor {

inline Error mismatch(std::string text) { return {ErrorCode::kShapeMismatch, std::move(text), 0}; }
inline Error invalid(std::string text) { return {ErrorCode::kInvalidArgument, std::move(text), 0}; }
inline Error non_finite(std::string text) { return {ErrorCode::kNonFinite, std::move(text), 0}; }

/// Memory of a contiguous float32 tensor on the CPU as a Buffer that keeps the tensor alive.
Buffer share(const torch::Tensor& tensor);

/// A float32 tensor that reads a Buffer and keeps it alive. Nobody writes to it.
torch::Tensor view_of(const Buffer& values, at::IntArrayRef shape);

/// No infinity and no NaN, on any device.
bool all_finite(const torch::Tensor& tensor);

/// The LibTorch device of a name that parse_device() knows.
torch::Device torch_device(const std::string& name);

/// Exceptions of LibTorch stop here and become kInternal. T is the Result's.
template <class T, class F>
Result<T> guarded(F function) {
  try {
    return function();
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("LibTorch: ") + e.what(), 0};
  }
}

}  // namespace swarm::tensor

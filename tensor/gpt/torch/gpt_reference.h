/// The GPT, unsplit, out of LibTorch's own modules. Shares nothing with gpt_model.cc.
#pragma once

#include <memory>

#include "tensor/torch/model.h"

namespace swarm::tensor {

std::unique_ptr<ReferenceModel> make_gpt_reference(const ModelOptions& model);

}  // namespace swarm::tensor

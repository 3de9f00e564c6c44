/// Whether the device of a configuration is there.
#pragma once

#include <string>

#include "common/result.h"

namespace swarm::tensor {

/// parse_device(), and a look at this machine and at what LibTorch was built for.
/// Errors: kInvalidArgument, saying what there is instead.
Status check_device(const std::string& name);

}  // namespace swarm::tensor

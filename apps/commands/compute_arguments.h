/// What the command line says to the commands that apps/compute/ carries out.
#pragma once

#include <cstdint>
#include <string>

#include "apps/commands/commands.h"
#include "tensor/torch/sampler.h"

namespace swarm::apps {

struct SampleArguments {
  std::string folder;
  int threads = 1;
  tensor::SampleOptions sample;
};

struct VerifyArguments {
  ConfigArguments config;  ///< Its file may be the folder of a run that ended.
  uint32_t steps = 20;
  std::string drop_slot;
  double tolerance = 1e-3;
  bool steps_given = false, tolerance_given = false, from_start = false;
  int threads = 0;  ///< 0: as node.threads.
};

}  // namespace swarm::apps

/// The two executables of this program, which take the same commands: `swarm`, which starts at
/// once, and `swarm-compute`, which has LibTorch and is started by `swarm` for what computes.
#pragma once

#include <string>

#include "common/result.h"

namespace swarm::launch {

constexpr const char* kComputeProgram = "swarm-compute";

/// The path of this process's executable. Errors: kIo.
Result<std::string> own_program();

/// The path of `swarm-compute` for the `swarm` at `own_program`: beside it, as the build makes
/// them, or in ../libexec/swarm/, as they are installed. Errors: kNotFound, saying where it should
/// be and how it comes there.
Result<std::string> find_compute_program(const std::string& own_program);

/// Goes on as `swarm-compute` with the same arguments, process id and open files. Returns only if
/// that fails, with the reason. Errors: kNotFound, kIo.
Error become_compute_program(char** argv);

}  // namespace swarm::launch

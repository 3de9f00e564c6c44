/// Which kernels OpenBLAS, if it is LibTorch's BLAS, multiplies float32 matrices with. It picks them by the CPU's
/// model number when it is loaded, and takes those of the year 2004 for a model newer than itself: Debian 12's
/// (0.3.21) multiplies at a third of the rate on Intel's fifth Xeon generation.
#pragma once

#include <optional>
#include <string>

#include "common/cpu.h"

namespace swarm::tensor {

/// The kernels to ask for (a value of OPENBLAS_CORETYPE) where those in use leave instructions idle; nullopt
/// where they do not, or have a name that is not known here.
std::optional<std::string> better_kernels(const std::string& in_use, const CpuInstructions& cpu);

/// The name of those in use; empty where LibTorch has another BLAS.
std::string blas_kernels();

/// Starts this program anew, with the same arguments, process and open files, if better kernels exist: OpenBLAS
/// looks at OPENBLAS_CORETYPE while it is loaded only. Returns if they do not, or if the variable is set.
/// Call it first in main(). argv: ends with a null pointer.
void use_better_kernels(char** argv);

}  // namespace swarm::tensor

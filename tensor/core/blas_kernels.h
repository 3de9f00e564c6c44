/// Which kernels OpenBLAS, if it is LibTorch's BLAS, multiplies float32 matrices with. It picks them by the CPU's
/// model number when it is loaded, and takes those of the year 2004 for a model newer than itself: Debian 12's
/// (0.3.21) multiplies at a third of the rate on Intel's fifth Xeon generation. It looks at OPENBLAS_CORETYPE
/// while it is loaded, and only then.
#pragma once

#include <optional>
#include <string>

#include "common/cpu.h"

namespace swarm::tensor {

/// The kernels to ask for (a value of OPENBLAS_CORETYPE) where those in use leave instructions idle; nullopt
/// where they do not, or have a name that is not known here.
std::optional<std::string> better_kernels(const std::string& in_use, const CpuInstructions& cpu);

/// The name of those in use; empty where this process has no OpenBLAS.
std::string blas_kernels();

/// Sets OPENBLAS_CORETYPE for a program that this process is about to become, if better kernels exist and the
/// variable is not set. Loads the system's OpenBLAS to ask it, if there is one (7 ms).
void prefer_better_kernels();

/// Starts this program anew, with the same arguments, process and open files, where prefer_better_kernels() was
/// needed and nobody has called it before. LibTorch is loaded twice then. Returns where it was not. Call it first
/// in main(). argv: ends with a null pointer.
void use_better_kernels(char** argv);

}  // namespace swarm::tensor

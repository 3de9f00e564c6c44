/// What this machine's CPU can do.
#pragma once

namespace swarm {

/// Instructions that code is written for, as far as the CPU and the system have them.
struct CpuInstructions {
  bool avx2 = false;    ///< And FMA.
  bool avx512 = false;  ///< F, DQ, BW and VL.
  bool bf16 = false;    ///< Products of bf16, of AVX-512 or AMX.
};

/// Nothing on machines other than x86-64.
CpuInstructions cpu_instructions();

}  // namespace swarm

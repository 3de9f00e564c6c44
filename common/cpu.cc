#include "common/cpu.h"

namespace swarm {

CpuInstructions cpu_instructions() {
  CpuInstructions cpu;
#if defined(__x86_64__)
  __builtin_cpu_init();
  cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  cpu.bf16 = __builtin_cpu_supports("avx512bf16");  // who has AMX has it, too
#endif
  return cpu;
}

}  // namespace swarm

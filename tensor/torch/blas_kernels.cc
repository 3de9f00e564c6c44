#include "tensor/torch/blas_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <system_error>

namespace swarm::tensor {
namespace {

constexpr const char* kCoreType = "OPENBLAS_CORETYPE";

bool one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::optional<std::string> better_kernels(const std::string& in_use, const CpuInstructions& cpu) {
  const bool without_avx2 = one_of(in_use, {"Prescott", "Core2", "Nehalem", "Sandybridge"});
  if (cpu.avx512 && (without_avx2 || one_of(in_use, {"Haswell", "Zen"}))) return "SkylakeX";
  if (cpu.avx2 && without_avx2) return "Haswell";
  return std::nullopt;
}

std::string blas_kernels() {
  using Name = char* (*)();
  const auto name = reinterpret_cast<Name>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return name ? name() : "";
}

void use_better_kernels(char** argv) {
  if (std::getenv(kCoreType)) return;
  const auto better = better_kernels(blas_kernels(), cpu_instructions());
  if (!better) return;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  ::setenv(kCoreType, better->c_str(), 1);
  ::execv(self.c_str(), argv);
  // Not allowed: it computes with what it has.
}

}  // namespace swarm::tensor

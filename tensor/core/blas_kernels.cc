#include "tensor/core/blas_kernels.h"

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

/// Of `library`, a handle.
std::string kernels_of(void* library) {
  using Name = char* (*)();
  const auto name = reinterpret_cast<Name>(::dlsym(library, "openblas_get_corename"));
  return name ? name() : "";
}

void prefer(const std::optional<std::string>& kernels) {
  if (kernels) ::setenv(kCoreType, kernels->c_str(), 1);
}

}  // namespace

std::optional<std::string> better_kernels(const std::string& in_use, const CpuInstructions& cpu) {
  const bool without_avx2 = one_of(in_use, {"Prescott", "Core2", "Nehalem", "Sandybridge"});
  if (cpu.avx512 && (without_avx2 || one_of(in_use, {"Haswell", "Zen"}))) return "SkylakeX";
  if (cpu.avx2 && without_avx2) return "Haswell";
  return std::nullopt;
}

std::string blas_kernels() { return kernels_of(RTLD_DEFAULT); }

void prefer_better_kernels() {
  if (std::getenv(kCoreType)) return;
  if (void* blas = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL))
    prefer(better_kernels(kernels_of(blas), cpu_instructions()));
}

void use_better_kernels(char** argv) {
  if (std::getenv(kCoreType)) return;
  const auto better = better_kernels(blas_kernels(), cpu_instructions());
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!better || error) return;
  prefer(better);
  ::execv(self.c_str(), argv);
  // Not allowed: it computes with what it has.
}

}  // namespace swarm::tensor

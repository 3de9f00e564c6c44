#include "tensor/core/blas_kernels.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::tensor;

namespace {

constexpr CpuInstructions kOld{false, false};
constexpr CpuInstructions kAvx2{true, false};
constexpr CpuInstructions kAvx512{true, true};

std::string better(const char* in_use, const CpuInstructions& cpu) {
  return better_kernels(in_use, cpu).value_or("");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(BlasKernels)

BOOST_AUTO_TEST_CASE(a_cpu_that_openblas_does_not_know_gets_kernels_for_its_instructions) {
  BOOST_TEST(better("Prescott", kAvx512) == "SkylakeX");
  BOOST_TEST(better("Prescott", kAvx2) == "Haswell");
  BOOST_TEST(better("Haswell", kAvx512) == "SkylakeX");
  BOOST_TEST(better("Zen", kAvx512) == "SkylakeX");
}

BOOST_AUTO_TEST_CASE(kernels_that_use_all_instructions_stay) {
  BOOST_TEST(better("Prescott", kOld) == "");
  BOOST_TEST(better("Haswell", kAvx2) == "");
  BOOST_TEST(better("Zen", kAvx2) == "");
  for (const char* newest : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    BOOST_TEST(better(newest, kAvx512) == "");
}

BOOST_AUTO_TEST_CASE(kernels_of_a_name_that_is_not_known_stay_and_so_does_another_blas) {
  BOOST_TEST(better("GraniteRapids", kAvx512) == "");
  BOOST_TEST(better("NEOVERSEN1", kOld) == "");
  BOOST_TEST(better("", kAvx512) == "");
}

BOOST_AUTO_TEST_SUITE_END()

#include "apps/launch/programs.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace swarm::launch {
namespace {

namespace fs = std::filesystem;

/// A folder with bin/swarm, which goes when the test does.
struct Installation {
  Installation() {
    std::string pattern = (fs::temp_directory_path() / "swarm-programs-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
    make("bin/swarm");
  }
  ~Installation() { fs::remove_all(root); }

  std::string make(const std::string& name, bool executable = true) const {
    const fs::path path = root / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "program";
    if (executable) fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string swarm() const { return (root / "bin/swarm").string(); }

  fs::path root;
};

BOOST_AUTO_TEST_SUITE(Programs)

BOOST_AUTO_TEST_CASE(the_one_beside_is_taken_before_the_installed_one) {
  Installation here;
  const std::string installed = here.make("libexec/swarm/swarm-compute");
  BOOST_TEST(find_compute_program(here.swarm()).value() == installed);
  const std::string beside = here.make("bin/swarm-compute");
  BOOST_TEST(find_compute_program(here.swarm()).value() == beside);
}

BOOST_AUTO_TEST_CASE(a_missing_one_is_named_with_both_places_and_what_to_do) {
  Installation here;
  here.make("bin/swarm-compute", /*executable=*/false);
  const auto found = find_compute_program(here.swarm());
  BOOST_TEST((found.code() == ErrorCode::kNotFound));
  for (const char* part : {"/bin/swarm-compute", "/libexec/swarm/swarm-compute", "cmake --build"})
    BOOST_TEST(found.error().detail.find(part) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(this_process_knows_its_executable) {
  const auto own = own_program();
  BOOST_TEST(fs::exists(own.value()));
  BOOST_TEST(fs::path(*own).filename() == "test_apps");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::launch

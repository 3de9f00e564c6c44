#include "records/kept_text.h"

#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

namespace swarm::records {
namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/swarm-kept-text-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

BOOST_AUTO_TEST_SUITE(KeptTextTest)

BOOST_AUTO_TEST_CASE(what_was_kept_is_there_in_the_next_process_of_the_run) {
  Folder folder;
  const RunText text{0xfedcba9876543210, "/data/text \"a\".txt", "trainer-a"};
  KeptText kept(folder.path, "run");
  kept.keep(text);
  BOOST_TEST((kept.get() == text));
  BOOST_TEST(!KeptText(folder.path, "run").get().known());  // nothing was learned from it yet
  BOOST_TEST(kept.settle().ok());
  BOOST_TEST((KeptText(folder.path, "run").get() == text));
  BOOST_TEST(!KeptText(folder.path, "another run").get().known());
  BOOST_TEST(read_kept_text(folder.path)->fingerprint == text.fingerprint);
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_of_nothing) {
  Folder folder;
  KeptText kept(folder.path, "run");
  kept.keep({});
  BOOST_TEST(kept.settle().ok());
  BOOST_TEST(!kept.get().known());
  BOOST_TEST((read_kept_text(folder.path).code() == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(a_damaged_file_does_not_count) {
  Folder folder;
  for (const char* bad : {"", "{", "[]", "{\"run\":\"run\"}",
                          "{\"run\":\"run\",\"fingerprint\":\"x\",\"path\":\"\",\"node\":\"\"}"}) {
    std::ofstream(folder.path + "/text.json") << bad;
    BOOST_TEST(!KeptText(folder.path, "run").get().known(), bad);
    BOOST_TEST((read_kept_text(folder.path).code() == ErrorCode::kInvalidArgument), bad);
  }
}

BOOST_AUTO_TEST_CASE(without_a_folder_it_is_kept_in_memory) {
  KeptText kept;
  kept.keep({1, "a", "b"});
  BOOST_TEST(kept.settle().ok());
  BOOST_TEST(kept.get().fingerprint == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::records

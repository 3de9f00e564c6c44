#include "storage/kept_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "storage/set_aside.h"
#include "tests/storage/storage_fixtures.h"

namespace swarm::storage {
namespace {

struct Kept : testing::TemporaryDirectory {
  std::string file = path() + "/voter";
  std::string beside = file + ".new";
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(KeptFile, Kept)

BOOST_AUTO_TEST_CASE(the_last_record_is_read_back) {
  BOOST_TEST((read_kept(file).code() == ErrorCode::kNotFound));
  for (const std::string& record : {std::string("one"), std::string(), std::string("a\0b", 3),
                                    std::string(testing::content(1, 100'000).view())}) {
    BOOST_REQUIRE(write_kept(file, record).ok());
    const auto read = read_kept(file);
    BOOST_REQUIRE(read.ok());
    BOOST_TEST((*read == record));
    BOOST_TEST(!std::filesystem::exists(beside));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_was_cut_short_anywhere_is_damaged) {
  BOOST_REQUIRE(write_kept(file, "a record of some length").ok());
  const std::string whole = bytes_of(file);
  for (size_t size = 0; size < whole.size(); ++size) {
    overwrite(file, whole.substr(0, size));
    BOOST_TEST((read_kept(file).code() == ErrorCode::kCorruptCheckpoint), size);
  }
  overwrite(file, whole + "x");
  BOOST_TEST((read_kept(file).code() == ErrorCode::kCorruptCheckpoint));
}

BOOST_AUTO_TEST_CASE(another_byte_anywhere_is_seen) {
  BOOST_REQUIRE(write_kept(file, "a record of some length").ok());
  const std::string whole = bytes_of(file);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 1);
    overwrite(file, other);
    BOOST_TEST((read_kept(file).code() == ErrorCode::kCorruptCheckpoint), at);
  }
}

BOOST_AUTO_TEST_CASE(a_writer_that_died_before_it_renamed_has_changed_nothing) {
  BOOST_REQUIRE(write_kept(file, "new").ok());
  const std::string whole = bytes_of(file);
  BOOST_REQUIRE(write_kept(file, "old").ok());
  for (size_t size = 0; size <= whole.size(); ++size) {
    overwrite(beside, whole.substr(0, size));
    BOOST_TEST(read_kept(file).value() == "old", size);
  }
  BOOST_TEST(write_kept(file, "newest").ok());
  BOOST_TEST(read_kept(file).value() == "newest");
}

BOOST_AUTO_TEST_CASE(a_write_that_fails_leaves_the_old_record) {
  BOOST_REQUIRE(write_kept(file, "old").ok());
  std::filesystem::create_directory(beside);  // nothing can be written there
  BOOST_TEST((write_kept(file, "new").code() == ErrorCode::kIo));
  BOOST_TEST(read_kept(file).value() == "old");
  BOOST_TEST((write_kept(path() + "/none/voter", "new").code() == ErrorCode::kIo));
  BOOST_TEST((read_kept(path()).code() == ErrorCode::kIo));  // a folder
}

BOOST_AUTO_TEST_CASE(what_is_set_aside_stays_whatever_lies_there) {
  for (const char* wanted : {"/voter.damaged-7", "/voter.damaged-7-2", "/voter.damaged-7-3"}) {
    overwrite(file, wanted);
    BOOST_TEST(set_aside(file, "7").value() == path() + wanted);
    BOOST_TEST(!std::filesystem::exists(file));
    BOOST_TEST(bytes_of(path() + wanted) == wanted);
  }
  BOOST_TEST((set_aside(file, "7").code() == ErrorCode::kIo));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::storage

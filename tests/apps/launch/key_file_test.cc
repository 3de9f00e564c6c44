#include "apps/launch/key_file.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "common/ids.h"

namespace swarm::launch {
namespace {

struct Folder {
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string at(const char* name) const { return path + "/" + name; }
  std::string path = std::filesystem::temp_directory_path() / ("key-" + NodeId::random().hex());
};

}  // namespace

BOOST_AUTO_TEST_SUITE(KeyFileTest)

BOOST_FIXTURE_TEST_CASE(a_made_key_is_read_and_nobody_elses, Folder) {
  const std::string file = at("new/folder/operator.key");
  BOOST_REQUIRE(make_key_file(file).ok());
  const auto key = read_key_file(file);
  BOOST_REQUIRE(key.ok());
  BOOST_TEST(key->size() == 32u);
  struct stat info {};
  BOOST_REQUIRE(::stat(file.c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0600u);
  BOOST_TEST(find_key({file, false, true, true}).value().key == *key);
  BOOST_TEST(find_key({at("another"), false, true, true}).value().key != *key);
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(at("new/folder")), {}) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_key_is_never_made_over_another, Folder) {
  BOOST_REQUIRE(make_key_file(at("key")).ok());
  const std::string before = read_key_file(at("key")).value();
  BOOST_TEST((make_key_file(at("key")).code() == ErrorCode::kAlreadyExists));
  BOOST_TEST(read_key_file(at("key")).value() == before);
}

BOOST_FIXTURE_TEST_CASE(a_key_that_others_may_read_is_refused, Folder) {
  BOOST_REQUIRE(make_key_file(at("key")).ok());
  BOOST_REQUIRE(::chmod(at("key").c_str(), 0640) == 0);
  const auto key = read_key_file(at("key"));
  BOOST_TEST((key.code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(key.error().detail.find("chmod 600") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_key_is_refused, Folder) {
  const std::string digits(64, 'a');
  for (const std::string& text : {std::string(), std::string("key"), digits.substr(1), digits + "a",
                                  std::string(64, 'g'), digits + "\nmore"}) {
    std::ofstream(at("key")) << text;
    std::filesystem::permissions(at("key"), std::filesystem::perms(0600));
    BOOST_TEST((read_key_file(at("key")).code() == ErrorCode::kInvalidArgument), text);
  }
  std::ofstream(at("key")) << digits << "\n";
  BOOST_TEST(read_key_file(at("key")).value() == std::string(32, '\xaa'));
  BOOST_TEST((read_key_file(at("none")).code() == ErrorCode::kNotFound));
}

namespace {

/// As on vfat, CIFS and WSL.
int no_links(const char*, const char*) {
  errno = EPERM;
  return -1;
}
int no_space(const char*, const char*) {
  errno = ENOSPC;
  return -1;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_file_system_without_hard_links_has_keys_too, Folder) {
  BOOST_REQUIRE(make_key_file(at("key"), no_links).ok());
  const std::string key = read_key_file(at("key")).value();
  BOOST_TEST((make_key_file(at("key"), no_links).code() == ErrorCode::kAlreadyExists));
  BOOST_TEST(read_key_file(at("key")).value() == key);
  struct stat info {};
  BOOST_REQUIRE(::stat(at("key").c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0600u);
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(path), {}) == 1);
  BOOST_TEST((make_key_file(at("other"), no_space).code() == ErrorCode::kIo));
}

BOOST_FIXTURE_TEST_CASE(a_key_that_nobody_needs_is_done_without, Folder) {
  KeyUse use;
  use.path = at("operator.key");
  BOOST_TEST(find_key(use).value().key.empty());  // it joins somebody: none is made
  BOOST_TEST(find_key(use).value().warning.empty());
  use.makes = true;
  BOOST_TEST(find_key(use, no_space).value().key.empty());
  BOOST_TEST(!find_key(use, no_space).value().warning.empty());
  BOOST_TEST(find_key(use).value().key.size() == 32u);
  BOOST_REQUIRE(::chmod(use.path.c_str(), 0644) == 0);  // copied with cp -r, or without modes
  const auto without = find_key(use);
  BOOST_REQUIRE(without.ok());
  BOOST_TEST(without->key.empty());
  BOOST_TEST(without->warning.find("chmod 600") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_key_that_is_given_or_needed_is_not_done_without, Folder) {
  BOOST_REQUIRE(make_key_file(at("key")).ok());
  BOOST_REQUIRE(::chmod(at("key").c_str(), 0644) == 0);
  for (const bool given : {false, true}) {
    const KeyUse use{at("key"), given, false, !given};
    BOOST_TEST((find_key(use).code() == ErrorCode::kInvalidArgument));
    const KeyUse none{at("none"), given, false, !given};
    BOOST_TEST((find_key(none).code() == ErrorCode::kNotFound));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch

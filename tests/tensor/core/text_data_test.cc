#include "tensor/data/text_data.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tensor/data/bigram.h"
#include "tensor/data/sample_order.h"

namespace swarm::tensor {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "swarm_text_XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
  fs::path path;
};

std::string text_of(const Buffer& tokens) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); i += 4) text.push_back(static_cast<char>(tokens.data()[i]));
  return text;
}

std::string letters(size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text.push_back(static_cast<char>('a' + i * i % 23));
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SampleOrder)

BOOST_AUTO_TEST_CASE(every_epoch_visits_every_window_once) {
  for (uint64_t n : {1, 2, 3, 4, 5, 17, 64, 100, 1000}) {
    for (uint64_t epoch : {0, 1, 7}) {
      std::set<uint64_t> seen;
      for (uint64_t i = 0; i < n; ++i) seen.insert(sample_window(42, epoch * n + i, n));
      BOOST_TEST(seen.size() == n);
      BOOST_TEST(*seen.rbegin() == n - 1);
    }
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < n; ++i) seen.insert(validation_window(i, n));
    BOOST_TEST(seen.size() == n);
  }
}

BOOST_AUTO_TEST_CASE(epochs_and_seeds_have_orders_of_their_own) {
  int same_epoch = 0, same_seed = 0, in_place = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    same_epoch += sample_window(1, i, 1000) == sample_window(1, 1000 + i, 1000);
    same_seed += sample_window(1, i, 1000) == sample_window(2, i, 1000);
    in_place += sample_window(1, i, 1000) == i;
  }
  // Each is 1 on average for independent permutations.
  BOOST_TEST(same_epoch < 10);
  BOOST_TEST(same_seed < 10);
  BOOST_TEST(in_place < 10);
}

BOOST_AUTO_TEST_CASE(few_validation_samples_are_spread_over_the_text) {
  std::set<uint64_t> tenths;
  for (uint64_t i = 0; i < 20; ++i) tenths.insert(validation_window(i, 1000) / 100);
  BOOST_TEST(tenths.size() == 10);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(TextDataTest)

BOOST_AUTO_TEST_CASE(windows_straddle_files_and_cover_the_training_text) {
  Folder folder;
  const std::string text = letters(1000);
  folder.write("b/2", text.substr(333, 10));
  folder.write("b/3", "");
  folder.write("c", text.substr(343));
  folder.write("a", text.substr(0, 333));
  fs::create_symlink(folder.path / "a", folder.path / "z");
  DataOptions options;
  options.train = {folder.path.string()};
  options.holdout = 0.2;
  auto data = open_text_data(options, 16);
  BOOST_REQUIRE(data.ok());
  const TextData& d = **data;
  // A fifth of every file is held out: of 333, 10 and 657 bytes.
  const std::string train = text.substr(0, 267) + text.substr(333, 8) + text.substr(343, 526);
  const std::string held_out = text.substr(267, 66) + text.substr(341, 2) + text.substr(869);
  BOOST_TEST(d.size_bytes(Split::kTrain) == train.size());
  BOOST_TEST(d.size_bytes(Split::kValidation) == held_out.size());
  BOOST_TEST(d.num_windows(Split::kTrain) == (train.size() - 1) / 16);
  std::set<uint64_t> starts;
  for (uint64_t s = 0; s < d.num_windows(Split::kTrain); ++s) {
    const uint64_t start = sample_window(options.seed, s, d.num_windows(Split::kTrain)) * 16;
    BOOST_TEST(text_of(d.microbatch(Split::kTrain, {s})) == train.substr(start, 17));
    starts.insert(start);
  }
  BOOST_TEST(starts.size() == d.num_windows(Split::kTrain));
  Buffer two = d.microbatch(Split::kValidation, {0, 1});
  BOOST_TEST(two.size() == 2 * 17 * 4);
  BOOST_TEST(text_of(two).substr(0, 17) ==
             held_out.substr(validation_window(0, (held_out.size() - 1) / 16) * 16, 17));
}

BOOST_AUTO_TEST_CASE(the_fingerprint_follows_the_content) {
  Folder folder;
  DataOptions options;
  options.train = {folder.write("x", letters(500))};
  const uint64_t before = (*open_text_data(options, 8))->fingerprint();
  BOOST_TEST((*open_text_data(options, 8))->fingerprint() == before);
  BOOST_TEST((*open_text_data(options, 9))->fingerprint() != before);
  std::string other = letters(500);
  other[250] = '!';
  folder.write("x", other);
  BOOST_TEST((*open_text_data(options, 8))->fingerprint() != before);
}

BOOST_AUTO_TEST_CASE(the_fingerprint_follows_every_byte_of_a_text_that_is_not_huge) {
  Folder folder;
  DataOptions options;
  options.holdout = 0.1;
  std::string text = letters(9 << 20);  // 64 blocks of it were read before
  options.train = {folder.write("x", text)};
  const uint64_t before = (*open_text_data(options, 8))->fingerprint();
  for (const size_t at : {size_t{0}, text.size() / 3 + 1, text.size() - 1}) {
    std::string other = text;
    other[at] = '!';
    folder.write("x", other);
    BOOST_TEST((*open_text_data(options, 8))->fingerprint() != before, at);
  }
  const Folder moved;  // where it lies does not count
  options.train = {moved.write("another name", text)};
  BOOST_TEST((*open_text_data(options, 8))->fingerprint() == before);
}

BOOST_AUTO_TEST_CASE(errors_name_the_path) {
  Folder folder;
  auto error_of = [](const std::string& path, int32_t sequence = 8) {
    DataOptions options;
    options.train = {path};
    auto data = open_text_data(options, sequence);
    BOOST_REQUIRE(!data.ok());
    BOOST_TEST(data.error().detail.find(path) != std::string::npos);
    return data.code();
  };
  BOOST_TEST((error_of((folder.path / "none").string()) == ErrorCode::kNotFound));
  BOOST_TEST((error_of(folder.write("empty", "")) == ErrorCode::kInvalidArgument));
  BOOST_TEST((error_of(folder.write("short", "abc")) == ErrorCode::kInvalidArgument));
  BOOST_TEST(
      (error_of(folder.write("no_holdout", letters(100)), 50) == ErrorCode::kInvalidArgument));
  fs::create_directory(folder.path / "bare");
  BOOST_TEST((error_of((folder.path / "bare").string()) == ErrorCode::kInvalidArgument));
  BOOST_TEST((error_of("/dev/null") == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(bigram_loss_is_the_conditional_entropy) {
  Folder folder;
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "ab";  // the next byte is certain
  DataOptions options;
  options.train = {folder.write("ab", text)};
  BOOST_TEST(bigram_loss(**open_text_data(options, 32), 10) < 0.001);
  std::string random;
  uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525 + 1013904223;
    random.push_back("abcd"[state >> 30]);
  }
  options.train = {folder.write("random", random)};
  BOOST_TEST(std::abs(bigram_loss(**open_text_data(options, 32), 100) - std::log(4.0)) < 0.01);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor

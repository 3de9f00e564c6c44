#include "records/segments.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "records/files.h"
#include "records/line_tail.h"
#include "records/segmented_file.h"
#include "records/zstd_file.h"

namespace swarm::records {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    char name[] = "/tmp/swarm-segments-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  uint64_t bytes() const {
    uint64_t sum = 0;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(path)) {
      const auto size = entry.file_size(gone);
      sum += gone ? 0 : size;
    }
    return sum;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(path)) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string path;
};

std::unique_ptr<SegmentedFile> open(const std::string& path, uint64_t total, bool keeps_all) {
  auto file = SegmentedFile::open(path, {total, keeps_all});
  BOOST_REQUIRE(file.ok());
  return std::move(*file);
}

std::string line_of(int i) { return "{\"line\": " + std::to_string(i) + "}"; }

std::vector<std::string> lines_of(int from, int to) {
  std::vector<std::string> out;
  for (int i = from; i < to; ++i) out.push_back(line_of(i));
  return out;
}

BOOST_AUTO_TEST_SUITE(SegmentsTest)

BOOST_AUTO_TEST_CASE(names_are_those_of_the_file_and_no_others) {
  BOOST_TEST(segment_name("events.jsonl", 7, true) == "events-000007.jsonl.zst");
  BOOST_TEST(segment_of("events.jsonl", "events-000007.jsonl.zst")->index == 7u);
  BOOST_TEST(segment_of("events.jsonl", "events-000007.jsonl.zst")->compressed);
  BOOST_TEST(!segment_of("events.jsonl", "events-1000007.jsonl")->compressed);
  for (const char* other :
       {"events.jsonl", "events-7.jsonl", "events-000000.jsonl", "metrics-000001.jsonl",
        "events-000001.jsonl.zst.new", "events-000001.jsonl.kept-0123", "events-00000x.jsonl",
        "events-0000001.jsonl", "events-000001", "../events-000001.jsonl"})
    BOOST_TEST(!segment_of("events.jsonl", other), other);
}

BOOST_AUTO_TEST_CASE(every_line_is_read_back_in_order_over_all_pieces) {
  Folder folder;
  auto file = open(folder.file("events.jsonl"), 4'000, true);
  for (int i = 0; i < 1'000; ++i) BOOST_REQUIRE(file->append(line_of(i)).ok());
  file->wait();
  BOOST_TEST(segments_of(folder.file("events.jsonl")).size() > 10u);
  for (const auto& piece : segments_of(folder.file("events.jsonl"))) BOOST_TEST(piece.compressed);
  BOOST_TEST(LineTail(folder.file("events.jsonl")).poll() == lines_of(0, 1'000),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tail_goes_on_wherever_it_was_when_the_file_is_put_aside) {
  std::mt19937 random(7);
  for (int run = 0; run < 20; ++run) {
    Folder folder;
    auto file = open(folder.file("events.jsonl"), 2'000, true);
    LineTail tail(folder.file("events.jsonl"));
    std::vector<std::string> seen;
    for (int i = 0; i < 500; ++i) {
      BOOST_REQUIRE(file->append(line_of(i)).ok());
      if (random() % (run + 1) == 0)
        for (auto& line : tail.poll()) seen.push_back(std::move(line));
    }
    for (auto& line : tail.poll()) seen.push_back(std::move(line));
    BOOST_TEST(seen == lines_of(0, 500), boost::test_tools::per_element());
    BOOST_TEST(tail.poll().empty());
  }
}

BOOST_AUTO_TEST_CASE(the_oldest_pieces_go_and_the_newest_lines_stay) {
  Folder folder;
  const std::string path = folder.file("events.jsonl");
  LineTail slow(path);
  auto file = open(path, 40'000, false);
  std::mt19937_64 random(1);  // nothing for zstd to find
  std::vector<std::string> all;
  uint64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(std::to_string(i) + " " + std::to_string(random()));
    BOOST_REQUIRE(file->append(all.back()).ok());
    if (i == 10) slow.poll();
    if (i % 50 == 0) most = std::max(most, folder.bytes());
  }
  file->wait();
  BOOST_TEST(most <= 40'000u);
  BOOST_TEST(lost_its_beginning(path));
  const auto left = LineTail(path).poll();
  BOOST_TEST(left.size() > 500u);
  BOOST_TEST(
      left == std::vector<std::string>(all.end() - static_cast<long>(left.size()), all.end()),
      boost::test_tools::per_element());
  BOOST_TEST(slow.poll() == left, boost::test_tools::per_element());  // what is gone is passed over
}

BOOST_AUTO_TEST_CASE(the_next_process_goes_on_with_what_a_crash_left) {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  { open(path, 4'000, true)->append(line_of(0)).ok(); }
  fs::rename(path, folder.file("audit-000001.jsonl"));  // before it was compressed
  {
    std::ofstream(path) << line_of(1) << "\n"
                        << "{\"li";
  }
  BOOST_TEST(LineTail(path).poll() == lines_of(0, 2), boost::test_tools::per_element());
  {
    auto file = open(path, 4'000, true);
    BOOST_REQUIRE(file->append(line_of(2)).ok());
  }
  const std::vector<std::string> there = {"audit-000001.jsonl.zst", "audit.jsonl"};
  BOOST_TEST(folder.names() == there, boost::test_tools::per_element());
  const std::vector<std::string> lines = {line_of(0), line_of(1), "{\"li", line_of(2)};
  BOOST_TEST(LineTail(path).poll() == lines, boost::test_tools::per_element());

  std::ofstream(folder.file("audit-000001.jsonl")) << line_of(0) << "\n";  // before it was removed
  BOOST_TEST(LineTail(path).poll() == lines, boost::test_tools::per_element());
  { auto file = open(path, 4'000, true); }
  BOOST_TEST(folder.names() == there, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_piece_that_is_there_is_not_written_over) {
  const Folder folder;
  const std::string path = folder.file("events.jsonl");
  {
    const auto file = open(path, 400, true);
    BOOST_REQUIRE(file->append(line_of(0)).ok());
    std::ofstream(folder.file("events-000001.jsonl")) << "{\"somebody\": \"else's\"}\n";
    for (int i = 1; i < 10; ++i) BOOST_REQUIRE(file->append(line_of(i)).ok());
  }
  const auto lines = LineTail(path).poll();
  BOOST_REQUIRE(lines.size() == 11u);
  BOOST_TEST(lines.front() == "{\"somebody\": \"else's\"}");
}

BOOST_AUTO_TEST_CASE(a_damaged_piece_is_said_and_the_others_are_read) {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  for (int i : {1, 2}) {
    std::ofstream(path) << line_of(i) << "\n";
    BOOST_REQUIRE(compress_file(path, folder.file(segment_name("audit.jsonl", i, true))).ok());
  }
  std::ofstream(path) << line_of(3) << "\n";
  fs::resize_file(folder.file("audit-000001.jsonl.zst"), 9);
  std::vector<std::string> lines;
  const auto read = LineTail(path).each([&](std::string line) { lines.push_back(line); });
  BOOST_TEST((read.code() == ErrorCode::kCorruptCheckpoint));
  BOOST_TEST(lines == lines_of(2, 4), boost::test_tools::per_element());
  BOOST_TEST((LineTail(folder.file("none")).each([](const std::string&) {}).code() ==
              ErrorCode::kNotFound));
}

/// The disk takes so many bytes of a file and no more.
struct FullDisk {
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    handler = ::signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
  }
  struct rlimit before {};
  void (*handler)(int);
};

BOOST_AUTO_TEST_CASE(what_a_full_disk_did_not_take_is_written_in_order_when_there_is_room) {
  Folder folder;
  const std::string path = folder.file("events.jsonl");
  auto file = open(path, 1 << 20, false);
  LineTail tail(path);
  int lost = 0;
  std::vector<std::string> seen;
  {
    FullDisk full(18);  // the first line, and half of the second
    for (int i = 0; i < 5; ++i) lost += !file->append(line_of(i)).ok();
    for (auto& line : tail.poll()) seen.push_back(line);
    BOOST_TEST(tail.unfinished());
  }
  BOOST_TEST(lost == 0);
  BOOST_REQUIRE(file->append(line_of(5)).ok());
  for (auto& line : tail.poll()) seen.push_back(line);
  std::vector<std::string> lines;
  for (int i = 0; i < 6; ++i) lines.push_back(line_of(i));
  BOOST_TEST(seen == lines, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(behind_a_line_that_is_lost_no_shorter_one_is_kept) {
  Folder folder;
  const std::string path = folder.file("events.jsonl");
  auto file = open(path, 64u << 20, false);
  const std::string first((4u << 20) - 100, 'x'), too_long(200, 'y'), shorter(10, 'z');
  {
    FullDisk full(0);
    BOOST_TEST(file->append(first).ok());
    BOOST_TEST(!file->append(too_long).ok());
    BOOST_TEST(!file->append(shorter).ok());
  }
  BOOST_TEST(file->append(line_of(1)).ok());
  const std::vector<std::string> lines = {first, line_of(1)};
  BOOST_TEST((LineTail(path, 8u << 20).poll() == lines));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::records

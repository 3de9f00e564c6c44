// Event files for TensorBoard, read back by a reader of its own: frames, checksums and protobuf
// fields are taken apart by hand, with nothing of the writer's code.
#include "apps/launch/tensorboard.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace swarm::launch {
namespace {

/// Bit by bit, as the standard defines it.
uint32_t slow_crc32c(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

class Bytes {
 public:
  explicit Bytes(std::string data) : data_(std::move(data)) {}
  bool done() const { return at_ == data_.size(); }
  std::string take(size_t count) {
    BOOST_REQUIRE(count <= data_.size() - at_);
    at_ += count;
    return data_.substr(at_ - count, count);
  }
  template <class T>
  T fixed() {
    T value;  // the machines that build this are little-endian, as the format is
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  std::string data_;
  size_t at_ = 0;
};

std::vector<std::string> frames(const std::string& file) {
  std::vector<std::string> out;
  auto unmask = [](uint32_t masked) {
    const uint32_t rotated = masked - 0xa282ead8u;
    return (rotated >> 17) | (rotated << 15);
  };
  for (Bytes bytes(file); !bytes.done();) {
    const std::string length = bytes.take(8);
    BOOST_TEST(unmask(bytes.fixed<uint32_t>()) == slow_crc32c(length));
    out.push_back(bytes.take(Bytes(length).fixed<uint64_t>()));
    BOOST_TEST(unmask(bytes.fixed<uint32_t>()) == slow_crc32c(out.back()));
  }
  return out;
}

struct ReadEvent {
  double wall_time = 0;
  uint64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
};

std::pair<std::string, float> read_value(Bytes bytes) {
  std::pair<std::string, float> out;
  while (!bytes.done()) {
    const uint64_t key = bytes.varint();
    if (key == (1 << 3 | 2))
      out.first = bytes.take(bytes.varint());
    else if (key == (2 << 3 | 5))
      out.second = bytes.fixed<float>();
    else
      BOOST_FAIL("field " << key);
  }
  return out;
}

ReadEvent read_event(const std::string& data) {
  ReadEvent out;
  for (Bytes bytes(data); !bytes.done();) {
    const uint64_t key = bytes.varint();
    if (key == (1 << 3 | 1))
      out.wall_time = bytes.fixed<double>();
    else if (key == (2 << 3 | 0))
      out.step = bytes.varint();
    else if (key == (3 << 3 | 2))
      out.version = bytes.take(bytes.varint());
    else if (key == (5 << 3 | 2))
      for (Bytes summary(bytes.take(bytes.varint())); !summary.done();) {
        BOOST_TEST(summary.varint() == (1 << 3 | 2));
        out.scalars.insert(read_value(Bytes(summary.take(summary.varint()))));
      }
    else
      BOOST_FAIL("field " << key);
  }
  return out;
}

struct Folder {
  Folder() { BOOST_REQUIRE(::mkdtemp(path) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  char path[32] = "/tmp/swarm-tensorboard-XXXXXX";
};

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

const char* const kLine =
    R"({"step":7,"time":1795247793.5,"train_loss":2.5,"tokens":80,"tokens_per_second":640.0,)"
    R"("validation_loss":2.25,"seconds":0.5,"live_peers":[2,0],"gradient_norm":0.0,)"
    R"("staleness":[{"mean":1.5,"max":3,"histogram":[1,0,2,1]},null]})";

}  // namespace

BOOST_AUTO_TEST_SUITE(TensorboardTest)

BOOST_AUTO_TEST_CASE(checksums_are_those_of_the_iscsi_standard) {
  BOOST_TEST(crc32c("123456789") == 0xe3069283u);
  BOOST_TEST(crc32c("") == 0u);
  BOOST_TEST(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  BOOST_TEST(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  BOOST_TEST(crc32c(rising) == 0x46dd794eu);
}

BOOST_AUTO_TEST_CASE(a_mask_is_a_rotation_by_15_bits_and_a_sum) {
  BOOST_TEST(masked_crc32c("123456789") == ((0xe3069283u >> 15 | 0xe3069283u << 17) + 0xa282ead8u));
}

BOOST_AUTO_TEST_CASE(a_file_begins_with_its_version) {
  const auto all = frames(tensorboard_header(12.5));
  BOOST_REQUIRE(all.size() == 1u);
  const auto event = read_event(all[0]);
  BOOST_TEST(event.version == "brain.Event:2");
  BOOST_TEST(event.wall_time == 12.5);
}

BOOST_AUTO_TEST_CASE(a_line_becomes_one_event_with_all_its_numbers) {
  const auto line = records::parse_metrics(kLine);
  BOOST_REQUIRE(line.has_value());
  const auto all = frames(tensorboard_record(*line, 0));
  BOOST_REQUIRE(all.size() == 1u);
  const auto event = read_event(all[0]);
  BOOST_TEST(event.step == 7u);
  BOOST_TEST(event.wall_time == 1795247793.5);
  const std::map<std::string, float> expected = {
      {"loss/train", 2.5f},           {"loss/validation", 2.25f}, {"tokens_per_second", 640},
      {"gradient_norm", 0},           {"live_peers/stage0", 2},   {"live_peers/stage1", 0},
      {"staleness_mean/stage0", 1.5}, {"staleness_max/stage0", 3}};
  BOOST_TEST((event.scalars == expected));
}

BOOST_AUTO_TEST_CASE(what_a_line_lacks_is_not_written_as_zero) {
  const auto final_line = records::parse_metrics(
      R"({"step":9,"train_loss":null,"validation_loss":2.0,"tokens_per_second":null,"gradient_norm":null})");
  const auto all = frames(tensorboard_record(*final_line, 33.0));
  BOOST_REQUIRE(all.size() == 1u);
  const auto event = read_event(all[0]);
  BOOST_TEST(event.wall_time == 33.0);
  BOOST_TEST((event.scalars == std::map<std::string, float>{{"loss/validation", 2.0f}}));
  BOOST_TEST(tensorboard_record(*records::parse_metrics(R"({"step":3})"), 0).empty());
}

BOOST_AUTO_TEST_CASE(a_file_is_never_written_twice) {
  const Folder folder;
  BOOST_TEST(!has_tensorboard_file(folder.path));
  auto first = TensorboardFile::create(folder.path);
  BOOST_REQUIRE(first.ok());
  BOOST_TEST(has_tensorboard_file(folder.path));
  BOOST_TEST((*first)->append(*records::parse_metrics(kLine)).ok());
  auto second = TensorboardFile::create(folder.path, 77.5);
  BOOST_REQUIRE(second.ok());
  BOOST_TEST((*first)->path() != (*second)->path());
  const auto all = frames(content((*first)->path()));
  BOOST_REQUIRE(all.size() == 2u);
  BOOST_TEST(read_event(all[1]).step == 7u);
  BOOST_TEST((*second)->path().find("tfevents.77.") != std::string::npos);
  const auto head = frames(content((*second)->path()));
  BOOST_REQUIRE(head.size() == 1u);
  BOOST_TEST(read_event(head[0]).wall_time == 77.5);
  BOOST_TEST((*TensorboardFile::create(folder.path, 77.5))->path() != (*second)->path());
}

BOOST_AUTO_TEST_CASE(all_files_of_a_run_stay_below_a_limit_and_end_with_its_last_steps) {
  const Folder folder;
  constexpr uint64_t kMost = 20'000;
  const auto before = TensorboardFile::create(folder.path, 77.5);  // of a run that was resumed
  BOOST_REQUIRE(before.ok());
  TensorboardFolder files(folder.path, kMost);
  auto line = *records::parse_metrics(kLine);
  for (line.step = 0; line.step < 500; ++line.step) BOOST_REQUIRE(files.append(line).ok());
  uint64_t bytes = 0, count = 0, newest = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(folder.path) + "/tensorboard")) {
    ++count;
    bytes += entry.file_size();
    for (const auto& frame : frames(content(entry.path())))
      newest = std::max(newest, static_cast<uint64_t>(read_event(frame).step));
  }
  BOOST_TEST(bytes <= kMost + 500);
  BOOST_TEST(bytes > kMost / 2);
  BOOST_TEST(count >= 3u);
  BOOST_TEST(newest == 499u);
  BOOST_TEST(!std::filesystem::exists((*before)->path()));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_written_is_an_error) {
  const auto file = TensorboardFile::create("/dev/null/run");
  BOOST_REQUIRE(!file.ok());
  BOOST_TEST((file.code() == ErrorCode::kIo));
}

BOOST_AUTO_TEST_CASE(a_host_cannot_leave_the_folder) {
  BOOST_TEST(tensorboard_file_name(5, "../a b") == "events.out.tfevents.5..._a_b");
  BOOST_TEST(tensorboard_file_name(5, "") == "events.out.tfevents.5.localhost");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch

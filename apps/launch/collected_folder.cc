#include "apps/launch/collected_folder.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "common/printable.h"
#include "records/durable.h"
#include "records/files.h"
#include "records/segments.h"

namespace swarm::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "/.collected";
constexpr const char* kMade = "made by swarm collect\n";
constexpr const char* kRun = "run = ";
constexpr const char* kEnd = "end = ";
constexpr const char* kPart = "/.part";

Status make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + folder + ": " + error.message()};
  return {};
}

/// What the mark says behind `name`; empty: nothing.
std::string marked(const std::string& folder, const std::string& name) {
  const auto text = records::read_file(folder + kMark);
  const size_t at = text ? text->find("\n" + name) : std::string::npos;
  if (at == std::string::npos) return {};
  const size_t first = at + 1 + name.size();
  return text->substr(first, text->find('\n', first) - first);
}

/// The mark's content survives a crash with it.
Status write_mark(const std::string& folder, const std::string& text) {
  if (auto done = records::write_atomically(folder + kMark, text); !done) return done;
  if (auto done = records::sync_to_disk(folder + kMark); !done) return done;
  return records::sync_to_disk(folder);
}

}  // namespace

Status prepare_collected_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder + kMark, error)) {
    if (fs::exists(folder + "/nodes", error))
      return Error{ErrorCode::kInvalidArgument,
                   folder + " is the folder of nodes that run or ran here: collect into another"};
    if (auto made = make_folder(folder); !made) return made;
    if (auto marked = write_mark(folder, kMade); !marked) return marked;
  }
  return make_folder(folder + "/nodes");
}

std::string run_of_collected_folder(const std::string& folder) { return marked(folder, kRun); }

uint64_t end_of_collected_run(const std::string& folder) {
  const std::string steps = marked(folder, kEnd);
  uint64_t out = 0;
  const char* end = steps.data() + steps.size();
  const auto read = std::from_chars(steps.data(), end, out);
  return read.ec == std::errc() && read.ptr == end ? out : 0;
}

Status set_end_of_collected_run(const std::string& folder, uint64_t steps) {
  const std::string run = run_of_collected_folder(folder);
  return write_mark(folder, fmt::format("{}{}{}\n{}{}\n", kMade, kRun, run, kEnd, steps));
}

Status set_run_of_collected_folder(const std::string& folder, const std::string& run_id) {
  return write_mark(folder, fmt::format("{}{}{}\n", kMade, kRun, run_id));
}

std::string other_run(const std::string& folder, const std::string& run_there,
                      const std::string& run_id) {
  if (run_there.empty() || run_id.empty() || run_there == run_id) return {};
  return fmt::format("this is run '{}', and {} holds run '{}': collect into another folder",
                     printable(run_id, 64), folder, run_there);
}

bool is_whole(const std::string& node_folder) {
  std::error_code error;
  return records::has_lines(node_folder + "/events.jsonl") &&
         !fs::exists(node_folder + kPart, error);
}

Status mark_part(const std::string& node_folder) {
  if (auto made = make_folder(node_folder); !made) return made;
  return records::write_atomically(node_folder + kPart, "");
}

Status mark_whole(const std::string& node_folder) {
  std::error_code error;
  fs::remove(node_folder + kPart, error);
  return records::sync_to_disk(node_folder);
}

}  // namespace swarm::launch

#include "apps/launch/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace swarm::launch {
namespace {

Error io(const std::string& what) { return {ErrorCode::kIo, what + ": " + std::strerror(errno)}; }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H-%M-%S", &parts);
  return buffer;
}

Status write_all(int fd, const std::string& content, const std::string& path) {
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(fd, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io("cannot write " + path);
    written += static_cast<size_t>(count);
  }
  return {};
}

}  // namespace

Result<std::string> make_run_folder(config::Experiment& experiment) {
  const std::string parent = experiment.run.folder + "/" + experiment.run.name;
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + parent + ": " + error.message()};
  const std::string time = utc_now();
  std::string name = time;
  for (int i = 2; !std::filesystem::create_directory(parent + "/" + name, error); ++i) {
    if (error) return Error{ErrorCode::kIo, "cannot make a folder in " + parent};
    name = time + "-" + std::to_string(i);
  }
  if (experiment.run.id.empty()) experiment.run.id = experiment.run.name + "-" + name;
  experiment.base.run_id = experiment.run.id;
  // A run cut short on the command line never reaches these; the nodes read its file strictly.
  auto& timeline = experiment.timeline;
  timeline.erase(std::remove_if(timeline.begin(), timeline.end(),
                                [&](const auto& entry) {
                                  return entry.at_step >
                                         static_cast<int64_t>(experiment.base.training.steps);
                                }),
                 timeline.end());
  const std::string folder = parent + "/" + name;
  if (auto done = write_atomically(folder + "/config.toml", config::to_toml(experiment)); !done)
    return done.error();
  return folder;
}

Status write_atomically(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return io("cannot open " + temporary);
  Status done = write_all(fd, content, temporary);
  ::close(fd);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) return io("cannot write " + path);
  return done;
}

Status append_line(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return io("cannot open " + path);
  const off_t end = ::lseek(fd, 0, SEEK_END);
  Status done = write_all(fd, line + "\n", path);
  if (!done && end >= 0) static_cast<void>(!::ftruncate(fd, end));  // no half line stays
  ::close(fd);
  return done;
}

Status drop_torn_end(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? Status() : Status(io("cannot open " + path));
  const off_t end = ::lseek(fd, 0, SEEK_END);
  off_t keep = end;
  for (char c = 0; keep > 0 && ::pread(fd, &c, 1, keep - 1) == 1 && c != '\n';) --keep;
  Status done;
  if (keep < end && ::ftruncate(fd, keep) != 0) done = io("cannot shorten " + path);
  ::close(fd);
  return done;
}

Status write_node_file(const std::string& node_folder, const NodeFile& file) {
  nlohmann::ordered_json json;
  json["name"] = file.name;
  json["pid"] = file.pid;
  json["node_id"] = file.node_id.hex();
  json["endpoint"] = file.endpoint.text();
  return write_atomically(node_folder + "/node.json", json.dump() + "\n");
}

Result<NodeFile> read_node_file(const std::string& node_folder) {
  std::ifstream stream(node_folder + "/node.json");
  if (!stream) return Error{ErrorCode::kNotFound, "no node.json in " + node_folder};
  std::ostringstream text;
  text << stream.rdbuf();
  const auto json = nlohmann::json::parse(text.str(), nullptr, false);
  auto text_of = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string()
               ? json[key].get<std::string>()
               : std::string();
  };
  auto id = NodeId::from_hex(text_of("node_id"));
  auto endpoint = Endpoint::parse(text_of("endpoint"));
  if (!id || !endpoint || !json.contains("pid") || !json["pid"].is_number_integer())
    return Error{ErrorCode::kInvalidArgument, node_folder + "/node.json is damaged"};
  return NodeFile{text_of("name"), json["pid"].get<pid_t>(), *id, *endpoint};
}

Status lock_folder(const std::string& folder) {
  const std::string path = folder + "/run.lock";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return io("cannot open " + path);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    return Error{ErrorCode::kIo, folder + " is in use by another `swarm run`"};
  return {};  // held until the process ends
}

}  // namespace swarm::launch

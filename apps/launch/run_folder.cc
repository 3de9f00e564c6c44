#include "apps/launch/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <vector>

#include "records/fields.h"
#include "records/files.h"
#include "records/kept_stages.h"
#include "records/line_tail.h"
#include "records/segments.h"
#include "storage/mirror_files.h"
#include "storage/options.h"

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

/// No run begins without its mirror, and none begins anew while its snapshots may come back.
Status check_mirror(const config::Experiment& experiment) {
  const auto& mirror = experiment.base.checkpoint.mirror;
  if (mirror.empty()) return {};
  const auto files = storage::list_mirror(mirror, experiment.base.run_id);
  if (files) return {};
  return Error{ErrorCode::kIo, "cannot look at checkpoint.mirror: " + files.error().detail};
}

/// Stages of which a node of these, whose databases are left, has made a copy: its events say so. What it
/// still has is seen when it has opened its database.
std::set<int32_t> copied(const std::string& folder, const std::set<std::string>& nodes) {
  std::set<int32_t> stages;
  const auto look = [&](const std::string& line) {
    if (line.find(records::CopyMade::kInfo.name) == std::string::npos) return;
    const auto event = records::parse_event(line);
    if (event && event->is<records::CopyMade>() && nodes.count(event->node) != 0)
      stages.insert(event->stage);
  };
  (void)records::LineTail(folder + "/events.jsonl", SIZE_MAX).each(look);  // none: no copies
  return stages;
}

}  // namespace

Result<std::string> make_run_folder(config::Experiment& experiment) {
  if (auto there = check_mirror(experiment); !there) return there.error();
  const std::string parent = experiment.run.folder + "/" + experiment.run.name;
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + parent + ": " + error.message()};
  const std::string time = utc_now();
  std::string name = time;
  for (int i = 2; !std::filesystem::create_directory(parent + "/" + name, error); ++i) {
    if (error) return Error{ErrorCode::kIo, "cannot make a folder in " + parent};
    name = fmt::format("{}-{}", time, i);
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
  if (auto done = records::write_atomically(folder + "/config.toml", config::to_toml(experiment));
      !done)
    return done.error();
  return folder;
}

Status check_run_folder(const std::string& folder) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(folder + "/config.toml", failed)) return {};
  return Error{ErrorCode::kNotFound,
               folder + " is no run folder: it has no config.toml that can be read"};
}

std::string run_of_node(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path own = fs::weakly_canonical(folder, failed);
  if (!own.has_filename()) own = own.parent_path();  // "nodes/s0/"
  const fs::path nodes = own.parent_path();
  if (failed || nodes.filename() != "nodes") return "";
  const fs::path run = nodes.parent_path();
  return fs::is_regular_file(run / "config.toml", failed) ? run.string() : "";
}

Result<config::Experiment> read_experiment_of(const std::string& folder) {
  if (auto there = check_run_folder(folder); !there) return there.error();
  auto loaded = config::load_experiment(folder + "/config.toml");
  if (!loaded.ok())
    return Error{ErrorCode::kInvalidArgument, "errors in a run's file\n" + loaded.text()};
  return std::move(*loaded.experiment);
}

config::Experiment as_served(config::Experiment experiment, const std::string& folder) {
  for (auto& node : experiment.nodes)
    node.stages = records::read_kept_stages(folder + "/nodes/" + node.name, experiment.base.run_id,
                                            node.stages);
  return experiment;
}

std::string missing_databases(const std::string& folder, const config::Experiment& experiment) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string metrics = folder + "/metrics.jsonl";
  const bool empty = fs::file_size(metrics, error) == 0 || error;
  if (empty && records::segments_of(metrics).empty()) return "";  // nothing was done
  const auto heads = storage::store_heads();
  const auto kind = static_cast<size_t>(experiment.base.checkpoint.store);
  if (kind >= heads.size()) return "";  // of a kind that tells nothing before it is opened
  std::set<int32_t> left, stages;
  std::set<std::string> nodes;  // that have a database
  for (int32_t stage = 0; stage < experiment.base.num_stages; ++stage) stages.insert(stage);
  const auto served = as_served(experiment, folder);
  for (const auto& node : experiment.nodes) {
    stages.insert(node.stages.begin(), node.stages.end());
    if (!fs::exists(folder + "/nodes/" + node.name + "/" + heads[kind], error)) continue;
    nodes.insert(node.name);
    left.insert(node.stages.begin(), node.stages.end());
    const auto& now = served.find(node.name)->stages;
    left.insert(now.begin(), now.end());
  }
  const auto& mirror = experiment.base.checkpoint.mirror;
  const auto files = storage::list_mirror(mirror, experiment.base.run_id);
  const auto num_stages = static_cast<uint32_t>(experiment.base.num_stages);
  if (!mirror.empty() && files && !storage::complete_places(*files, num_stages).empty()) return "";
  stages.erase(actors::kAnyStage);
  for (const int32_t stage : left) stages.erase(stage);
  if (stages.empty()) return "";
  for (const int32_t stage : copied(folder, nodes)) stages.erase(stage);
  if (stages.empty()) return "";
  const std::string lost =
      fmt::format("no node has a database of stage {} (nodes/*/db)", fmt::join(stages, ", "));
  if (!mirror.empty() && !files)
    return lost + ", and checkpoint.mirror cannot be looked at: " + files.error().detail;
  return fmt::format(
      "{}: there is nothing to go on from; put them back, or begin anew with: swarm run --restart "
      "{}",
      lost, folder);
}

Result<std::string> set_history_aside(const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string to = folder + "/before-" + utc_now();
  std::error_code error;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    const bool stays = name == "config.toml" || name == "run.lock" || name == "operator.key" ||
                       name.rfind("before-", 0) == 0;
    if (!stays) left.push_back(entry.path());
  }
  if (!error) fs::create_directory(to, error);
  for (const auto& path : left)
    if (!error) fs::rename(path, fs::path(to) / path.filename(), error);
  if (error)
    return Error{ErrorCode::kIo, "cannot move what is in " + folder + ": " + error.message()};
  return to;
}

Status set_mirror_aside(const config::Experiment& experiment) {
  const auto& mirror = experiment.base.checkpoint.mirror;
  if (mirror.empty()) return {};
  if (auto there = check_mirror(experiment); !there) return there;
  const std::string folder = storage::mirror_folder(mirror, experiment.base.run_id);
  std::error_code error;
  const bool exists = std::filesystem::exists(folder, error);
  if (exists) std::filesystem::rename(folder, folder + ".before-" + utc_now(), error);
  if (error) return Error{ErrorCode::kIo, "cannot move " + folder + ": " + error.message()};
  return {};
}

Status write_node_file(const std::string& node_folder, const NodeFile& file) {
  return records::write_atomically(node_folder + "/node.json",
                                   to_json(records::write_fields(file)) + "\n");
}

Result<NodeFile> read_node_file(const std::string& node_folder) {
  const auto text = records::read_file(node_folder + "/node.json");
  if (!text) return text.error();
  const auto object = records::parse_object(*text);
  std::string fault = "is no object";
  NodeFile file;
  if (object) file = records::read_fields<NodeFile>(*object, &fault);
  if (!fault.empty())
    return Error{ErrorCode::kInvalidArgument, node_folder + "/node.json is damaged: it " + fault};
  return file;
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

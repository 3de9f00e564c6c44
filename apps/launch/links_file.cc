#include "apps/launch/links_file.h"

#include "apps/launch/timeline.h"
#include "config/shape_changes.h"
#include "records/files.h"

namespace swarm::launch {
namespace {

/// An empty list where there is no file.
Result<std::vector<actors::ShapeChange>> read_changes(const std::string& path) {
  const auto text = records::read_file(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::vector<actors::ShapeChange>();
  if (!text) return text.error();
  return config::parse_links_toml(*text, path);
}

actors::ShapeChange all_paths(const std::string& node, bool cut) {
  actors::ShapeChange change;
  change.node = node;
  change.to = "*";
  change.cut = cut;
  return change;
}

bool same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

std::string links_file(const std::string& run_folder) { return run_folder + "/links.toml"; }

bool LinksFileWriter::wanted(const config::Experiment& experiment) const {
  struct stat info {};
  return ::stat(path_.c_str(), &info) == 0 || uses(experiment, config::TimelineAction::kLink) ||
         uses(experiment, config::TimelineAction::kCut);
}

/// A path has two ends: healing one must not open it while the other is cut.
Status LinksFileWriter::cut(const std::string& node, bool on) {
  if (node == "*")
    cut_.clear();
  else if (on)
    cut_.insert(node);
  else
    cut_.erase(node);
  std::vector<actors::ShapeChange> changes{all_paths(node, on)};
  if (!on)
    for (const auto& other : cut_) changes.push_back(all_paths(other, true));
  return append(changes);
}

Status LinksFileWriter::append(const actors::ShapeChange& change) {
  return append(std::vector<actors::ShapeChange>{change});
}

Status LinksFileWriter::append(const std::vector<actors::ShapeChange>& changes) {
  auto all = read_changes(path_);
  if (!all) return all.error();
  all->insert(all->end(), changes.begin(), changes.end());
  return records::write_atomically(path_, config::to_links_toml(*all));
}

std::optional<Result<actors::ShapeOptions>> LinksFileReader::poll() {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0) now = {};  // as before there was one
  if (same(now, seen_)) return std::nullopt;
  seen_ = now;
  const auto changes = read_changes(path_);
  if (!changes) return Result<actors::ShapeOptions>(changes.error());
  actors::ShapeOptions shape = before_;
  for (const auto& change : *changes) actors::apply(change, node_name_, shape);
  return Result<actors::ShapeOptions>(std::move(shape));
}

}  // namespace swarm::launch

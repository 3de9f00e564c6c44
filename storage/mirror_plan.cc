#include "storage/mirror_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace swarm::storage {
namespace {

using Place = MirrorPlace;

Place place_of(const MirrorFile& file) { return {file.step, file.history}; }

bool has(const MirrorFiles& files, const MirrorFile& file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

}  // namespace

MirrorFiles complete_files(const MirrorFiles& files, uint32_t stage, uint32_t num_stages) {
  MirrorFiles out;
  for (const Place& place : complete_places(files, num_stages))
    out.push_back({place.first, stage, place.second});
  return out;
}

std::optional<MirrorFile> to_write(const MirrorFiles& own, const MirrorFiles& files, uint32_t stage,
                                   uint32_t num_stages) {
  const MirrorPlaces complete = complete_places(files, num_stages);
  const uint64_t oldest = complete.empty() ? 0 : complete.begin()->first;
  MirrorFiles missing;
  uint64_t newest = 0;
  for (const MirrorFile& file : own) {
    newest = std::max(newest, file.step);
    if (file.stage == stage && file.step >= oldest && !has(files, file)) missing.push_back(file);
  }
  std::sort(missing.begin(), missing.end(),
            [](const auto& a, const auto& b) { return a.step > b.step; });
  for (const MirrorFile& file : missing)
    if (std::any_of(files.begin(), files.end(),
                    [&](const auto& other) { return place_of(other) == place_of(file); }))
      return file;
  if (missing.empty() || missing.front().step < newest) return std::nullopt;
  return missing.front();
}

MirrorFiles to_prune(const MirrorFile& written, const MirrorFiles& files, uint32_t num_stages,
                     uint32_t keep) {
  const MirrorPlaces complete = complete_places(files, num_stages);
  const uint64_t newest_complete = complete.empty() ? 0 : complete.begin()->first;
  MirrorPlaces kept;
  for (const Place& place : complete)
    if (kept.size() < keep) kept.insert(place);
  std::map<uint32_t, std::set<uint64_t, std::greater<>>> waiting;  // by stage
  for (const MirrorFile& file : files)
    if (file.step > newest_complete) waiting[file.stage].insert(file.step);
  const auto goes = [&](const MirrorFile& file) {
    if (file.step == written.step && complete.count(place_of(written)) > 0)
      return file.history != written.history;  // that one was given up
    // Of the newest complete step, another history may become complete, too.
    if (file.step < newest_complete) return kept.count(place_of(file)) == 0;
    const auto& steps = waiting[file.stage];
    const auto last = steps.find(file.step);
    return last != steps.end() && std::distance(steps.begin(), last) > int64_t{keep};
  };
  MirrorFiles out;
  std::copy_if(files.begin(), files.end(), std::back_inserter(out), goes);
  return out;
}

MirrorFiles to_withdraw(const MirrorFiles& files, const MirrorFiles& aside,
                        const MirrorFiles& stay) {
  MirrorFiles out;
  for (const MirrorFile& file : aside)
    if (file.history != 0 && has(files, file) && !has(stay, file)) out.push_back(file);
  return out;
}

std::optional<MirrorFile> to_take(const MirrorFiles& files, uint32_t stage, uint32_t num_stages,
                                  const std::vector<uint64_t>& own, const TakeLimits& limits) {
  const uint64_t newest = own.empty() ? 0 : *std::max_element(own.begin(), own.end());
  for (const MirrorFile& file : complete_files(files, stage, num_stages)) {
    const bool there = std::find(own.begin(), own.end(), file.step) != own.end();
    const bool older = limits.newer_only && file.step < newest;
    if (!there && !older && (!limits.before || file.step < *limits.before)) return file;
  }
  return std::nullopt;
}

}  // namespace swarm::storage

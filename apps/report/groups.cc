#include "apps/report/groups.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "apps/report/text.h"

namespace swarm::report {
namespace {

constexpr size_t kMostInLabel = 4;
constexpr size_t kLongestValue = 40;

bool is_name(const std::string& key) {
  return key == "run.name" || key == "run.folder" || key == "run.id" || key == "run.tensorboard";
}
bool is_seed(const std::string& key) { return key == "run.seed" || key == "chaos.seed"; }

std::string value(const Run& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? "-" : found->second;
}

/// "learning_rate=0.003 beta1=0.99": what tells a group from the others. Empty if that takes more
/// words than a legend has room for.
std::string words(const Run& run, const std::vector<Difference>& all) {
  std::string out;
  size_t told = 0;
  for (const auto& difference : all) {
    if (is_seed(difference.key) || run.settings.count(difference.key) == 0) continue;
    if (++told > kMostInLabel) return {};
    const size_t dot = difference.key.rfind('.');
    out += (out.empty() ? "" : " ") + difference.key.substr(dot + 1) + "=" +
           clip(value(run, difference.key), kLongestValue);
  }
  return out;
}

std::string run_name(const Run& run) {
  std::string name = value(run, "run.name");
  if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
  return name;
}

/// The experiments' names tell the groups apart: no name in two of them, none with two names.
bool names_suffice(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  std::set<std::string> seen;
  for (const auto& group : groups) {
    std::set<std::string> own;
    for (const size_t run : group.runs) own.insert(run_name(runs[run]));
    if (own.size() != 1 || *own.begin() == "-" || !seen.insert(*own.begin()).second) return false;
  }
  return true;
}

void label(const std::vector<Run>& runs, std::vector<Group>& groups) {
  const bool by_name = names_suffice(runs, groups);
  const auto all = differences(runs);
  std::map<std::string, int> used;
  for (auto& group : groups) {
    const Run& first = runs[group.runs.front()];
    group.label = by_name ? run_name(first) : words(first, all);
    if (group.label.empty()) group.label = first.name;
    if (group.runs.size() > 1) group.label += fmt::format(" ({} runs)", group.runs.size());
    const int times = ++used[group.label];
    if (times > 1) group.label += fmt::format(" #{}", times);
  }
}

}  // namespace

std::vector<Group> group_runs(const std::vector<Run>& runs) {
  std::vector<Group> groups;
  std::map<std::map<std::string, std::string>, size_t> known;
  for (size_t i = 0; i < runs.size(); ++i) {
    auto key = runs[i].settings;
    for (auto at = key.begin(); at != key.end();)
      at = is_name(at->first) || is_seed(at->first) ? key.erase(at) : std::next(at);
    const bool fresh = runs[i].settings.empty() || known.emplace(key, groups.size()).second;
    if (fresh)
      groups.push_back({"", {i}});
    else
      groups[known[key]].runs.push_back(i);
  }
  label(runs, groups);
  return groups;
}

std::vector<Difference> differences(const std::vector<Run>& runs) {
  const auto last = [](const std::string& key) {
    return key.rfind("nodes.", 0) == 0 || key.rfind("timeline.", 0) == 0;
  };
  const auto before = [&](const std::string& a, const std::string& b) {
    return std::make_pair(last(a), a) < std::make_pair(last(b), b);
  };
  std::set<std::string, decltype(before)> keys(before);
  for (const auto& run : runs)
    for (const auto& setting : run.settings)
      if (!is_name(setting.first)) keys.insert(setting.first);
  std::vector<Difference> out;
  for (const auto& key : keys) {
    Difference difference{key, {}};
    std::set<std::string> distinct;
    for (const auto& run : runs) {
      difference.values.push_back(value(run, key));
      if (!run.settings.empty()) distinct.insert(difference.values.back());
    }
    if (distinct.size() > 1) out.push_back(std::move(difference));
  }
  return out;
}

}  // namespace swarm::report

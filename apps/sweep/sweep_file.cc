#include "apps/sweep/sweep_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "apps/sweep/sweep_parts.h"
#include "common/hex.h"
#include "config/experiment.h"
#include "config/value.h"

namespace swarm::sweep {
namespace {

using config::ConfigError;
using config::Location;

constexpr size_t kMaxFileBytes = 4u << 20;
constexpr size_t kMaxCells = 10'000;
constexpr size_t kMaxSlug = 38;

uint64_t hash_of(const std::string& text) { return XXH3_64bits(text.data(), text.size()); }

std::string plain(const std::string& value) {
  const bool quoted = value.size() >= 2 && value.front() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

/// "learning_rate", or the whole key when another axis ends alike.
std::string short_key(const std::vector<Axis>& axes, const std::string& key) {
  auto last = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  const auto same = std::count_if(axes.begin(), axes.end(),
                                  [&](const Axis& axis) { return last(axis.key) == last(key); });
  return same > 1 ? key : last(key);
}

/// A label as a folder's name. What is lost on the way is made up for by a hash.
std::string slug_of(const std::string& label) {
  std::string out;
  bool lost = label.size() > kMaxSlug;
  for (const char c : label.substr(0, kMaxSlug - (lost ? 7 : 0))) {
    const bool good = config::is_name("x" + std::string(1, c));
    out += good ? c : c == '=' ? '-' : '_';
    lost = lost || (!good && c != '=' && c != ' ');
  }
  if (!lost) return out;
  return out.substr(0, kMaxSlug - 7) + "-" + hex(hash_of(label)).substr(0, 6);
}

class Planner {
 public:
  Planner(Parts parts, std::string base, const LoadBase& load)
      : parts_(std::move(parts)), load_(load) {
    plan_.name = parts_.name;
    plan_.base = std::move(base);
    plan_.baseline = parts_.baseline;
    plan_.target_loss = parts_.target_loss;
  }

  PlanResult make() {
    if (count_cells() && parts_.errors.empty()) {
      make_settings();
      check_slugs();
      load_all();
    }
    PlanResult result;
    if (parts_.errors.empty()) {
      make_cells();
      result.plan = std::move(plan_);
      return result;
    }
    result.errors = std::move(parts_.errors);
    std::stable_sort(result.errors.begin(), result.errors.end(), [](auto& a, auto& b) {
      return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
    });
    return result;
  }

 private:
  /// Before anything of that size is made.
  bool count_cells() {
    size_t runs = parts_.variants.empty() ? parts_.seeds.size() : 0;
    for (const auto& variant : parts_.variants) runs += seeds_of(variant).size();
    auto cells = static_cast<double>(runs);
    for (const auto& axis : parts_.axes) cells *= static_cast<double>(axis.values.size());
    if (cells <= static_cast<double>(kMaxCells)) return true;
    Location where = parts_.base_where;
    if (!parts_.axes.empty()) where = parts_.axes.front().where;
    parts_.errors.push_back({where,
                             "axes",
                             fmt::format("axes, variants and seeds make more than {} runs; split "
                                         "the sweep",
                                         kMaxCells),
                             {}});
    return false;
  }

  const std::vector<uint64_t>& seeds_of(const Variant& variant) const {
    return variant.seeds.empty() ? parts_.seeds : variant.seeds;
  }

  void make_settings() {
    std::vector<Variant> variants = parts_.variants;
    if (variants.empty()) variants.emplace_back();
    std::optional<size_t> baseline;
    for (const auto& variant : variants) {
      if (!variant.name.empty() && variant.name == parts_.baseline)
        baseline = plan_.settings.size();
      Setting setting;
      setting.label = variant.name;
      setting.seeds = seeds_of(variant);
      setting.assignments = parts_.common;
      for (const auto& assignment : variant.assignments) put(setting, assignment);
      add_axes(setting, 0);
    }
    if (!baseline) return;
    const size_t of_a_variant = plan_.settings.size() / variants.size();
    for (size_t i = 0; i < plan_.settings.size(); ++i)
      if (const size_t other = *baseline + i % of_a_variant; other != i)
        plan_.settings[i].baseline = other;
  }

  /// The last axis changes fastest.
  void add_axes(const Setting& setting, size_t index) {
    if (index == parts_.axes.size()) {
      plan_.settings.push_back(setting);
      Setting& made = plan_.settings.back();
      if (made.label.empty()) made.label = "base";
      made.slug = slug_of(made.label);
      return;
    }
    const Axis& axis = parts_.axes[index];
    for (const auto& assignment : axis.values) {
      Setting next = setting;
      put(next, assignment);
      next.label += (next.label.empty() ? "" : " ") + short_key(parts_.axes, axis.key) + "=" +
                    plain(assignment.value);
      add_axes(next, index + 1);
    }
  }

  /// A later assignment of a key replaces an earlier one.
  static void put(Setting& setting, const Assignment& assignment) {
    auto& all = setting.assignments;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const auto& other) { return other.key == assignment.key; }),
              all.end());
    all.push_back(assignment);
  }

  void check_slugs() {
    std::map<std::string, const Setting*> seen;
    for (const auto& setting : plan_.settings) {
      const auto [at, is_new] = seen.emplace(setting.slug, &setting);
      if (is_new) continue;
      const Location where =
          setting.assignments.empty() ? parts_.base_where : setting.assignments.back().where;
      parts_.errors.push_back({where,
                               "variant.name",
                               "the settings " + config::quote(at->second->label) + " and " +
                                   config::quote(setting.label) + " both get the name " +
                                   setting.slug + "; rename a variant",
                               {}});
    }
  }

  static std::vector<std::string> overrides(const Setting& setting) {
    std::vector<std::string> out;
    for (const auto& one : setting.assignments) out.push_back(one.key + "=" + one.value);
    return out;
  }

  void load_all() {
    std::set<std::string> reported;
    for (const auto& setting : plan_.settings) {
      const auto loaded = load_(plan_.base, overrides(setting));
      auto report = [&](ConfigError error) {
        if (reported.insert(error.text()).second) parts_.errors.push_back(std::move(error));
      };
      for (const auto& error : loaded.errors) {
        // A key that is unknown is so with each of its values.
        const bool is_ours = error.where.line == 0;
        if (!is_ours || reported.insert(error.key + ": " + error.message).second)
          report(relocate(error, setting));
      }
      if (!loaded.ok()) continue;
      if (loaded.experiment->nodes.empty())
        report({parts_.base_where,
                "sweep.base",
                plan_.base + " lists no [[nodes]]; a sweep runs whole swarms",
                {}});
      experiments_.push_back(identity(*loaded.experiment));
    }
  }

  /// All keys that are not at their default, so that a key of a later version changes nothing.
  static std::string identity(const config::Experiment& experiment) {
    std::string out;
    for (const auto& setting : config::settings_of(experiment))
      if (!setting.at_default) out += setting.path + "=" + setting.value + "\n";
    return out;
  }

  /// "--set KEY" is a place in this file.
  static ConfigError relocate(ConfigError error, const Setting& setting) {
    for (const auto& assignment : setting.assignments)
      if (error.where.file == "--set " + assignment.key) error.where = assignment.where;
    return error;
  }

  void make_cells() {
    size_t most_seeds = 0;
    for (const auto& setting : plan_.settings)
      most_seeds = std::max(most_seeds, setting.seeds.size());
    for (size_t nth = 0; nth < most_seeds; ++nth) {
      for (size_t i = 0; i < plan_.settings.size(); ++i) {
        if (nth >= plan_.settings[i].seeds.size()) continue;
        const uint64_t seed = plan_.settings[i].seeds[nth];
        Cell cell;
        cell.name = fmt::format("{}_seed-{}", plan_.settings[i].slug, seed);
        cell.setting = i;
        cell.seed = seed;
        cell.overrides = overrides(plan_.settings[i]);
        cell.overrides.push_back(fmt::format("run.seed={}", seed));
        cell.hash = hex(hash_of(experiments_[i] + std::to_string(seed)));
        plan_.cells.push_back(std::move(cell));
      }
    }
  }

  Parts parts_;
  const LoadBase& load_;
  Plan plan_;
  std::vector<std::string> experiments_;  // identity() of each setting
};

PlanResult fail(const Location& where, const std::string& message) {
  PlanResult result;
  result.errors.push_back({where, "", message, {}});
  return result;
}

}  // namespace

std::string PlanResult::text() const {
  std::string out;
  for (const auto& error : errors) out += error.text() + "\n";
  return out;
}

PlanResult parse_plan(const std::string& text, const std::string& file, const LoadBase& load) {
  if (text.size() > kMaxFileBytes)
    return fail({file, 1, 1}, "the file is larger than 4 MiB; is it a sweep?");
  const auto parsed = config::parse_toml(text, file);
  if (!parsed.ok) return fail(parsed.error_location, "not TOML: " + parsed.error);
  Parts parts = read_parts(parsed.root, file);
  const auto base = std::filesystem::path(file).parent_path() / parts.base;
  return Planner(std::move(parts), base.string(), load).make();
}

PlanResult load_plan(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    return fail({path, 0, 0}, "cannot read the file: it does not exist or is not a regular file");
  std::ifstream stream(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (stream.bad() || !stream.eof()) {
    if (text.size() > kMaxFileBytes) return fail({path, 1, 1}, "the file is larger than 4 MiB");
    return fail({path, 0, 0}, "cannot read the file: permission or disk error");
  }
  return parse_plan(text, path, [](const auto& base, const auto& overrides) {
    return config::load_experiment(base, overrides);
  });
}

}  // namespace swarm::sweep

#include "apps/plan/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "apps/plan/plan_keys.h"
#include "apps/plan/search.h"
#include "config/nearest.h"

namespace swarm::plan {
namespace {

using config::ConfigError;
using config::Location;
using config::Value;

constexpr size_t kMaxFileBytes = 4u << 20;
constexpr uint32_t kMaxMachines = 10'000;

/// What an experiment says of the job.
void take(const config::Experiment& experiment, PlanInput& input) {
  const auto& base = experiment.base;
  const auto& training = base.training;
  Job& job = input.job;
  job.model = base.model;
  job.model.layers_per_stage.clear();
  job.backward = base.backward;
  job.compute = base.compute;
  job.averaging = base.averager.codec;
  const bool periods = training.mode == actors::TrainingMode::kAsync;
  job.batch = periods && training.sync_every > 0 ? training.sync_every : training.batch;
  job.mode = periods ? training.background_averaging ? Mode::kBackground : Mode::kAsync
             : training.delayed_updates ? Mode::kDelayed
                                        : Mode::kSync;
  input.search.microbatch = {training.microbatch};
  input.search.codecs = {base.activation_codec};
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  PlanFileResult read(const Value& root) {
    read_experiment(root);
    for (const auto& member : root.members) {
      if (member.name == "devices") {
        read_devices(member);
      } else if (member.name == "model") {
        read_section(member, model_keys(), experiment_);
      } else if (member.name == "plan" || member.name == "search" || member.name == "reference") {
        read_section(member, draft_keys(), draft_);
      } else {
        error(member.location, member.name,
              "unknown section of a plan; there are [plan], [model], [search], [reference] and "
              "[[devices]]",
              config::nearest(member.name, {"plan", "model", "search", "reference", "devices"}));
      }
    }
    if (errors_.empty()) check();
    PlanFileResult result;
    if (errors_.empty()) {
      result.input = std::move(input_);
      return result;
    }
    std::stable_sort(errors_.begin(), errors_.end(), [](auto& a, auto& b) {
      return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
    });
    result.errors = std::move(errors_);
    return result;
  }

 private:
  void error(const Location& where, const std::string& key, const std::string& message,
             const std::string& suggestion = {}) {
    errors_.push_back({where, key, message, suggestion});
  }

  /// The place of a key, or where the file begins.
  Location place(const std::string& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? Location{file_, 1, 1} : found->second;
  }

  /// First of all, as the other keys overrule it.
  void read_experiment(const Value& root) {
    for (const auto& section : root.members)
      for (const auto& member : section.value.members) {
        if (section.name != "plan" || member.name != "experiment") continue;
        const Value& value = member.value;
        if (value.kind != Value::Kind::kString) return;  // read_section() says so
        const auto path = std::filesystem::path(file_).parent_path() / value.text;
        const auto loaded = config::load_experiment(path.string());
        for (const auto& one : loaded.errors) error(value.location, "plan.experiment", one.text());
        if (loaded.ok()) take(*loaded.experiment, input_);
      }
    draft_.job = input_.job;
    draft_.search = input_.search;
    experiment_.base.model = input_.job.model;
  }

  template <class T>
  void read_section(const Value::Member& member, const std::vector<config::Key<T>>& keys,
                    T& target) {
    if (member.value.kind != Value::Kind::kTable)
      return error(member.value.location, member.name,
                   "expected the section [" + member.name + "], found " + member.value.describe());
    places_[member.name] = member.location;
    for (const auto& entry : member.value.members) assign(member.name, entry, keys, target);
  }

  template <class T>
  void assign(const std::string& section, const Value::Member& entry,
              const std::vector<config::Key<T>>& keys, T& target) {
    const std::string path = section + "." + entry.name;
    std::vector<std::string> names;
    for (const auto& key : keys) {
      if (key.section != section) continue;
      names.push_back(key.name);
      if (key.name != entry.name) continue;
      places_[path] = entry.location;
      if (const Value* bad = key.set(target, entry.value))
        error(bad->location, path, "expected " + key.expected + ", found " + bad->describe(),
              bad->kind == Value::Kind::kString ? config::nearest(bad->text, key.choices) : "");
      return;
    }
    error(entry.location, path, "unknown key", config::nearest(entry.name, names));
  }

  void read_devices(const Value::Member& member) {
    const std::string expected = "expected [[devices]] (tables in a list), found ";
    if (member.value.kind != Value::Kind::kArray)
      return error(member.value.location, "devices", expected + member.value.describe());
    std::set<std::string> names;
    uint32_t machines = 0;
    for (const Value& item : member.value.items) {
      if (item.kind != Value::Kind::kTable) {
        error(item.location, "devices", expected + item.describe());
        continue;
      }
      Device device;
      const size_t before = errors_.size();
      for (const auto& entry : item.members) assign("devices", entry, device_keys(), device);
      if (errors_.size() > before) continue;
      if (!config::is_name(device.name))
        error(item.location, "devices.name",
              "expected a name, 1 to 64 of [A-Za-z0-9_.-]; give one");
      else if (!names.insert(device.name).second)
        error(item.location, "devices.name",
              "there are other devices " + config::quote(device.name) + "; rename one");
      if (device.flops_per_s <= 0)
        error(item.location, "devices.flops_per_s", "missing: `swarm bench device` measures it");
      machines += device.count;
      input_.devices.push_back(std::move(device));
    }
    if (machines > kMaxMachines)
      error(member.location, "devices.count",
            fmt::format("expected {} machines in all at most, found {}", kMaxMachines, machines));
  }

  void check() {
    input_.job = draft_.job;
    input_.job.model = experiment_.base.model;
    input_.search = draft_.search;
    if (input_.devices.empty())
      error(place("devices"), "devices", "missing: list the machines, [[devices]] each kind");
    check_reference();
    const auto broken = input_.job.model.validate();
    for (const Error& one : broken) error(place("model"), "", one.detail);
    if (broken.empty()) check_search();
  }

  void check_reference() {
    if (places_.count("reference") == 0) return;
    if (draft_.reference.flops_per_s <= 0)
      error(place("reference"), "reference.flops_per_s",
            "missing: what one of them gets of the model's operations a second");
    if (draft_.reference.name.empty()) draft_.reference.name = "reference";
    input_.reference = draft_.reference;
  }

  void check_search() {
    const auto& search = input_.search;
    const auto& model = input_.job.model;
    uint32_t machines = 0;
    for (const Device& device : input_.devices) machines += device.count;
    const auto most = std::min(static_cast<uint32_t>(model.layers), machines);
    for (const int32_t stages : search.stages)
      if (static_cast<uint32_t>(stages) > most)
        error(place("search.stages"), "search.stages",
              fmt::format("{} stages are more than the model has blocks or than there are machines "
                          "({}); remove it",
                          stages, most));
    const bool found = std::any_of(search.microbatch.begin(), search.microbatch.end(),
                                   [&](uint32_t m) { return possible(input_.job, m); });
    if (!found)
      error(
          place("search.microbatch"), "search.microbatch",
          fmt::format("expected a divisor of plan.batch ({}) of at most {}, as no tensor has more "
                      "than 1 GiB; list one",
                      input_.job.batch,
                      tensor::most_samples(model, static_cast<uint64_t>(model.sequence))));
    if (search.codecs.empty())
      error(place("search.codecs"), "search.codecs", "expected at least one; \"none\" is one");
  }

  const std::string file_;
  PlanInput input_;
  Draft draft_;
  config::Experiment experiment_;  // its model is what counts
  std::map<std::string, Location> places_;
  std::vector<ConfigError> errors_;
};

PlanFileResult fail(const Location& where, const std::string& message) {
  PlanFileResult result;
  result.errors.push_back({where, "", message, {}});
  return result;
}

}  // namespace

std::string PlanFileResult::text() const {
  std::string out;
  for (const auto& error : errors) out += error.text() + "\n";
  return out;
}

PlanFileResult parse_plan_file(const std::string& text, const std::string& file) {
  const auto parsed = config::parse_toml(text, file);
  if (!parsed.ok) return fail(parsed.error_location, "not TOML: " + parsed.error);
  return Reader(file).read(parsed.root);
}

PlanFileResult load_plan_file(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    return fail({path, 0, 0}, "cannot read the file: it does not exist or is not a regular file");
  if (std::filesystem::file_size(path, failed) > kMaxFileBytes || failed)
    return fail({path, 0, 0}, "the file is larger than 4 MiB");
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream) return fail({path, 0, 0}, "cannot read the file: permission or disk error");
  return parse_plan_file(text, path);
}

}  // namespace swarm::plan

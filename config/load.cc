// File and overrides -> Experiment: types, ranges and names. What keys mean together is checks.cc.
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "config/checks.h"
#include "config/experiment.h"
#include "config/nearest.h"
#include "config/schema.h"

namespace swarm::config {
namespace {

constexpr size_t kMaxFileBytes = 4u << 20;
constexpr size_t kMaxNodes = 10000;

template <class T>
const Key<T>* find_key(const std::vector<Key<T>>& keys, const std::string& section,
                       const std::string& name) {
  for (const auto& key : keys)
    if (key.section == section && key.name == name) return &key;
  return nullptr;
}

bool is_section(const std::string& name) {
  for (const auto& section : sections())
    if (section.name == name) return true;
  return false;
}

/// Path of a key that is no more -> the path it has now.
const std::map<std::string, std::string>& renamed_keys() {
  static const std::map<std::string, std::string> keys = {
      {"node.drain_limit_s", "node.grace_s"},
  };
  return keys;
}

class Loader {
 public:
  Loader(const std::string& file, Draft& draft) : file_(file), draft_(draft) {}

  void read_root(const Value& root) {
    for (const auto& member : root.members) {
      if (member.name == "nodes") {
        read_tables(member, node_keys(), draft_.experiment.nodes, draft_.places.nodes);
      } else if (member.name == "paths") {
        read_tables(member, path_keys(), draft_.experiment.paths, draft_.places.paths);
      } else if (member.name == "timeline") {
        read_tables(member, timeline_keys(), draft_.experiment.timeline, draft_.places.timeline);
      } else if (is_section(member.name)) {
        read_section(member);
      } else {
        unknown_section(member);
      }
    }
  }

  void apply_override(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string path = text.substr(0, equals);
    const Location where{"--set " + path, 0, 0};
    if (equals == std::string::npos)
      return error(where, "", "expected section.key=value, found " + quote(text));
    const size_t dot = path.find('.');
    const std::string section = path.substr(0, dot);
    if (section == "nodes") return;  // apply_node_override
    if (section == "timeline" || section == "paths")
      return error(where, path, "lists of tables cannot be overridden; edit the file");
    if (dot == std::string::npos || !is_section(section)) return unknown_path(where, path);
    const std::string name = path.substr(dot + 1);
    const auto* key = find_key(experiment_keys(), section, name);
    if (key == nullptr) return unknown_key(where, experiment_keys(), section, name);
    const Value value = override_value(*key, text.substr(equals + 1), where);
    assign(*key, draft_.experiment, value, where, draft_.places.keys);
  }

  /// "nodes.NAME.key=value", after counts were expanded; others are left alone.
  void apply_node_override(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string path = text.substr(0, equals);
    if (equals == std::string::npos || path.substr(0, path.find('.')) != "nodes") return;
    const Location where{"--set " + path, 0, 0};
    const size_t first = path.find('.'), last = path.rfind('.');
    if (first == std::string::npos || last == first || last == first + 1)
      return error(where, path, "expected nodes.NAME.key=value");
    const std::string pattern = path.substr(first + 1, last - first - 1);
    const auto* key = find_key(node_keys(), "nodes", path.substr(last + 1));
    if (key == nullptr) return unknown_key(where, node_keys(), "nodes", path.substr(last + 1));
    if (key->name == "name" || key->name == "count")
      return error(where, path, "is given by the file; edit it");
    const Value value = override_value(*key, text.substr(equals + 1), where);
    std::vector<std::string> names;
    bool found = false;
    for (size_t i = 0; i < draft_.experiment.nodes.size(); ++i) {
      NodeSpec& node = draft_.experiment.nodes[i];
      names.push_back(node.name);
      if (fnmatch(pattern.c_str(), node.name.c_str(), 0) != 0) continue;
      found = true;
      Places::Table& place = draft_.places.nodes[i];
      if (assign(*key, node, value, where, place.keys)) continue;
      place.failed = true;
      break;  // the same value fails everywhere
    }
    if (!found) error(where, path, "there is no node " + quote(pattern), nearest(pattern, names));
  }

 private:
  void read_section(const Value::Member& member) {
    if (member.value.kind != Value::Kind::kTable)
      return error(member.value.location, member.name,
                   "expected the section [" + member.name + "], found " + member.value.describe());
    draft_.places.sections[member.name] = member.location;
    for (const auto& entry : member.value.members) {
      const auto* key = find_key(experiment_keys(), member.name, entry.name);
      if (key == nullptr) {
        unknown_key(entry.location, experiment_keys(), member.name, entry.name);
      } else {
        assign(*key, draft_.experiment, entry.value, entry.location, draft_.places.keys);
      }
    }
  }

  template <class T>
  void read_tables(const Value::Member& member, const std::vector<Key<T>>& keys,
                   std::vector<T>& out, std::vector<Places::Table>& places) {
    const std::string expected = "expected [[" + member.name + "]] (tables in a list), found ";
    if (member.value.kind != Value::Kind::kArray)
      return error(member.value.location, member.name, expected + member.value.describe());
    for (const auto& item : member.value.items) {
      if (item.kind != Value::Kind::kTable) {
        error(item.location, member.name, expected + item.describe());
        continue;
      }
      Places::Table place;
      place.self = item.location;
      T target;
      for (const auto& entry : item.members) {
        const auto* key = find_key(keys, member.name, entry.name);
        if (key == nullptr) {
          unknown_key(entry.location, keys, member.name, entry.name);
        } else {
          place.failed |= !assign(*key, target, entry.value, entry.location, place.keys);
        }
      }
      out.push_back(std::move(target));
      places.push_back(std::move(place));
    }
  }

  template <class T>
  bool assign(const Key<T>& key, T& target, const Value& value, const Location& where,
              std::map<std::string, Location>& places) {
    places[key.path()] = where;
    const Value* bad = key.set(target, value);
    if (bad == nullptr) return true;
    draft_.failed_sections.insert(key.section);
    std::string suggestion;
    if (bad->kind == Value::Kind::kString) suggestion = nearest(bad->text, key.choices);
    error(bad->location, key.path(), "expected " + key.expected + ", found " + bad->describe(),
          suggestion);
    return false;
  }

  /// TOML if it is TOML; else the text itself. String keys take any text but a quoted string.
  template <class T>
  Value override_value(const Key<T>& key, const std::string& text, const Location& where) {
    ParsedToml parsed = parse_toml("v = " + text + "\n", where.file);
    const bool single = parsed.ok && parsed.root.members.size() == 1;
    Value value;
    if (single) value = parsed.root.members[0].value;
    if (!single || (key.is_text && value.kind != Value::Kind::kString)) {
      value = Value();
      value.kind = Value::Kind::kString;
      parsed = parse_toml("v = " + quote(text) + "\n", where.file);  // refuses what is not UTF-8
      if (parsed.ok) value.text = text;
      if (!parsed.ok) value.kind = Value::Kind::kOther;
    }
    if (key.is_array && value.kind != Value::Kind::kArray) {
      Value array;
      array.kind = Value::Kind::kArray;
      array.items.push_back(value);
      value = std::move(array);
    }
    relocate(value, where);
    return value;
  }

  static void relocate(Value& value, const Location& where) {
    value.location = where;
    for (auto& item : value.items) relocate(item, where);
  }

  template <class T>
  void unknown_key(const Location& where, const std::vector<Key<T>>& keys,
                   const std::string& section, const std::string& name) {
    std::vector<std::string> near, paths;
    for (const auto& key : keys)
      if (key.section == section) near.push_back(key.name);
    const std::string path = section + "." + name;
    if (const auto now = renamed_keys().find(path); now != renamed_keys().end())
      return error(where, path, "is called " + now->second + " now");
    std::string suggestion = nearest(name, near);
    for (const auto& key : experiment_keys())
      if (suggestion.empty() && key.name == name) suggestion = key.path();
    error(where, path, "unknown key", suggestion);
  }

  void unknown_section(const Value::Member& member) {
    std::vector<std::string> names = {"nodes", "paths", "timeline"};
    for (const auto& section : sections()) names.push_back(section.name);
    std::string suggestion = nearest(member.name, names);
    for (const auto& key : experiment_keys())
      if (suggestion.empty() && key.name == member.name) suggestion = key.path();
    error(member.location, member.name,
          member.value.kind == Value::Kind::kTable ? "unknown section"
                                                   : "unknown key outside of "
                                                     "any section",
          suggestion);
  }

  void unknown_path(const Location& where, const std::string& path) {
    std::vector<std::string> paths;
    for (const auto& key : experiment_keys()) paths.push_back(key.path());
    std::string suggestion = nearest(path, paths);
    for (const auto& key : experiment_keys())
      if (suggestion.empty() && key.name == path) suggestion = key.path();
    error(where, path, "unknown section", suggestion);
  }

  void error(const Location& where, const std::string& key, const std::string& message,
             const std::string& suggestion = {}) {
    draft_.errors.push_back({where, key, message, suggestion});
  }

  std::string file_;
  Draft& draft_;
};

/// NAME with count > 1 becomes NAME-0, NAME-1, ...; places follow.
void expand_counts(Draft& draft) {
  std::vector<NodeSpec> nodes;
  std::vector<Places::Table> places;
  for (size_t i = 0; i < draft.experiment.nodes.size(); ++i) {
    const NodeSpec& spec = draft.experiment.nodes[i];
    for (int32_t c = 0; c < spec.count; ++c) {
      if (nodes.size() == kMaxNodes) {
        draft.errors.push_back({draft.places.nodes[i].self, "nodes", "more than 10000 nodes", {}});
        return;
      }
      nodes.push_back(spec);
      nodes.back().count = 1;
      if (spec.count > 1) nodes.back().name += fmt::format("-{}", c);
      places.push_back(draft.places.nodes[i]);
    }
  }
  draft.experiment.nodes = std::move(nodes);
  draft.places.nodes = std::move(places);
}

/// Keys that stand for several members.
void resolve(Experiment& e) {
  e.base.model.seed = e.base.data.seed = e.base.training.seed = e.run.seed;
  e.base.trainer_options.estimates = e.base.stage_server.estimates = e.estimates;
  for (auto& event : e.timeline) event.link.node = event.node;
  e.base.trainer_options.wiring = e.base.stage_server.wiring = e.wiring;
  if (e.base.optimizer.schedule != tensor::Schedule::kConstant && e.base.optimizer.total_steps == 0)
    e.base.optimizer.total_steps = e.base.training.steps;
  e.base.config_fingerprint = fingerprint(e);
  e.base.older_fingerprint = older_fingerprint(e);
  e.base.run_id =
      e.run.id.empty() ? e.run.name + "-" + e.base.config_fingerprint.substr(0, 12) : e.run.id;
}

ExperimentResult fail(std::vector<ConfigError> errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const auto& a, const auto& b) {
    auto rank = [](const ConfigError& e) {
      return std::make_tuple(e.where.line == 0, e.where.line, e.where.column);
    };
    return rank(a) < rank(b);
  });
  ExperimentResult result;
  result.errors = std::move(errors);
  return result;
}

/// One error ends the loading.
ExperimentResult fail(const Location& where, const std::string& message) {
  ExperimentResult result;
  result.errors.resize(1);
  result.errors[0].where = where;
  result.errors[0].message = message;
  return result;
}

}  // namespace

ExperimentResult parse_experiment(const std::string& text, const std::string& file,
                                  const std::vector<std::string>& overrides, Timeline timeline) {
  if (text.size() > kMaxFileBytes)
    return fail({file, 1, 1}, "the file is larger than 4 MiB; is it a config?");
  ParsedToml parsed = parse_toml(text, file);
  if (!parsed.ok) return fail(parsed.error_location, "not TOML: " + parsed.error);
  auto& members = parsed.root.members;
  if (timeline == Timeline::kIgnore)
    members.erase(std::remove_if(members.begin(), members.end(),
                                 [](const auto& member) { return member.name == "timeline"; }),
                  members.end());
  Draft draft;
  draft.places.file = {file, 1, 1};
  Loader loader(file, draft);
  loader.read_root(parsed.root);
  for (const auto& item : overrides) loader.apply_override(item);
  expand_counts(draft);
  for (const auto& item : overrides) loader.apply_node_override(item);
  resolve(draft.experiment);
  check(draft);
  if (!draft.errors.empty()) return fail(std::move(draft.errors));
  ExperimentResult result;
  result.experiment = std::move(draft.experiment);
  return result;
}

ExperimentResult load_experiment(const std::string& path, const std::vector<std::string>& overrides,
                                 Timeline timeline) {
  auto unreadable = [&](const std::string& why) {
    return fail({path, 0, 0}, "cannot read the file: " + why);
  };
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return unreadable("it does not exist or is not accessible");
  if (!S_ISREG(info.st_mode)) return unreadable("it is not a regular file");
  if (static_cast<size_t>(info.st_size) > kMaxFileBytes) return unreadable("larger than 4 MiB");
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return unreadable("permission or disk error");
  return parse_experiment(text.str(), path, overrides, timeline);
}

std::string ConfigError::text() const {
  std::string out = where.file;
  if (where.line > 0) out += fmt::format(":{}:{}", where.line, where.column);
  out += ": ";
  const bool named = out == "--set " + key + ": ";
  if (!key.empty() && !named) out += key + ": ";
  out += message;
  if (!suggestion.empty()) out += "; did you mean \"" + suggestion + "\"?";
  return out;
}

std::string ExperimentResult::text() const {
  std::string out;
  for (const auto& error : errors) out += error.text() + "\n";
  return out;
}

}  // namespace swarm::config

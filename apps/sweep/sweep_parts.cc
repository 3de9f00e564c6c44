#include "apps/sweep/sweep_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/nearest.h"

namespace swarm::sweep {
namespace {

using config::ConfigError;
using config::Location;
using config::Value;

constexpr int64_t kMaxSeed = 9'000'000'000'000'000;  // as run.seed
constexpr double kMaxLoss = 100;

bool is_bare(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}

class Reader {
 public:
  explicit Reader(Parts& parts) : parts_(parts) {}

  void read(const Value& root) {
    for (const auto& member : root.members) {
      if (member.name == "sweep") {
        if (is_table(member)) read_sweep(member.value);
      } else if (member.name == "set") {
        if (is_table(member)) flatten(member.value, "", "set", parts_.common);
      } else if (member.name == "axes") {
        if (is_table(member)) read_axes(member.value, "");
      } else if (member.name == "variant") {
        read_variants(member);
      } else {
        error(member.location, member.name,
              "unknown section of a sweep; there are [sweep], [set], [axes] and [[variant]]",
              config::nearest(member.name, {"sweep", "set", "axes", "variant"}));
      }
    }
    if (parts_.base.empty() && !base_failed_)
      error({root.location.file, 1, 1}, "sweep.base",
            "missing: the experiment file, relative to this one's folder");
    check_clashes();
    check_baseline();
  }

 private:
  void error(const Location& where, const std::string& key, const std::string& message,
             const std::string& suggestion = {}) {
    parts_.errors.push_back({where, key, message, suggestion});
  }

  bool is_table(const Value::Member& member) {
    if (member.value.kind == Value::Kind::kTable) return true;
    error(member.value.location, member.name,
          "expected the section [" + member.name + "], found " + member.value.describe());
    return false;
  }

  void read_sweep(const Value& table) {
    for (const auto& member : table.members) {
      const Value& value = member.value;
      const std::string key = "sweep." + member.name;
      if (member.name == "name") {
        if (value.kind != Value::Kind::kString || !config::is_name(value.text))
          error(value.location, key,
                "expected 1 to 64 of [A-Za-z0-9_.-], found " + value.describe());
        parts_.name = value.text;
      } else if (member.name == "base") {
        base_failed_ = value.kind != Value::Kind::kString || value.text.empty();
        if (base_failed_)
          error(value.location, key, "expected an experiment file, found " + value.describe());
        parts_.base = value.text;
        parts_.base_where = value.location;
      } else if (member.name == "seeds") {
        read_seeds(value, "sweep.seeds", parts_.seeds);
      } else if (member.name == "baseline") {
        if (value.kind != Value::Kind::kString || value.text.empty())
          error(value.location, key, "expected the name of a variant, found " + value.describe());
        parts_.baseline = value.text;
        baseline_where_ = value.location;
      } else if (member.name == "target_loss") {
        read_target(value);
      } else {
        error(member.location, key, "unknown key",
              config::nearest(member.name, {"name", "base", "seeds", "baseline", "target_loss"}));
      }
    }
  }

  void read_seeds(const Value& value, const std::string& key, std::vector<uint64_t>& out) {
    if (value.kind != Value::Kind::kArray || value.items.empty())
      return error(value.location, key,
                   "expected at least one seed, as in [1, 2, 3], found " + value.describe());
    out.clear();
    std::set<int64_t> seen;
    for (const auto& item : value.items) {
      if (item.kind != Value::Kind::kInteger || item.integer < 0 || item.integer > kMaxSeed)
        error(item.location, key,
              fmt::format("expected an integer from 0 to {}, found {}", kMaxSeed, item.describe()));
      else if (!seen.insert(item.integer).second)
        error(item.location, key,
              fmt::format("the seed {} is listed twice; remove one", item.integer));
      else
        out.push_back(static_cast<uint64_t>(item.integer));
    }
  }

  void read_target(const Value& value) {
    double loss = value.number;
    if (value.kind == Value::Kind::kInteger) loss = static_cast<double>(value.integer);
    const bool is_number = value.kind == Value::Kind::kInteger || value.kind == Value::Kind::kFloat;
    if (!is_number || !(loss > 0 && loss <= kMaxLoss))
      return error(value.location, "sweep.target_loss",
                   fmt::format("expected a loss above 0 and up to {} [nats per token], found {}",
                               kMaxLoss, value.describe()));
    parts_.target_loss = loss;
  }

  /// What a sweep decides itself.
  bool is_reserved(const std::string& section, const std::string& key, const Location& where) {
    static const std::set<std::string> keys = {"run.seed", "run.name", "run.folder", "run.id"};
    if (keys.count(key) == 0) return false;
    error(where, section + "." + key,
          key == "run.seed" ? "is given by sweep.seeds; remove it"
                            : "is given by the sweep to each of its runs; remove it");
    return true;
  }

  /// Nested tables and dotted names alike: [set] optimizer.beta1 = 0.9.
  void flatten(const Value& table, const std::string& prefix, const std::string& section,
               std::vector<Assignment>& out) {
    for (const auto& member : table.members) {
      const std::string key = prefix.empty() ? member.name : prefix + "." + member.name;
      if (member.value.kind == Value::Kind::kTable) {
        flatten(member.value, key, section, out);
      } else if (!is_reserved(section, key, member.location)) {
        out.push_back({key, print_value(member.value), member.location});
      }
    }
  }

  void read_axes(const Value& table, const std::string& prefix) {
    for (const auto& member : table.members) {
      const std::string key = prefix.empty() ? member.name : prefix + "." + member.name;
      if (member.value.kind == Value::Kind::kTable) {
        read_axes(member.value, key);
      } else if (!is_reserved("axes", key, member.location)) {
        read_axis(member, key);
      }
    }
  }

  void read_axis(const Value::Member& member, const std::string& key) {
    const Value& value = member.value;
    if (value.kind != Value::Kind::kArray)
      return error(value.location, "axes." + key,
                   "expected a list of values, as in [1, 2], found " + value.describe());
    if (value.items.empty())
      return error(value.location, "axes." + key,
                   "an axis without values means no run at all; list values or remove the key");
    Axis axis{key, member.location, {}};
    std::set<std::string> seen;
    for (const auto& item : value.items) {
      axis.values.push_back({key, print_value(item), item.location});
      if (!seen.insert(axis.values.back().value).second)
        error(item.location, "axes." + key,
              "the value " + axis.values.back().value + " is listed twice; remove one");
    }
    parts_.axes.push_back(std::move(axis));
  }

  void read_variants(const Value::Member& member) {
    const std::string expected = "expected [[variant]] (tables in a list), found ";
    if (member.value.kind != Value::Kind::kArray)
      return error(member.value.location, "variant", expected + member.value.describe());
    std::set<std::string> names;
    for (const auto& item : member.value.items) {
      if (item.kind != Value::Kind::kTable) {
        error(item.location, "variant", expected + item.describe());
        continue;
      }
      read_variant(item, names);
    }
  }

  /// Removes a member of `table` and returns its value.
  static std::optional<Value> take(Value& table, const std::string& name) {
    const auto at = std::find_if(table.members.begin(), table.members.end(),
                                 [&](const auto& member) { return member.name == name; });
    if (at == table.members.end()) return std::nullopt;
    Value value = at->value;
    table.members.erase(at);
    return value;
  }

  void read_variant(const Value& table, std::set<std::string>& names) {
    Variant variant;
    variant.where = table.location;
    Value settings = table;
    if (const auto name = take(settings, "name")) {
      variant.name = name->text;
      if (name->kind != Value::Kind::kString || !config::is_name(name->text))
        error(name->location, "variant.name",
              "expected 1 to 64 of [A-Za-z0-9_.-], found " + name->describe());
      else if (!names.insert(name->text).second)
        error(name->location, "variant.name",
              "there is another variant " + config::quote(name->text) + "; rename one");
    } else {
      error(table.location, "variant.name", "missing: every [[variant]] has a name");
    }
    if (const auto seeds = take(settings, "seeds"))
      read_seeds(*seeds, "variant.seeds", variant.seeds);
    flatten(settings, "", "variant", variant.assignments);
    parts_.variants.push_back(std::move(variant));
  }

  /// An axis over what a variant sets would silently undo the variant.
  void check_clashes() {
    for (const auto& variant : parts_.variants)
      for (const auto& assignment : variant.assignments)
        for (const auto& axis : parts_.axes)
          if (axis.key == assignment.key)
            error(assignment.where, "variant." + axis.key,
                  "is an axis too; remove it here or from [axes]");
  }

  void check_baseline() {
    if (parts_.baseline.empty()) return;
    std::vector<std::string> names;
    for (const auto& variant : parts_.variants) names.push_back(variant.name);
    if (std::find(names.begin(), names.end(), parts_.baseline) != names.end()) return;
    error(baseline_where_, "sweep.baseline",
          "there is no variant " + config::quote(parts_.baseline),
          config::nearest(parts_.baseline, names));
  }

  Parts& parts_;
  Location baseline_where_;
  bool base_failed_ = false;
};

}  // namespace

std::string print_value(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kBool:
      return value.boolean ? "true" : "false";
    case Value::Kind::kInteger:
      return std::to_string(value.integer);
    case Value::Kind::kFloat:
      return config::print_float(value.number);
    case Value::Kind::kString:
      return config::quote(value.text);
    case Value::Kind::kArray: {
      std::string out = "[";
      for (const auto& item : value.items) out += (out.size() > 1 ? ", " : "") + print_value(item);
      return out + "]";
    }
    case Value::Kind::kTable: {
      std::string out = "{";
      for (const auto& member : value.members)
        out += (out.size() > 1 ? ", " : " ") +
               (is_bare(member.name) ? member.name : config::quote(member.name)) + " = " +
               print_value(member.value);
      return out + " }";
    }
    case Value::Kind::kOther:
      break;
  }
  return "\"(a date or time)\"";  // no key takes one: refused with the experiment
}

Parts read_parts(const Value& root, const std::string& file) {
  Parts parts;
  parts.name = std::filesystem::path(file).stem().string();
  if (!config::is_name(parts.name)) parts.name = "sweep";
  parts.seeds = {1};
  Reader(parts).read(root);
  return parts;
}

}  // namespace swarm::sweep

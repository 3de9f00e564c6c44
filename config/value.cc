#include "config/value.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <tuple>

namespace swarm::config {
namespace {

Location to_location(const toml::source_region& region, const std::string& file) {
  return {file, region.begin.line, region.begin.column};
}

Value to_value(const toml::node& node, const std::string& file);

void fill_table(Value& out, const toml::table& table, const std::string& file) {
  out.kind = Value::Kind::kTable;
  for (const auto& [key, child] : table)
    out.members.push_back(
        {std::string(key.str()), to_location(key.source(), file), to_value(child, file)});
  std::stable_sort(out.members.begin(), out.members.end(), [](const auto& a, const auto& b) {
    return std::tie(a.location.line, a.location.column) <
           std::tie(b.location.line, b.location.column);
  });
}

Value to_value(const toml::node& node, const std::string& file) {
  Value out;
  out.location = to_location(node.source(), file);
  if (const auto* table = node.as_table()) {
    fill_table(out, *table, file);
  } else if (const auto* array = node.as_array()) {
    out.kind = Value::Kind::kArray;
    for (const auto& item : *array) out.items.push_back(to_value(item, file));
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = Value::Kind::kBool;
    out.boolean = boolean->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Value::Kind::kInteger;
    out.integer = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    out.kind = Value::Kind::kFloat;
    out.number = number->get();
  } else if (const auto* text = node.as_string()) {
    out.kind = Value::Kind::kString;
    out.text = text->get();
  }
  return out;
}

}  // namespace

std::string Value::describe() const {
  switch (kind) {
    case Kind::kBool:
      return boolean ? "true" : "false";
    case Kind::kInteger:
      return fmt::format("the integer {}", integer);
    case Kind::kFloat:
      return "the number " + print_float(number);
    case Kind::kString:
      return "the string " + quote(text.size() > 60 ? text.substr(0, 57) + "..." : text);
    case Kind::kArray:
      return fmt::format("an array of {}", items.size());
    case Kind::kTable:
      return "a table";
    case Kind::kOther:
      break;
  }
  return "a date or time";
}

ParsedToml parse_toml(const std::string& text, const std::string& file) {
  ParsedToml out;
  try {
    const toml::table table = toml::parse(text);
    out.root.location = {file, 1, 1};
    fill_table(out.root, table, file);
    out.ok = true;
  } catch (const toml::parse_error& error) {
    out.error_location = to_location(error.source(), file);
    out.error = std::string(error.description());
  } catch (const std::exception& error) {
    out.error_location = {file, 1, 1};
    out.error = error.what();
  }
  return out;
}

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04X", byte);
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string print_float(double number) {
  char buffer[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, number);
    if (std::strtod(buffer, nullptr) == number) break;
  }
  std::string out = buffer;
  if (out.find_first_of(".eni") == std::string::npos) out += ".0";
  return out;
}

}  // namespace swarm::config

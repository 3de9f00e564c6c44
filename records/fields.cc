#include "records/fields.h"

#include <cmath>
#include <cstdlib>

#include "common/hex.h"

namespace swarm::records {

const char* const Reader::kInner = "inner";

std::optional<ErrorCode> error_code_of(const std::string& name) {
  const std::string unknown = to_string(static_cast<ErrorCode>(255));
  for (unsigned number = 0; number < 255; ++number) {
    const auto code = static_cast<ErrorCode>(number);
    if (to_string(code) == name && name != unknown) return code;
  }
  return std::nullopt;
}

Value Writer::value(Millis member) { return {std::round(member.count() * 1000) / 1000}; }
Value Writer::value(Hex member) { return {swarm::hex(member.value)}; }
Value Writer::value(const PeerId& member) { return {member.node.hex() + "/" + member.actor}; }

void Reader::read_error(const char* key, const Value* found, Error& member) {
  if (found == nullptr) return note(std::string("has no `") + key + "`");
  const auto code = found->text() != nullptr ? error_code_of(*found->text()) : std::nullopt;
  if (!code) note(std::string("`") + key + "` is no error code");
  member.code = code.value_or(ErrorCode::kInternal);
  (*this)("reason", member.detail);
}

const char* Reader::read(const Value& value, bool& member) {
  const auto* found = std::get_if<bool>(&value.data);
  if (found == nullptr) return "is neither true nor false";
  member = *found;
  return nullptr;
}

const char* Reader::read(const Value& value, double& member) {
  const auto found = value.number();
  if (!found && !value.is_null()) return "is no number";
  member = found.value_or(std::numeric_limits<double>::quiet_NaN());
  return nullptr;
}

const char* Reader::read(const Value& value, std::string& member) {
  if (value.text() == nullptr) return "is no text";
  member = *value.text();
  return nullptr;
}

const char* Reader::read(const Value& value, Millis& member) {
  const auto found = value.number();
  if (!found) return "is no number";
  member = Millis(*found);
  return nullptr;
}

const char* Reader::read(const Value& value, Hex& member) {
  const std::string* digits = value.text();
  if (digits == nullptr || digits->size() != 16 ||
      digits->find_first_not_of("0123456789abcdef") != std::string::npos)
    return "is not 16 hex digits";
  member.value = std::strtoull(digits->c_str(), nullptr, 16);
  return nullptr;
}

const char* Reader::read(const Value& value, PeerId& member) {
  const std::string name = value.text() != nullptr ? *value.text() : std::string();
  const size_t slash = name.find('/');
  const auto node = NodeId::from_hex(name.substr(0, slash));
  if (!node || slash == std::string::npos) return "is not NODE_ID/ACTOR";
  member = {*node, name.substr(slash + 1)};
  return nullptr;
}

const char* Reader::read(const Value& value, NodeId& member) {
  const auto id = NodeId::from_hex(value.text() != nullptr ? *value.text() : std::string());
  if (!id) return "is not 32 hex digits";
  member = *id;
  return nullptr;
}

const char* Reader::read(const Value& value, Endpoint& member) {
  const auto endpoint = Endpoint::parse(value.text() != nullptr ? *value.text() : std::string());
  if (!endpoint) return "is not HOST:PORT";
  member = *endpoint;
  return nullptr;
}

const char* Reader::read_whole(const Value& value, int64_t least, uint64_t most, uint64_t& member) {
  const char* wrong = "is no whole number in its range";
  if (const auto* found = std::get_if<int64_t>(&value.data)) {
    if (*found < least || (*found >= 0 && static_cast<uint64_t>(*found) > most)) return wrong;
    member = static_cast<uint64_t>(*found);
    return nullptr;
  }
  const auto found = value.whole();
  if (!found || *found > most) return wrong;
  member = *found;
  return nullptr;
}

}  // namespace swarm::records

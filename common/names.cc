#include "common/names.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace swarm {
namespace {

const std::string kStagePrefix = "stage/";
const std::string kAsidePrefix = kAsideStreams;

struct RoleRow {
  Role role;
  const char* name;
  bool has_place;
};

constexpr RoleRow kRoles[] = {
    {Role::kStage, "stage", true},
    {Role::kCompute, "compute", true},
    {Role::kCheckpointer, "checkpointer", true},
    {Role::kAverager, "averager", true},
    {Role::kState, "state", true},
    {Role::kMirror, "mirror", true},
    {Role::kCoordinator, "coordinator", false},
    {Role::kTrainer, "trainer", false},
    {Role::kVoter, "voter", false},
};

const RoleRow& row_of(Role role) {
  return *std::find_if(std::begin(kRoles), std::end(kRoles),
                       [role](const RoleRow& row) { return row.role == role; });
}

/// A number as std::to_string() writes it.
std::optional<uint32_t> number(const std::string& digits) {
  const bool plain = !digits.empty() && digits.size() <= 9 &&
                     std::all_of(digits.begin(), digits.end(),
                                 [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!plain || (digits.size() > 1 && digits[0] == '0')) return {};
  return static_cast<uint32_t>(std::stoul(digits));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words{""};
  for (char c : text)
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

}  // namespace

bool is_name(const std::string& text) {
  if (text.empty() || text.size() > 64 || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

std::string name_key(const std::string& node_name) { return "name/" + node_name; }

std::string stage_key(uint32_t stage) { return kStagePrefix + std::to_string(stage); }

bool is_stage_key(const std::string& key) {
  return key.compare(0, kStagePrefix.size(), kStagePrefix) == 0;
}

std::string aside_key(const std::string& name, const std::string& stream) {
  return kAsidePrefix + name + "/" + stream;
}

std::string aside_of(const std::string& key) {
  const bool is_one = key.compare(0, kAsidePrefix.size(), kAsidePrefix) == 0;
  const size_t end = is_one ? key.find('/', kAsidePrefix.size()) : std::string::npos;
  return end == std::string::npos ? "" : key.substr(end + 1);
}

std::string aside_name(const std::string& key) {
  const std::string stream = aside_of(key);
  if (stream.empty()) return "";
  return key.substr(kAsidePrefix.size(), key.size() - kAsidePrefix.size() - stream.size() - 1);
}

std::string subkey_of(const NodeId& node) { return node.hex(); }

std::string subkey_of(const ActorId& actor) { return actor.node.hex() + "/" + actor.actor; }

bool writes(const NodeId& node, const std::string& subkey) {
  const std::string own = node.hex();
  return subkey.compare(0, own.size(), own) == 0 &&
         (subkey.size() == own.size() || subkey[own.size()] == '/');
}

std::string RoleName::text() const {
  const RoleRow& row = row_of(role);
  std::string out = row.name;
  if (row.has_place) out += "." + std::to_string(place);
  if (life > 0) out += "." + std::to_string(life);
  return out;
}

std::optional<RoleName> RoleName::parse(const std::string& text) {
  const auto words = split(text);
  const auto* row = std::find_if(std::begin(kRoles), std::end(kRoles),
                                 [&](const RoleRow& r) { return r.name == words[0]; });
  if (row == std::end(kRoles)) return {};
  RoleName out{row->role};
  size_t next = 1;
  if (row->has_place) {
    auto place = next < words.size() ? number(words[next++]) : std::nullopt;
    if (!place) return {};
    out.place = *place;
  }
  if (next < words.size()) {
    auto life = number(words[next++]);
    if (!life || *life == 0) return {};
    out.life = *life;
  }
  if (next < words.size()) return {};
  return out;
}

ActorId beside(const PeerId& peer, Role role) {
  auto name = RoleName::parse(peer.actor);
  return {peer.node, name ? name->with(role).text() : ""};
}

bool same_role(const ActorId& a, const ActorId& b) {
  if (a.node != b.node) return false;
  auto first = RoleName::parse(a.actor), second = RoleName::parse(b.actor);
  if (!first || !second) return a.actor == b.actor;
  return first->role == second->role && first->place == second->place;
}

}  // namespace swarm

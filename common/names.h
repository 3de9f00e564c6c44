/// The names by which the parts of a swarm find one another: actors of roles, keys in the
/// distributed table, streams of snapshots. Written and read here only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "common/ids.h"

namespace swarm {

// Actors that every node has one of.
constexpr const char* kSupervisorName = "supervisor";
constexpr const char* kConsoleName = "console";
constexpr const char* kDhtName = "dht";
constexpr const char* kEchoName = "echo";
constexpr const char* kDialBackName = "dial_back";
constexpr const char* kRecordsName = "records";
constexpr const char* kCallBackName = "call_back";
constexpr const char* kVoterName = "voter";  ///< In each of its lives.

/// Key in the distributed table under which coordinators announce themselves.
constexpr const char* kCoordinatorKey = "coordinator";
/// What the names of nodes, runs and actors must be: 1 to 64 of [A-Za-z0-9_.-], not "." or "..": fit for
/// a folder, a log and a terminal, whoever says them.
bool is_name(const std::string& text);

/// "name/trainer-a": key under which a node claims its name.
std::string name_key(const std::string& node_name);
/// "stage/2": key under which the peers of a stage announce themselves, and the stream of the
/// stage's snapshots in a checkpoint store.
std::string stage_key(uint32_t stage);
bool is_stage_key(const std::string& key);
constexpr const char* kAsideStreams = "aside/";
/// "aside/1/stage/2": where a checkpoint store keeps what is set aside of a stream, under the name "1".
std::string aside_key(const std::string& name, const std::string& stream);
/// The name for what lay there before a part went on without the rest.
constexpr const char* kAsideBefore = "before";
/// The stream that this one was set aside of; "": it was of none.
std::string aside_of(const std::string& key);
/// Under which name; "": it does not lie aside.
std::string aside_name(const std::string& key);

/// Under which a node, or one of its actors, writes into the distributed table: "<32 hex digits>" and
/// "<32 hex digits>/stage.0". Whoever reads a record believes it of no other node.
std::string subkey_of(const NodeId& node);
std::string subkey_of(const ActorId& actor);
/// Whether `subkey` is one of those of `node`.
bool writes(const NodeId& node, const std::string& subkey);

/// What an actor of a node's roles does.
enum class Role : uint8_t {
  kStage,         ///< StageServer
  kCompute,       ///< Its stage's thread.
  kCheckpointer,  ///< Writes and reads its snapshots.
  kAverager,      ///< Takes part in its all-reduce.
  kState,         ///< Hands its state to neighbours and fetches theirs.
  kMirror,        ///< Copies its snapshots to a folder, and back.
  kCoordinator,
  kTrainer,
  kVoter,  ///< Its node's, for all its roles.
};

/// The name of one such actor: "stage.0", the first stage of its node; "averager.0", which belongs
/// to it; "stage.0.1", "trainer.1", their second lives. A role that is started again gets the next
/// life: what it held in memory is lost, so it must not be taken for its predecessor.
struct RoleName {
  Role role = Role::kStage;
  uint32_t place = 0;  ///< Among the node's stages; 0 for coordinator and trainer, and not written.
  uint32_t life = 0;   ///< 0 is not written.

  std::string text() const;
  /// Exactly what text() writes; nothing for other texts.
  static std::optional<RoleName> parse(const std::string& text);
  /// Another role of the same place and life.
  RoleName with(Role other) const { return {other, place, life}; }

  friend bool operator==(const RoleName& a, const RoleName& b) {
    return a.role == b.role && a.place == b.place && a.life == b.life;
  }
  friend bool operator<(const RoleName& a, const RoleName& b) {
    return std::tie(a.place, a.role, a.life) < std::tie(b.place, b.role, b.life);
  }
};

/// The actor that does `role` beside `peer`: "stage.0" -> "averager.0" of the same node. One that
/// does not exist (an empty name) if `peer` is named like no role.
ActorId beside(const PeerId& peer, Role role);

/// Both are the same role of the same node, in one life or in two.
bool same_role(const ActorId& a, const ActorId& b);

}  // namespace swarm

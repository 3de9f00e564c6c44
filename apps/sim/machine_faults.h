/// What goes wrong within one machine: its roles, its disk, its address, its arithmetic, and the
/// people who send it orders. Drawn and carried out for FaultInjector, whose table names them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/sim/agenda.h"
#include "apps/sim/random.h"
#include "apps/sim/swarm.h"

namespace swarm::sim {

class MachineFaults {
 public:
  struct Hooks {
    std::function<void(const std::string& node, const std::string& what)> log;
    std::function<void(const std::string&node)> kill, start;
    /// The disk is no longer what its node wrote.
    std::function<void(const std::string& node)> disk_lost;
    /// The node is needed for good, as it is: its stage has nobody else.
    std::function<bool(const std::string& node)> is_spared;
    /// Of its parameters or moments; null: none does.
    std::function<void(const std::string& node)> bit_turned;
    std::set<std::string>* gone = nullptr;  ///< Nodes that are not started any more.
  };
  /// All outlive this.
  MachineFaults(Swarm& swarm, Random& random, Agenda& agenda, Hooks hooks)
      : swarm_(swarm), random_(random), agenda_(agenda), hooks_(std::move(hooks)) {}

  // Each draws one fault and lets it happen.
  void draw_roles();       ///< The actors of a role fail and are started anew in their process.
  void draw_disk();        ///< Writes fail or are slow, or what was written is lost.
  void draw_drain();       ///< SIGTERM: the node leaves in order, and comes back.
  void draw_move();        ///< kill -9, and back under another address.
  void draw_orders();      ///< Somebody asks for a checkpoint again and again.
  void draw_lost_stage();  ///< All disks of a stage are wiped, of which others have copies.
  void draw_dead_stage();  ///< All nodes of a stage leave for good, of which others have copies.
  void draw_operator();    ///< Somebody moves peers by hand, again and again.
  void draw_not_finite();  ///< A microbatch at one peer, or wherever it is computed.

  void draw_bits();  ///< A bit of a gradient sum turns, or of a snapshot, or of a state.

  /// Disks and arithmetic are well again; who was leaving has left.
  void heal();

 private:
  using Names = std::vector<std::string>;
  void draw_lost_disk();  ///< Wiped, or as it was some seconds ago.
  void draw_state_bit();  ///< Of parameters or moments, while replicas can tell.
  Names living(bool peers_only) const;
  /// One of them, "" if there is none.
  std::string draw_one(const Names& names);
  /// Of one and the same step of every stage, on disks of living nodes.
  bool others_have_copies(const Names& without) const;
  /// Another has all that it has: nothing would be lost with it.
  bool has_living_replica(const std::string& name) const;
  void replace_disk(const std::string& name, std::function<Disk()> with, const std::string& what);

  Swarm& swarm_;
  Random& random_;
  Agenda& agenda_;
  Hooks hooks_;
  std::map<std::string, DeterministicSystem::Owner> leaving_;  ///< Processes.
  std::set<int> turned_;  ///< Stages one of whose peers has had a bit turned.
};

}  // namespace swarm::sim

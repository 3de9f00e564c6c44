#include "apps/sim/machine_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/net/mail_kinds.h"
#include "apps/sim/copies.h"

namespace swarm::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// A node that SIGTERM has not ended by then is killed: the default of node.grace_s.
constexpr seconds kGrace{25};

std::string in_seconds(nanoseconds time) {
  return fmt::format("{:.3f} s", std::chrono::duration<double>(time).count());
}

}  // namespace

MachineFaults::Names MachineFaults::living(bool peers_only) const {
  Names names;
  for (const auto& [name, node] : swarm_.nodes)
    if (node.alive && !node.paused && (!peers_only || node.stage >= 0)) names.push_back(name);
  return names;
}

std::string MachineFaults::draw_one(const Names& names) {
  return names.empty() ? "" : names[random_.below(names.size())];
}

bool MachineFaults::has_living_replica(const std::string& name) const {
  const auto& own = swarm_.nodes.at(name);
  const int stage = own.stage;
  const bool counts = own.arithmetic != nullptr && !swarm_.training.asynchronous();
  return std::any_of(swarm_.nodes.begin(), swarm_.nodes.end(), [&](const auto& entry) {
    const auto& [other, node] = entry;
    return other != name && node.stage == stage && node.alive && node.arithmetic != nullptr &&
           node.arithmetic->state().is_set() &&
           (!counts || node.arithmetic->step() >= own.arithmetic->step());
  });
}

void MachineFaults::draw_roles() {
  nanoseconds when{0};
  for (uint64_t times = 1 + random_.below(3); times > 0; --times) {
    const auto name = draw_one(living(false));
    if (name.empty()) return;
    agenda_.later(when, [this, name] {
      const auto& node = swarm_.nodes.at(name);
      if (!node.alive || node.paused) return;
      hooks_.log(name, "FAULT its role fails and is started anew");
      swarm_.restart_role(name);
    });
    when += random_.spread(milliseconds(20), seconds(2));
  }
}

void MachineFaults::draw_disk() {
  if (random_.chance(0.4)) return draw_lost_disk();
  const auto name = draw_one(living(true));
  const uint64_t which = random_.below(3);
  const auto slower = random_.spread(milliseconds(300), seconds(30));
  const auto time = random_.spread(milliseconds(500), seconds(180));
  if (name.empty()) return;
  const auto disk = swarm_.disks.at(name);
  DiskTrouble trouble;
  trouble.fails = which == 0;
  trouble.full = which == 1;
  if (which == 2) trouble.slower = slower;
  hooks_.log(name, fmt::format("FAULT {} for {}",
                               which == 0   ? "writes to its disk fail"
                               : which == 1 ? "its disk is full"
                                            : "its disk takes " + in_seconds(slower) + " more",
                               in_seconds(time)));
  disk->set_trouble(trouble);
  agenda_.later(time, [this, name, disk] {
    hooks_.log(name, "FAULT its disk is well again");
    disk->set_trouble({});
  });
}

void MachineFaults::replace_disk(const std::string& name, std::function<Disk()> with,
                                 const std::string& what) {
  if (!swarm_.nodes.at(name).alive || !has_living_replica(name) || hooks_.is_spared(name)) return;
  hooks_.log(name, "FAULT " + what);
  hooks_.kill(name);
  *swarm_.disks.at(name) = with();
  hooks_.disk_lost(name);
  agenda_.later(random_.spread(milliseconds(20), seconds(6)), [this, name] { hooks_.start(name); });
}

void MachineFaults::draw_lost_disk() {
  const auto name = draw_one(living(true));
  const bool wiped = random_.chance(0.5);
  const auto age = random_.spread(milliseconds(200), seconds(6));
  if (name.empty()) return;
  if (wiped)
    return replace_disk(
        name, [] { return Disk(); }, "its disk is wiped");
  auto old = std::make_shared<Disk>(swarm_.disks.at(name)->as_after_a_crash());
  agenda_.later(age, [this, name, old, age] {
    replace_disk(
        name, [old] { return *old; }, "its disk is as it was " + in_seconds(age) + " ago");
  });
}

bool MachineFaults::others_have_copies(const Names& without) const {
  Names others;
  for (const auto& name : living(true))
    if (std::find(without.begin(), without.end(), name) == without.end()) others.push_back(name);
  return !OnDisks(swarm_).common(others).empty();
}

void MachineFaults::draw_lost_stage() {
  const auto stage = static_cast<int>(random_.below(swarm_.num_stages));
  Names names;
  for (const auto& [name, node] : swarm_.nodes)
    if (node.alive && node.stage == stage) names.push_back(name);
  const bool spared = std::any_of(names.begin(), names.end(), hooks_.is_spared);
  if (spared || !others_have_copies(names)) return;
  for (const auto& name : names) {
    hooks_.log(name, "FAULT its disk is wiped, as are all of its stage");
    hooks_.kill(name);
    *swarm_.disks.at(name) = Disk();
    hooks_.disk_lost(name);
    agenda_.later(random_.spread(milliseconds(20), seconds(6)),
                  [this, name] { hooks_.start(name); });
  }
}

/// The others can spare a peer, and are more than half of all.
void MachineFaults::draw_dead_stage() {
  const auto stage = static_cast<int>(random_.below(swarm_.num_stages));
  const auto most = random_.spread(milliseconds(20), seconds(3));
  Names names;
  size_t peers = 0;
  for (const auto& [name, node] : swarm_.nodes) {
    if (node.stage == stage) names.push_back(name);
    peers += node.alive && node.stage >= 0 && node.stage != stage ? 1 : 0;
  }
  std::set<std::string> gone = *hooks_.gone;
  gone.insert(names.begin(), names.end());
  const bool enough = peers >= std::max<size_t>(swarm_.num_stages, swarm_.training.min_peers) &&
                      2 * gone.size() < swarm_.nodes.size();
  const bool spared = std::any_of(names.begin(), names.end(), hooks_.is_spared);
  if (!enough || spared || !others_have_copies(names)) return;
  *hooks_.gone = gone;
  for (const auto& name : names) {
    hooks_.log(name, "FAULT leaves for good, as all of its stage do");
    agenda_.later(random_.between({}, most), [this, name] {
      if (swarm_.nodes.at(name).alive) hooks_.kill(name);
    });
  }
}

void MachineFaults::draw_drain() {
  const auto name = draw_one(living(false));
  const auto away = random_.spread(milliseconds(20), seconds(6));
  if (name.empty() || hooks_.is_spared(name)) return;
  hooks_.log(name, "FAULT is told to leave");
  const auto owner = leaving_[name] = swarm_.nodes.at(name).owner;
  auto end = [this, name, owner, away](const char* how) {
    const auto& node = swarm_.nodes.at(name);
    if (!node.alive || node.owner != owner) return;
    hooks_.log(name, std::string("FAULT ") + how);
    hooks_.kill(name);
    agenda_.later(away, [this, name] { hooks_.start(name); });
  };
  swarm_.drain(name, [this, end] { agenda_.later({}, [end] { end("has left in order"); }); });
  agenda_.later(kGrace, [end] { end("has not left in time"); });
}

void MachineFaults::draw_move() {
  const auto name = draw_one(living(false));
  const auto away = random_.spread(milliseconds(20), seconds(6));
  if (name.empty() || hooks_.is_spared(name)) return;
  hooks_.log(name, "FAULT moves to another address");
  hooks_.kill(name);
  swarm_.nodes.at(name).port = 0;
  agenda_.later(away, [this, name] { hooks_.start(name); });
}

void MachineFaults::draw_orders() {
  const auto every = random_.spread(milliseconds(20), milliseconds(500));
  const uint64_t times = 5 + random_.below(40);
  hooks_.log("-", fmt::format("FAULT {} checkpoints are asked for, one each {}", times,
                              in_seconds(every)));
  for (uint64_t i = 0; i < times; ++i)
    agenda_.later(i * every, [this] { swarm_.order(actors::make_mail(proto::SaveCheckpoint())); });
}

void MachineFaults::draw_operator() {
  nanoseconds when{0};
  for (uint64_t orders = 1 + random_.below(6); orders > 0; --orders) {
    const auto name = draw_one(living(true));
    const auto stage = static_cast<uint32_t>(random_.below(swarm_.num_stages));
    const bool all = random_.chance(0.3);
    if (name.empty()) return;
    agenda_.later(when, [this, name, stage, all] {
      hooks_.log(all ? "-" : name, all ? std::string("FAULT an operator has all stages evened out")
                                       : fmt::format("FAULT an operator moves it to {}", stage));
      if (all) return swarm_.order(actors::make_mail(proto::Rebalance()));
      proto::MovePeer message;
      message.set_peer(name);
      message.set_stage(stage);
      swarm_.order(actors::make_mail(message));
    });
    when += random_.spread(milliseconds(20), seconds(3));
  }
}

/// A slot that two peers find not finite is left out by all.
void MachineFaults::draw_not_finite() {
  const auto name = draw_one(living(true));
  const uint64_t ahead = random_.below(3);
  const uint64_t slots = swarm_.training.batch / swarm_.training.microbatch;
  const Slot slot(static_cast<uint32_t>(random_.below(slots)));
  const bool everywhere = random_.chance(0.4);
  if (name.empty() || swarm_.nodes.at(name).arithmetic == nullptr) return;
  if (!everywhere) {
    hooks_.log(name, "FAULT its next gradient is not finite");
    ++swarm_.nodes.at(name).not_finite.next;
    return;
  }
  const Step step(swarm_.nodes.at(name).arithmetic->step() + ahead);
  hooks_.log(name, fmt::format("FAULT slot {} of step {} is not finite in its stage", slot, step));
  for (auto& [other, node] : swarm_.nodes)
    if (node.stage == swarm_.nodes.at(name).stage) node.not_finite.slots.insert({step, slot});
}

void MachineFaults::draw_bits() {
  if (hooks_.bit_turned && random_.chance(0.5)) return draw_state_bit();
  const bool sum = random_.chance(0.6);
  const auto name = draw_one(living(true));
  if (name.empty() || swarm_.nodes.at(name).arithmetic == nullptr) return;
  if (sum && !swarm_.training.asynchronous()) {
    hooks_.log(name, "FAULT a bit of its gradient sum turns");
    return swarm_.nodes.at(name).arithmetic->memory().flip_bit(tensor::StatePart::kGradientSum);
  }
  if (sum || !has_living_replica(name) || hooks_.is_spared(name)) return;
  hooks_.log(name, "FAULT a bit of its newest snapshot turns");
  swarm_.disks.at(name)->spoil_newest();
  hooks_.disk_lost(name);
}

/// Once a stage, and while enough steps are left for who is found at the next update to fetch.
void MachineFaults::draw_state_bit() {
  constexpr uint64_t kStepsToRepair = 3;
  const auto part =
      random_.chance(0.5) ? tensor::StatePart::kParameters : tensor::StatePart::kMoments;
  const auto name = draw_one(living(true));
  if (name.empty() || swarm_.training.asynchronous() || !has_living_replica(name)) return;
  const auto& node = swarm_.nodes.at(name);
  if (node.arithmetic == nullptr || !node.arithmetic->state().is_set() ||
      node.arithmetic->step() + kStepsToRepair > swarm_.training.steps)
    return;
  if (!turned_.insert(node.stage).second) return;
  const bool moments = part == tensor::StatePart::kMoments;
  hooks_.log(name,
             std::string("FAULT a bit of its ") + (moments ? "moments" : "parameters") + " turns");
  hooks_.bit_turned(name);
  node.arithmetic->memory().flip_bit(part);
}

void MachineFaults::heal() {
  for (auto& [name, disk] : swarm_.disks) disk->set_trouble({});
  for (auto& [name, node] : swarm_.nodes) node.not_finite.next = 0;
  for (const auto& [name, owner] : std::exchange(leaving_, {}))
    if (swarm_.nodes.at(name).alive && swarm_.nodes.at(name).owner == owner) hooks_.kill(name);
}

}  // namespace swarm::sim

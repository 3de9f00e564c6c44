#include "apps/audit/peer_walk.h"

#include "common/hex.h"

namespace swarm::launch {

void PeerWalk::follow(const std::map<size_t, PeerLine>& lines) {
  state_ = {};
  for (const auto& [number, line] : lines) {
    if (line.before != nullptr) take_before(*line.before);
    if (line.load != nullptr) take_load(*line.load);
    if (line.commit != nullptr) take_commit(*line.commit);
  }
}

/// Only of what a step that counts begins with is it known what it must be.
void PeerWalk::take_before(const records::FoldedAudit::Peer& before) {
  if (report_.checksums.count({before.stage, before.step}) > 0)
    return take_load({before.stage, before.peer, before.node_name, before.step, before.checksum,
                      "its lines before that", before.history});
  state_ = {before.step, true, {}, true, before.history};
}

void PeerWalk::take_load(const records::LoadedState& load) {
  state_ = {load.step, true, {}, true, load.history};
  const StageStep key(load.stage, load.step);
  const auto right = report_.checksums.find(key);
  if (right != report_.checksums.end() && right->second == load.checksum) return;
  const std::string where = at(load.step, load.stage) + ": " + load.node_name + " (" +
                            load.peer.brief() + ") loaded " + hex(load.checksum) + " from " +
                            load.source;
  const auto others = report_.given_up_checksums.find(key);
  if (others != report_.given_up_checksums.end() && others->second.count(load.checksum) > 0) {
    state_.in_history = false;
    state_.given_up = where;
    return;
  }
  report_.violations.push_back(where + (right == report_.checksums.end()
                                            ? ", which no peer ever reached"
                                            : ", replicas have " + hex(right->second)));
}

void PeerWalk::take_commit(const records::CommittedStep& done) {
  const std::string where = at(done.step, done.stage) + ": " + who(done.held);
  records::check_goes_on(done, state_.known ? std::optional<uint64_t>(state_.step) : std::nullopt,
                         report_.violations);
  if (state_.known && !ask_.follows(done, state_.id))
    report_.violations.push_back(where + " names the history " + hex(done.history) +
                                 ", which does not follow from its own, " + hex(state_.id));
  const bool now = ask_.in_history(done);
  if (state_.known && now && !state_.in_history)
    report_.violations.push_back(where + " went on from a state that the swarm had given up (" +
                                 state_.given_up + ")");
  state_ = {done.step + 1, now, now ? "" : "round " + std::to_string(done.round), true,
            done.history};
}

}  // namespace swarm::launch

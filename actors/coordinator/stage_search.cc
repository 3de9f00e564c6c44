#include "actors/coordinator/stage_search.h"

#include <chrono>
#include <utility>

#include "actors/dht/peer_record.h"
#include "common/names.h"
#include "routing/membership/relocation.h"

namespace swarm::actors {
namespace {

constexpr std::chrono::milliseconds kAskBudget{5'000};
constexpr uint32_t kEnough = 16;  // one that lives would do

std::set<PeerId> places(const std::vector<DhtRecordLocal>& records, Stage stage) {
  std::set<PeerId> found;
  for (const auto& record : records)
    if (const auto peer = read_peer_record(record, stage))
      found.insert(routing::place_of(peer->id));
  return found;
}

}  // namespace

StageSearch::StageSearch(caf::event_based_actor* self, caf::actor dht, const DhtOptions& options)
    : self_(self),
      dht_(std::move(dht)),
      every_(options.announce_every),
      fresh_(options.announce_every + options.announce_ttl) {}

void StageSearch::look(const std::vector<Stage>& stages) {
  if (now() < next_) return;
  next_ = now() + every_;
  for (const Stage stage : stages) ask(stage);
}

void StageSearch::ask(Stage stage) {
  self_->request(dht_, kAskBudget, dht_sample_atom::value, stage_key(stage.value()), kEnough)
      .then(
          [this, stage](const std::vector<DhtRecordLocal>& records) {
            answers_[stage] = {now(), places(records, stage)};
          },
          [](const caf::error&) {});  // asked again
}

std::map<Stage, std::set<PeerId>> StageSearch::found() const {
  std::map<Stage, std::set<PeerId>> fresh;
  for (const auto& [stage, answer] : answers_)
    if (!answer.places.empty() && now() - answer.at <= fresh_) fresh[stage] = answer.places;
  return fresh;
}

}  // namespace swarm::actors

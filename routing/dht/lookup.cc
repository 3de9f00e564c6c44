#include "routing/dht/lookup.h"

#include <algorithm>
#include <iterator>

#include "common/check.h"

namespace swarm::routing {

Lookup::Lookup(DhtKey target, NodeId self, size_t k, size_t alpha,
               const std::vector<Contact>& start)
    : target_(target), self_(self), k_(k), alpha_(alpha), width_(k) {
  SWARM_CHECK(k >= 1 && alpha >= 1);
  for (const Contact& contact : start) add(contact);
}

void Lookup::add(const Contact& contact) {
  if (contact.id == self_) return;
  NodeId distance = xor_distance(target_, contact.id);
  if (by_distance_.count(distance) != 0) return;
  if (by_distance_.size() >= kMaxCandidates) {  // make room among the farthest, or give up
    auto last = std::prev(by_distance_.end());
    if (last->second.state != State::kNew || last->first < distance) return;
    by_distance_.erase(last);
  }
  by_distance_.emplace(distance, Candidate{contact, State::kNew});
}

std::vector<Contact> Lookup::next() {
  std::vector<Contact> ask;
  size_t considered = 0;
  for (auto& [distance, candidate] : by_distance_) {
    if (considered >= width_ || in_flight_ >= alpha_) break;
    if (candidate.state == State::kFailed) continue;
    ++considered;
    if (candidate.state != State::kNew) continue;
    candidate.state = State::kAsked;
    ++in_flight_;
    ask.push_back(candidate.contact);
  }
  return ask;
}

void Lookup::answered(const NodeId& id, const std::vector<Contact>& closer) {
  auto it = by_distance_.find(xor_distance(target_, id));
  if (it == by_distance_.end()) return;
  State before = it->second.state;
  if (before == State::kNew || before == State::kAnswered) return;
  if (before == State::kAsked) --in_flight_;
  it->second.state = State::kAnswered;  // a late answer after failed() is welcome, too
  size_t looked_at = std::min(closer.size(), k_);
  for (size_t i = 0; i < looked_at; ++i) add(closer[i]);
}

void Lookup::failed(const NodeId& id) {
  auto it = by_distance_.find(xor_distance(target_, id));
  if (it == by_distance_.end() || it->second.state != State::kAsked) return;
  it->second.state = State::kFailed;
  --in_flight_;
}

bool Lookup::finished() const {
  size_t considered = 0;
  for (const auto& [distance, candidate] : by_distance_) {
    if (considered >= width_) break;
    if (candidate.state == State::kFailed) continue;
    if (candidate.state != State::kAnswered) return false;
    ++considered;
  }
  return true;
}

std::vector<Contact> Lookup::result() const {
  std::vector<Contact> contacts;
  for (const auto& [distance, candidate] : by_distance_) {
    if (contacts.size() >= k_) break;
    if (candidate.state == State::kAnswered) contacts.push_back(candidate.contact);
  }
  return contacts;
}

}  // namespace swarm::routing

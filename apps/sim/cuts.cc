#include "apps/sim/cuts.h"

namespace swarm::sim {

Cuts::Pairs Cuts::between(const Names& left, const Names& right, bool to_right, bool to_left) {
  Pairs pairs;
  for (const auto& a : left)
    for (const auto& b : right) {
      if (to_right) pairs.emplace_back(a, b);
      if (to_left) pairs.emplace_back(b, a);
    }
  return pairs;
}

void Cuts::cut(const Pairs& pairs) {
  for (const auto& pair : pairs) {
    ++cuts_[pair];
    if (are_alive(pair.first, pair.second)) swarm_.cut(pair.first, pair.second);
  }
}

void Cuts::join(const Pairs& pairs) {
  for (const auto& pair : pairs)
    if (--cuts_[pair] == 0)
      swarm_.net.heal(swarm_.nodes.at(pair.first).id, swarm_.nodes.at(pair.second).id);
}

void Cuts::cut_for_good(const Pairs& pairs) {
  lasting_.insert(lasting_.end(), pairs.begin(), pairs.end());
  cut(pairs);
}

void Cuts::close_to_dials(const std::string& name) {
  undialled_.insert(name);
  refuse_dials(name);
}

void Cuts::started(const std::string& name) {
  for (const auto& [pair, count] : cuts_)
    if (count > 0 && are_alive(pair.first, pair.second) &&
        (pair.first == name || pair.second == name))
      swarm_.cut(pair.first, pair.second);
  refuse_dials(name);
}

void Cuts::heal() {
  cuts_.clear();
  swarm_.net.heal_all();
  cut(lasting_);
}

bool Cuts::are_alive(const std::string& a, const std::string& b) const {
  return swarm_.nodes.at(a).alive && swarm_.nodes.at(b).alive;
}

void Cuts::refuse_dials(const std::string& name) {
  for (const auto& closed : undialled_)
    for (const auto& [other, node] : swarm_.nodes)
      if (other != closed && are_alive(other, closed) && (name == closed || name == other))
        swarm_.net.close_to_dials(node.id, swarm_.nodes.at(closed).id);
}

}  // namespace swarm::sim

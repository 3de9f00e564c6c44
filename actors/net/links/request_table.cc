#include "actors/net/links/request_table.h"

namespace swarm::actors::links {

void RequestTable::add(const Request& request) {
  requests_[request.id] = request;
  deadlines_.emplace(request.deadline, request.id);
}

std::optional<RequestTable::Request> RequestTable::take(uint64_t id) {
  auto it = requests_.find(id);
  if (it == requests_.end()) return std::nullopt;
  const Request request = it->second;
  deadlines_.erase({request.deadline, id});
  requests_.erase(it);
  return request;
}

std::vector<RequestTable::Request> RequestTable::take_expired(TimePoint now) {
  std::vector<Request> out;
  while (expired(now)) out.push_back(*take(deadlines_.begin()->second));
  return out;
}

std::vector<RequestTable::Request> RequestTable::take_all() {
  std::vector<Request> out;
  for (const auto& entry : requests_) out.push_back(entry.second);
  requests_.clear();
  deadlines_.clear();
  return out;
}

}  // namespace swarm::actors::links

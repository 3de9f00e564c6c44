#include "actors/dht/dht_joining.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "actors/net/errors.h"
#include "actors/net/links/links.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/backoff.h"

namespace swarm::actors {

using routing::Contact;

namespace {
constexpr std::chrono::milliseconds kFirstPause{100}, kLastPause{2'000};
}  // namespace

DhtJoining::DhtJoining(caf::event_based_actor* self, const DhtDeps& deps,
                       std::function<void(const Contact&)> met, std::function<size_t()> contacts)
    : self_(self), deps_(deps), met_(std::move(met)), contacts_(std::move(contacts)) {}

double DhtJoining::now_s() const {
  return std::chrono::duration<double>(self_->clock().now().time_since_epoch()).count();
}

void DhtJoining::begin() {
  joining_ = true;
  self_->send(self_, join_tick_atom::value);
}

void DhtJoining::tick() {
  joining_ = contacts_() == 0 && !deps_.join.empty();
  if (!joining_) {
    rounds_ = 0;
    return;
  }
  for (const Endpoint& endpoint : deps_.join) dial(endpoint, true);
  self_->delayed_send(self_, backoff(++rounds_, kFirstPause, kLastPause), join_tick_atom::value);
}

void DhtJoining::refresh(const std::vector<Contact>& known) {
  const auto is_known = [&known](const Endpoint& endpoint) {
    return std::any_of(known.begin(), known.end(),
                       [&](const Contact& one) { return one.endpoint == endpoint; });
  };
  for (const Endpoint& endpoint : deps_.join)
    if (!is_known(endpoint)) dial(endpoint, true);
  for (const Contact& contact : lost_.next(now_s(), is_known)) dial(contact.endpoint, false);
}

void DhtJoining::lost(const Contact& contact) {
  lost_.lost(contact, now_s());
  if (contacts_() > 0 || joining_ || deps_.join.empty()) return;
  log_info("dht alone=true rejoining=true");
  begin();
}

void DhtJoining::dial(const Endpoint& where, bool joins) {
  if (where == deps_.endpoint) return;
  self_->request(deps_.links, deps_.options.request_timeout * 5, connect_atom::value, where)
      .then(
          [this, where](const NodeInfo& node) {
            failures_.erase(where.text());
            if (node.is_tool) return;
            met_({node.id, node.endpoint.port != 0 ? node.endpoint : where});
          },
          [this, where, joins](const caf::error& error) {
            const Error why = from_caf(error);
            if (joins) failures_[where.text()] = {where, why};
            log_debug(fmt::format("dht dial={} error=\"{}\"", where.text(), to_string(why)));
          });
}

std::vector<JoinFailure> DhtJoining::failures() const {
  std::vector<JoinFailure> all;
  for (const auto& [address, failure] : failures_) all.push_back(failure);
  return all;
}

}  // namespace swarm::actors

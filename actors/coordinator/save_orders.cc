#include "actors/coordinator/save_orders.h"

#include <memory>
#include <utility>

namespace swarm::actors {

void SaveOrders::ask(Done done, routing::Time now) {
  waiting_.push_back(std::move(done));
  look(now);
}

void SaveOrders::look(routing::Time now) {
  if (waiting_.empty() || !schedule_.saves().may_save(roster_, now)) return;
  const uint64_t order = schedule_.saves().order_begins(now);
  save_all([this, order, told = std::exchange(waiting_, {})](const Status& status) {
    schedule_.saves().order_ends(order);
    for (const Done& done : told) done(status);
  });
}

void SaveOrders::save_all(Done done) {
  if (roster_.serving_in_all() == 0)
    return done(Error{ErrorCode::kNotReady, "no peer serves: there is nothing to save"});
  struct Open {
    size_t left = 1;
    Status status;
    Done done;
  };
  auto open = std::make_shared<Open>();
  open->done = std::move(done);
  const auto one_done = [open](const Result<Mail>& reply) {
    if (!reply) open->status = reply.error();
    if (--open->left == 0) open->done(open->status);
  };
  for (const auto& [id, peer] : roster_.peers()) {
    if (!peer.serving || !peer.reachable) continue;
    ++open->left;
    mail_.save(id, peer.saves.limit, schedule_.saves().keep(roster_), one_done);
  }
  one_done(make_mail(proto::Ack()));
}

void SaveOrders::refuse_all(const Error& why) {
  for (const Done& done : std::exchange(waiting_, {})) done(why);
}

}  // namespace swarm::actors

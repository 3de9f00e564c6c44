#include "actors/coordinator/close_mail.h"

#include "actors/coordinator/coordinator_mail.h"
#include "actors/net/requests.h"
#include "common/mix.h"

namespace swarm::actors {

CloseMail::CloseMail(const routing::orders::CloseStep& order, const PeerBook& book, Term term,
                     uint32_t microbatch, const RunText& text) {
  if (text.known()) *brief_.mutable_text() = to_proto(text);
  brief_.set_term(term.value());
  brief_.set_step(order.step.value());
  brief_.set_round(order.round.value());
  brief_.set_step_samples(order.samples);
  brief_.set_go_on(order.go_on);
  if (order.commit) *brief_.mutable_commit() = commit_message(*order.commit, term);
  uint64_t id = fnv1a("");
  for (const auto& share : order.members) {
    proto::Peer peer = book.to_proto(share.peer);
    peer.clear_node_name();  // for people; no averager shows it
    id = fnv1a(peer.SerializeAsString(), id);
    members_.push_back(std::move(peer));
    brief_.add_samples(share.slots.size() * microbatch);
    routing::BroughtBy& counted = counted_[share.peer];
    for (size_t i = 0; i < share.slots.size(); ++i) counted[share.slots[i]] = share.attempts[i];
  }
  brief_.set_members_id(mix(id));
  write_relays(order.relays, *brief_.mutable_relays());
  write_part_weights(order.part_weights, *brief_.mutable_part_weights());
}

Mail CloseMail::to(const PeerId& member, bool in_full) const {
  proto::CloseStep message = brief_;
  const routing::BroughtBy& counted = counted_.at(member);
  for (const auto& [slot, attempt] : counted) message.add_counted_slots(slot.value());
  message.set_counted_digest(routing::digest_of(counted));
  if (in_full)
    for (const proto::Peer& peer : members_) *message.add_members() = peer;
  return make_mail(std::move(message), {}, kRoundBudget);
}

bool ToldMembers::is_new(Stage stage, uint64_t id, const PeerId& peer) {
  Told& told = stages_[stage];
  if (told.id != id) told = {id, {}};
  return told.peers.insert(peer).second;
}

}  // namespace swarm::actors

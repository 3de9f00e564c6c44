/// Inside of the Coordinator. Included by coordinator.cc (its life, trainers), coordinator_peers.cc,
/// coordinator_quorum.cc (who agrees), coordinator_orders.cc (what is to be done) and
/// coordinator_status.cc (what people ask) only.
///
/// Decides nothing: mail is decoded once (coordinator_mail.h), the pure parts are asked, and their
/// orders are carried out at once, in their order.
///
///     OfficeMail -> routing Office      who coordinates
///     gathering_, schedule_             routing/membership, routing/steps: one of them is active
///     consent_   -> QuorumMail          whether more than half agree
///     leases_    -> routing LeaseDesk   who gets slots next
///     moves_     -> routing Relocation  who serves another stage
///     saves_     -> routing SavePolicy  snapshots that somebody orders
///     mail_, records_                   carry out
#pragma once

#include <caf/stateful_actor.hpp>
#include <memory>
#include <optional>
#include <string>

#include "actors/coordinator/coordinator.h"
#include "actors/coordinator/coordinator_records.h"
#include "actors/coordinator/lease_counter.h"
#include "actors/coordinator/office_mail.h"
#include "actors/coordinator/peer_book.h"
#include "actors/coordinator/quorum_mail.h"
#include "actors/coordinator/relocation_mail.h"
#include "actors/coordinator/save_orders.h"
#include "actors/coordinator/step_mail.h"
#include "actors/net/links/links.h"
#include "common/strong_id.h"
#include "routing/membership/consent.h"
#include "routing/membership/consent_watch.h"
#include "routing/membership/copies.h"
#include "routing/membership/gathering.h"
#include "routing/membership/roster.h"
#include "routing/membership/text_check.h"
#include "routing/steps/schedule.h"

namespace swarm::actors {

class CoordinatorState {
 public:
  static constexpr const char* name = "coordinator";
  using Self = caf::stateful_actor<CoordinatorState>;

  void init(Self* self, CoordinatorDeps deps);
  caf::behavior make_behavior();

 private:
  // coordinator.cc
  caf::result<Mail> on_mail(const Mail& mail);
  caf::result<Mail> on_lease(const Mail& mail);
  caf::result<Mail> on_slot_done(const Mail& mail);
  caf::result<Mail> on_save();
  void on_tick();
  void on_node_down(const NodeInfo& info);
  void take_over();
  void raise_term(Term seen);
  void step_down(const std::string& reason);
  void serve_leases();

  // coordinator_peers.cc
  caf::result<Mail> on_register(const Mail& mail);
  /// A peer is there, whatever it has.
  void expect(const PeerAddress& address, Stage stage);
  routing::Verdict admit(const PeerId& id);
  /// `in_order`: it says so itself.
  void peer_gone(const PeerId& id, const std::string& reason, bool in_order = false);

  // coordinator_quorum.cc
  bool still_agreed();

  // coordinator_orders.cc
  void carry_out(const routing::Orders& orders);
  template <class Order>
  void obey(const Order& order);
  void gather(const std::string& reason, std::optional<Step> applied);
  void resume_later(const routing::orders::Later& later);
  void save_all();
  StepMailHooks mail_hooks();

  // coordinator_status.cc
  proto::SwarmStatusReply status() const;
  std::string describe() const;
  /// How far the office is.
  enum class Stands { kStandby, kMinority, kGathering, kOpen, kFinished };
  Stands stands() const;

  bool active() const { return office_->office().active(); }
  Step step() const;
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }
  LeaseCounter::Stamp stamp() const;

  Self* self_ = nullptr;
  CoordinatorDeps deps_;
  std::optional<routing::Roster> roster_;
  routing::TextCheck text_;
  PeerBook book_;
  std::unique_ptr<OfficeMail> office_;
  std::unique_ptr<routing::Schedule> schedule_;
  std::unique_ptr<routing::Gathering> gathering_;
  std::optional<routing::CopyDesk> copies_;
  routing::Consent consent_;
  std::unique_ptr<routing::ConsentWatch> watch_;
  std::unique_ptr<QuorumMail> quorum_;
  std::unique_ptr<LeaseCounter> leases_;
  std::unique_ptr<CoordinatorRecords> records_;
  std::unique_ptr<StepMail> mail_;
  std::unique_ptr<SaveOrders> saves_;
  std::unique_ptr<RelocationMail> moves_;
};

}  // namespace swarm::actors

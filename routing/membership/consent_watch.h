/// What follows from how a coordinator's Consent stands: that it leads no more, that it needs another
/// term, that this part of a divided swarm goes on alone, and what people are told.
///
/// Pure: time is an argument. One owner: the Coordinator; call rule() on every tick while it leads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/strong_id.h"
#include "routing/membership/consent.h"
#include "routing/steps/orders.h"
#include "routing/time.h"

namespace swarm::routing {

class ConsentWatch {
 public:
  /// Two coordinators that gather hear of each other meanwhile, and one steps down.
  static constexpr Time kBeforeRaise = std::chrono::seconds(1);
  /// Likewise where fewer than half are here: whoever has the others leads, perhaps.
  static constexpr Time kBeforeRaiseOfFew = std::chrono::seconds(10);

  struct Ruling {
    enum class Kind { kNothing, kStepDown, kNewTerm };
    Kind kind = Kind::kNothing;
    Term above;  ///< With kNewTerm: the new one is to be above this.
  };

  /// `continue_after`: a minority that has waited for so long goes on without the rest; none: never.
  explicit ConsentWatch(std::optional<Time> continue_after) : continue_after_(continue_after) {}

  /// `ours`: the coordinator's term. Adds to `notes` what people should hear.
  Ruling rule(Consent& consent, Term ours, Time now, std::vector<Fact>& notes);
  /// Adds to `notes` what people should hear, each thing once. Call it before the swarm opens too: what is
  /// committed is of the configuration told last.
  void tell(const Consent& consent, Time now, std::vector<Fact>& notes);
  /// It leaves and need wait no longer: those that stay have a list without it, and more than half of
  /// that know so; or nobody stays.
  static bool may_leave(Consent& consent, const std::string& node);
  /// The reign is over.
  void stop();

 private:
  void tell_minority(const Consent& consent, Time now, std::vector<Fact>& notes);
  void tell_configuration(const Consent& consent, std::vector<Fact>& notes);

  std::optional<Time> continue_after_;
  std::optional<Time> outranked_at_, few_since_;
  Count told_;
  Configuration held_;
};

}  // namespace swarm::routing

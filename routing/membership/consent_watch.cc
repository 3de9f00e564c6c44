#include "routing/membership/consent_watch.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace swarm::routing {
namespace {

/// Names of their nodes.
std::vector<std::string> only_in(const Voters& one, const Voters& other) {
  std::vector<std::string> names;
  std::set_difference(one.begin(), one.end(), other.begin(), other.end(),
                      std::back_inserter(names));
  std::transform(names.begin(), names.end(), names.begin(), node_of);
  return names;
}

}  // namespace

ConsentWatch::Ruling ConsentWatch::rule(Consent& consent, Term ours, Time now,
                                        std::vector<Fact>& notes) {
  tell(consent, now, notes);
  if (const auto seen = consent.outranked()) {
    if (consent.reigns()) return {Ruling::Kind::kStepDown, *seen};
    if (!outranked_at_) outranked_at_ = now;
    const Time pause = consent.may_outrank() ? kBeforeRaise : kBeforeRaiseOfFew;
    if (now - *outranked_at_ < pause) return {};
    outranked_at_.reset();
    return {Ruling::Kind::kNewTerm, *seen};
  }
  outranked_at_.reset();
  const bool waited = few_since_ && continue_after_ && now - *few_since_ >= *continue_after_;
  if (consent.snag(now) != Consent::Snag::kNone || (waited && consent.force(now)))
    return {Ruling::Kind::kNewTerm, ours};
  return {};
}

void ConsentWatch::tell(const Consent& consent, Time now, std::vector<Fact>& notes) {
  tell_configuration(consent, notes);
  tell_minority(consent, now, notes);
}

bool ConsentWatch::may_leave(Consent& consent, const std::string& node) {
  if (consent.attendance().all_leave()) return true;
  const Configuration& held = consent.configuration();
  Voters know;
  for (const auto& [name, one] : consent.attendance().nodes())
    if (one.knows >= held.number) know.insert(one.voter);
  return consent.reigns() && voter_of(held.voters, node).empty() && count(held.voters, know).most();
}

void ConsentWatch::stop() {
  outranked_at_.reset();
  few_since_.reset();
  told_ = Count();
  held_ = Configuration();
}

void ConsentWatch::tell_minority(const Consent& consent, Time now, std::vector<Fact>& notes) {
  const auto few = consent.minority(now);
  if (few && (!few_since_ || few->missing != told_.missing)) {
    if (!few_since_) few_since_ = now;
    told_ = *few;
    const Voters missing = nodes_of(few->missing);
    notes.push_back(facts::Minority{consent.configuration().number.value(),
                                    few->have,
                                    few->of,
                                    {missing.begin(), missing.end()}});
  }
  // Not while a new ballot is answered: until it is nobody knows.
  if (few || !few_since_ || !consent.reigns()) return;
  const Configuration& held = consent.configuration();
  notes.push_back(facts::Quorum{held.voters.size() - consent.missing().size(), held.voters.size(),
                                now - *few_since_});
  few_since_.reset();
}

void ConsentWatch::tell_configuration(const Consent& consent, std::vector<Fact>& notes) {
  const Configuration& now = consent.configuration();
  if (!consent.reigns() || (now.number == held_.number && now.line() == held_.line())) return;
  const Voters before = held_.number.value() > 0 ? held_.voters : consent.before().voters;
  held_ = now;
  notes.push_back(facts::ConfigurationHolds{
      held_.number.value(), held_.voters.size(), only_in(held_.voters, before),
      only_in(before, held_.voters), held_.gone_back, held_.forced(), held_.line_text(),
      held_.lines_before()});
}

}  // namespace swarm::routing

#include "routing/averaging/round_verdict.h"

namespace swarm::routing {

RoundVerdict judge_round(const std::vector<MemberAnswer>& members, bool grace_over) {
  using Answer = MemberAnswer::Kind;
  RoundVerdict verdict;
  size_t averaged = 0, pending = 0;
  bool certain = false;  // the round can no longer succeed, and who is at fault is known
  for (const MemberAnswer& member : members) {
    averaged += member.kind == Answer::kAveraged;
    pending += member.kind == Answer::kPending;
    certain |= member.kind == Answer::kHoldsMore || member.kind == Answer::kLost ||
               member.kind == Answer::kNotFinite;
  }
  if (averaged == members.size()) {
    verdict.kind = RoundVerdict::Kind::kAveraged;
    return verdict;
  }
  bool failed = averaged + pending < members.size();
  if (!failed || (!certain && pending > 0 && !grace_over)) return verdict;
  verdict.kind = RoundVerdict::Kind::kAbandon;
  for (const MemberAnswer& member : members) {
    if (member.kind == Answer::kHoldsMore) verdict.dropped.push_back(member.peer);
    if (member.kind == Answer::kNotFinite) verdict.not_finite.push_back(member.peer);
    // Members that are merely still averaging when the cause is known are not at fault.
    bool silent = member.kind == Answer::kPending && !certain && !member.excused;
    if (member.kind == Answer::kLost || silent) verdict.lost.push_back(member.peer);
  }
  return verdict;
}

}  // namespace swarm::routing

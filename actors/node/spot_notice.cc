#include "actors/node/spot_notice.h"

#include "actors/net/log.h"

namespace swarm::actors {

bool must_leave(const std::optional<SpotNotice>& news, EventLog& events,
                const std::function<void(const std::string&)>& say) {
  if (!news) return false;
  if (news->leave) {
    log_warn("event=preempted reason=\"" + news->reason + "\"");
    events.record(-1, -1, records::Preempted{news->reason});
    say("leaves: this machine is about to go (" + news->reason + ")");
  } else {
    log_warn("event=preemption_unseen reason=\"" + news->reason + "\"");
    events.record(-1, -1, records::PreemptionUnseen{news->reason});
    say("does not see when this machine is about to go: " + news->reason);
  }
  return news->leave;
}

}  // namespace swarm::actors

/// Whether this node coordinates the swarm: who else might, whose link was lost, and what that
/// leads to (design Sec. 3 and 5; the rule itself is elect()). Answers when to ask the DHT, when to
/// publish the own record, whom to link to, and whether to take over or to step down.
///
/// Pure: time is an argument. One owner: the Coordinator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/membership/election.h"
#include "routing/membership/term_lead.h"
#include "routing/time.h"

namespace swarm::routing {

struct OfficeOptions {
  NodeId self;
  /// How often the own record is published.
  Time announce_every{};
  /// A fresh node listens this long for others before it takes over a swarm that it sees empty.
  Time patience = std::chrono::milliseconds(1'500);
  /// Between two questions to the DHT while a coordinator is known; without one there is no pause.
  Time pause = std::chrono::milliseconds(500);
  /// A node that no record has named for so long is forgotten: ids are new at every start.
  Time forget_after = std::chrono::seconds(60);
};

class Office {
 public:
  enum class Ruling { kNothing, kTakeOver, kStepDown };
  struct Decision {
    Ruling ruling = Ruling::kNothing;
    std::string reason{};
  };

  /// `first_version`: records of this life are published with higher ones; above those of every
  /// earlier life.
  Office(const OfficeOptions& options, Time now, uint64_t first_version);

  /// Whether to ask the DHT for the candidates now. After true, false until heard() or in_vain().
  bool ask(Time now);
  void in_vain() { asking_ = false; }
  /// Whether the own record is due.
  bool publication_due(Time now) const { return now - last_published_ >= options_.announce_every; }
  /// The version to publish the own record with.
  uint64_t publish(Time now);

  /// Of those that stand by, the smallest are watched: they are next to take over.
  static constexpr size_t kWatched = 8;

  /// The DHT named these. Returns the others that are to be watched, the active ones and the kWatched
  /// smallest: a link to each is to be held, so that its death is noticed at once, and to no other.
  std::vector<NodeId> heard(const std::vector<Candidate>& candidates, Time now);
  /// What follows from them. kTakeOver: active() holds and term() is the new one. kStepDown: active()
  /// holds no more.
  Decision decide(const std::vector<Candidate>& candidates, Time now);

  void link_up(const NodeId& node) { dead_.erase(node); }
  /// No link could be made. It counts as dead until its records show that it lives: published twice
  /// since, or with a term that it has taken since. Whoever cannot be reached from here and leads
  /// others is not fought over the office.
  void unreachable(const NodeId& node, Time now);
  /// The link was lost. True if it was a candidate: look again at once.
  bool link_down(const NodeId& node, Time now);

  /// All who knew of earlier terms were gone when this one took over, and a peer has followed
  /// `seen`: numbers of rounds and attempts must not be those of that term. Requires active().
  void raise_term(Term seen);
  /// Two that lead and are told of each other's terms hear of each other meanwhile, and one steps down.
  static constexpr Time kBetweenRaises = std::chrono::seconds(1);

  /// As far towards `seen`, which somebody says, as others' words lead (TermLead), once in kBetweenRaises: what
  /// raise_term() may be told. None: no further than term().
  std::optional<Term> led_to(Term seen, Time now);
  void step_down() { active_ = false; }
  /// Steps down for others to try: this node takes over again only when all others have tried since, or
  /// when somebody has opened a step.
  void resign();
  /// Others cannot dial this node: it leads only where nobody else would.
  void hard_to_reach() { hard_to_reach_ = true; }
  /// A step was opened by this coordinator.
  void opened() { vain_ = 0; }

  bool active() const { return active_; }
  /// As Candidate.yields.
  uint32_t yields() const { return hard_to_reach_ ? std::max(yields_, 1u) : yields_; }
  /// Reigns in a row that have opened no step, the present one included.
  uint32_t vain() const { return vain_; }
  /// Other candidates that live, by the last decision.
  size_t rivals() const { return rivals_; }
  /// Own when active, else the highest seen.
  Term term() const { return term_; }
  /// Nodes that are remembered; for tests of what is forgotten.
  size_t remembered() const { return dead_.size() + candidates_.size(); }

 private:
  /// What a record said last.
  struct Heard {
    Time named{};
    uint64_t version = 0;
    Term term;
  };
  struct Death {
    Heard last;        ///< By the record; its `version` goes on.
    int renewals = 0;  ///< Of the record since.
    Time lives_until{};
  };
  void bury(const NodeId& node, Time now);
  void renewed(Death& death, const Candidate& record, Time now) const;
  std::set<NodeId> watched_of(const std::vector<Candidate>& candidates) const;
  void forget(Time now);
  void learn_term(Term seen, Time now);

  OfficeOptions options_;
  Time started_at_{};
  uint64_t versions_ = 0;
  bool active_ = false, hard_to_reach_ = false;
  uint32_t yields_ = 0, vain_ = 0;
  size_t rivals_ = 0;
  Term term_;
  TermLead lead_ = TermLead::of_coordinator();
  std::optional<NodeId> leader_;
  std::map<NodeId, Heard> candidates_;
  std::map<NodeId, Death> dead_;
  std::optional<Time> last_asked_, last_led_;
  Time last_published_;
  bool asking_ = false;
};

}  // namespace swarm::routing

/// What a learner asks of whom: which ranges of its stage's state it holds, of which label each is,
/// which are behind, which are missing (docs/averaging.md, "Learners"). Carried out by
/// actors/stage/state_learner.cc.
///
/// Ranges that are behind go first, those of the oldest step before the others: what is too old is
/// lost. Missing ones follow, at options.state_bytes_per_s at most, last those that the disk may have,
/// which is read meanwhile. A range that no source's means lead
/// on from is missing again. A source that has nothing new is asked again now and then. One that fails is left alone for a while, longer each time.
///
/// Pure: time is an argument. Not thread-safe; one owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "routing/state/learn_pace.h"
#include "routing/state/learn_source.h"
#include "routing/state/range_book.h"
#include "routing/state/state_label.h"
#include "routing/time.h"

namespace swarm::routing {

struct LearnOptions {
  uint64_t elements = 1;           ///< Parameters of the stage; >= 1.
  uint64_t range_elements = 1;     ///< Of one read; >= 1.
  uint64_t bytes_per_element = 4;  ///< Of a state: the parameter and its moments.
  uint32_t reads_in_flight = 4;    ///< Per source; >= 1.
  double state_bytes_per_s = 0;    ///< Of missing ranges; 0: as fast as it goes.
};

struct LearnRead {
  PeerId source;
  size_t range = 0;
  uint64_t first = 0, count = 0;  ///< Elements.
  /// As it is held; nothing: it is missing.
  std::optional<StateLabel> label;
  uint64_t number = 0;
  Time asked_at{};
};

struct LearnAnswer {
  enum class What {
    kNothing,  ///< Nothing newer is to be had there.
    kState,    ///< The range itself.
    kMean,     ///< The mean of an update, for the range as it was held.
  };
  What what = What::kNothing;
  StateLabel label;   ///< Of the range now.
  StateLabel newest;  ///< Of the source's own state.
  Time waited{};      ///< At the source, before it was on its way.
};

class LearnPlan {
 public:
  explicit LearnPlan(const LearnOptions& options);

  /// The range is held; before any read, or after claim().
  void hold(size_t range, const StateLabel& label);
  /// The disk may have the range: the sources are asked for it when nothing else is missing.
  void expect(size_t range) { book_.expect(range); }
  /// True: it was missing and not asked for; nobody is asked before hold() or drop().
  bool claim(size_t range) { return book_.claim(range); }
  /// It is missing.
  void drop(size_t range) {
    book_.take(range);
    book_.put(range, std::nullopt);
  }
  /// Who can be asked from now on, each as if it had just come. If the swarm is at an earlier step
  /// than before, what is of a later one belongs to a history that it gave up, and is dropped.
  void set_sources(const std::vector<PeerId>& sources, Step swarm_at);

  /// To be sent now; each ends in answered() or failed().
  std::vector<LearnRead> reads(Time now);
  /// When reads() may have something new, if nothing happens before; at the latest.
  Time look_again(Time now) const;
  /// False: it is of before start_anew(), its answer is not to be used.
  bool awaits(const LearnRead& read) const { return flights_.count(read.number) != 0; }
  /// It has come: its source may be asked for the next while the range is being brought on. Of no
  /// use twice.
  void arrived(const LearnRead& read, const LearnAnswer& answer, Time now);
  /// What came is in the range.
  void answered(const LearnRead& read, const LearnAnswer& answer, Time now);
  void failed(const LearnRead& read, Time now);
  /// The whole was not what its label says: from the beginning, from one source at a time.
  void start_anew();

  size_t ranges() const { return book_.ranges(); }
  std::pair<uint64_t, uint64_t> elements(size_t range) const { return book_.elements(range); }
  const std::vector<std::optional<StateLabel>>& labels() const { return book_.labels(); }
  uint64_t elements_held() const { return book_.elements_held(); }
  /// Nothing is missing, though ranges may be behind.
  bool complete() const { return book_.complete(); }
  /// All ranges are of this label, and no source is known to be further or of another history.
  std::optional<StateLabel> whole() const;
  /// Nobody waits for answers that have not come: what is held is being used.
  void end_reads();
  /// All ranges are of this label, whatever the sources have, and none is being brought on.
  std::optional<StateLabel> uniform() const;
  /// The newest step that a source is known to have.
  std::optional<Step> newest() const;
  const LearnPace& pace() const { return pace_; }
  /// The sources cannot be kept up with (see LearnPace): nothing is read until `until`, then all is
  /// measured anew.
  void rest(Time until);

 private:
  using Source = LearnSource;
  struct Flight {
    size_t range = 0;
    bool polls = false;  ///< Nothing new is expected.
    bool here = false;   ///< It has come and is being taken.
  };
  std::optional<Flight> next_range(const Source& source, Time now) const;
  std::optional<size_t> behind(const Source& source) const;
  void drop_lost();
  bool may_ask(const PeerId& id, const Source& source, Time now) const;
  LearnRead take(const PeerId& id, Source& source, const Flight& flight, Time now);
  void spend(uint64_t elements, Time now);
  Source* landed(const LearnRead& read);

  LearnOptions options_;
  RangeBook book_;
  std::map<PeerId, Source> sources_;
  Step swarm_at_;
  std::map<uint64_t, Flight> flights_;  // by number
  uint64_t next_number_ = 1;
  size_t here_ = 0;              ///< Flights that have come.
  std::optional<size_t> alone_;  ///< Which source, after wrong bytes.
  Time next_state_{};            ///< options.state_bytes_per_s: no missing range before.
  Time rest_until_{};
  LearnPace pace_;
};

}  // namespace swarm::routing

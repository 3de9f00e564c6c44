/// Whether all trainers of a run read the same text. Pure; used by the coordinator.
///
/// The text of a run is the one that its peers (and so its history) remember; of a run without
/// history that of the first trainer that gets work. Whoever reads another one gets none.
#pragma once

#include <set>
#include <string>

#include "common/ids.h"
#include "common/run_text.h"

namespace swarm::routing {

class TextCheck {
 public:
  enum class Verdict {
    kSame,   ///< Or nobody can tell.
    kOther,  ///< It must not train.
    kWait,   ///< Peers that may remember the text are not heard yet.
  };

  /// What a peer was told earlier; the first word counts.
  void remember(const RunText& text) {
    if (!text_.known()) text_ = text;
  }
  /// A trainer that reads `text` wants work. `gathered`: every peer that is there has been heard.
  Verdict judge(const RunText& text, bool gathered) {
    if (!text.known()) return Verdict::kSame;
    if (!text_.known() && !gathered) return Verdict::kWait;
    remember(text);
    return text.fingerprint == text_.fingerprint ? Verdict::kSame : Verdict::kOther;
  }
  /// Whether this is the first time that `trainer` is refused, so that it is told once.
  bool first_refusal(const ActorId& trainer) {
    if (refused_.size() >= kMaxRefused) refused_.clear();
    return refused_.insert(trainer).second;
  }
  /// Not known() until somebody has said it.
  const RunText& text() const { return text_; }
  void forget() { *this = TextCheck(); }

 private:
  static constexpr size_t kMaxRefused = 1'024;
  RunText text_;
  std::set<ActorId> refused_;
};

}  // namespace swarm::routing

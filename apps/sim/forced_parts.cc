// FaultInjector: a network in two parts, of which one or both go on without the rest (docs/one_history.md).
#include "apps/sim/forced_parts.h"

#include <algorithm>

#include "actors/net/mail.h"
#include "apps/sim/faults.h"

namespace swarm::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kKills = 0.25;  ///< Instead, even while nothing is cut.
constexpr double kAnyParts =
    0.25;                        ///< Else each part has peers of every stage, where there are two.
constexpr double kNobody = 0.1;  ///< Is told to go on: the larger part does, or both wait.
constexpr double kBoth = 0.4;    ///< Are.
constexpr int kTold = 5;         ///< Times, a second apart: people ask again.
/// Draws of their own.
constexpr uint64_t kDraws = 0xd1f1;
constexpr double kGoesOn = 0.25;  ///< By itself.
constexpr int64_t kSlower = 8;

using Names = std::vector<std::string>;

std::pair<Names, Names> draw_parts(const std::map<std::string, Swarm::Node>& nodes,
                                   Random& random) {
  const bool any = random.chance(kAnyParts);
  std::map<int, Names> alike;  // by stage: those that stand for one another
  for (const auto& [name, node] : nodes) alike[any ? 0 : node.stage].push_back(name);
  Names left, right;
  for (auto& [stage, names] : alike)
    for (size_t dealt = 0; !names.empty(); ++dealt) {
      const size_t i = random.below(names.size());
      const bool to_left = any || dealt >= 2 ? random.chance(0.5) : dealt == 0;
      (to_left ? left : right).push_back(names[i]);
      names.erase(names.begin() + static_cast<ptrdiff_t>(i));
    }
  return {left, right};
}

std::string list(const Names& names) {
  std::string text;
  for (const auto& name : names) text += " " + name;
  return text;
}

}  // namespace

int64_t draw_divided(actors::TrainingOptions& training, uint64_t seed) {
  Random random(seed ^ kDraws);
  training.steps = 20 + static_cast<uint32_t>(random.below(20));
  if (random.chance(kGoesOn)) {
    training.partition = actors::PartitionPolicy::kContinue;
    training.continue_after = milliseconds(2'000 + random.below(6'000));
  }
  return kSlower;
}

/// One division at a time; what is drawn meanwhile is a kill.
void FaultInjector::draw_forced() {
  if (divided_ || random_.chance(kKills)) return draw_kill();
  const auto [left, right] = draw_parts(swarm_.nodes, random_);
  if (left.empty() || right.empty()) return draw_kill();

  const auto pairs = Cuts::between(left, right);
  const auto time = random_.spread(seconds(6), seconds(30));
  hooks_.log("-",
             "FAULT two parts for " + in_seconds(time) + ":" + list(left) + " |" + list(right));
  divided_ = true;
  cuts_.cut(pairs);
  agenda_.later(time, [this, pairs] {
    hooks_.log("-", "FAULT one network again");
    divided_ = false;
    cuts_.join(pairs);
  });
  if (random_.chance(kNobody)) return;
  const bool both = random_.chance(kBoth), first = random_.chance(0.5);
  const auto tell_to_go_on = [this](const Names& part) {
    const auto begin = random_.spread(seconds(1), seconds(15));
    for (int i = 0; i < kTold; ++i)
      agenda_.later(begin + seconds(i), [this, part] {
        hooks_.log(part.front(), "FAULT its part is told to go on");
        swarm_.order(actors::make_mail(proto::GoOn(), {}, milliseconds(5'000)),
                     {part.begin(), part.end()});
      });
  };
  if (both || first) tell_to_go_on(left);
  if (both || !first) tell_to_go_on(right);
}

}  // namespace swarm::sim

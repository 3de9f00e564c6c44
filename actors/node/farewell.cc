#include "actors/node/farewell.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "common/numbers.h"
#include "common/printable.h"
#include "routing/membership/ending.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {
namespace {

constexpr std::chrono::seconds kAskEvery{5};
constexpr std::chrono::seconds kPatience{10};
constexpr double kWordEvery_s = 10;

/// What the coordinator of the highest (term, node id) says.
struct Word {
  routing::RunWord run;
  proto::CoordinatorRecord said;
};
std::optional<Word> newest_word(const DhtRecords& records) {
  std::optional<Word> best;
  for (const auto& record : records) {
    proto::CoordinatorRecord one;
    if (!one.ParseFromString(record.value) || !one.active()) continue;
    const auto node = NodeId::from_bytes(one.node_id());
    if (!node || !writes(*node, record.subkey)) continue;
    const bool trains = one.vain() == 0 && one.open() && one.step() < one.max_steps();
    routing::RunWord word{Term(one.term()), *node, one.finished(), trains};
    if (!best || std::tie(best->run.term, best->run.node) < std::tie(word.term, word.node))
      best = Word{word, one};
  }
  return best;
}

std::string loss_of(const proto::CoordinatorRecord& said) {
  return said.has_last_loss() ? ", loss " + fixed(said.last_loss(), 4) : "";
}

/// "step 120 of 300, loss 2.4312"; "gathering: ..." while no step is open.
std::string progress_of(const proto::CoordinatorRecord& said) {
  if (!said.open()) return printable(said.phase(), 240);
  return fmt::format("step {} of {}{}", said.step(), said.max_steps(), loss_of(said));
}

constexpr size_t kNamed = 3;

/// Of a node that no other one can be heard from.
std::string alone(const std::vector<JoinFailure>& failures) {
  std::string text = "has no link to any other node";
  for (size_t i = 0; i < std::min(failures.size(), kNamed); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "; dials " : ", ", failures[i].endpoint.text(),
                        printable(failures[i].error.detail, 120));
  return text + "; it goes on as soon as one reaches the other";
}

class Farewell {
 public:
  static constexpr const char* name = "farewell";
  using Self = caf::stateful_actor<Farewell>;

  caf::behavior start(Self* self, FarewellDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    return {
        [this](begin_atom) {
          began_s_ = now_s();
          self_->send(self_, tick_atom::value);
        },
        [this](tick_atom) { on_tick(); },
        [this](reading_atom) { ending_.read(now_s()); },
        [this](collected_atom, bool finished) {
          if (!(finished || ending_.finished()) || deps_.stays || deps_.collects) return;
          deps_.say("leaves: training is finished, and its records are collected");
          leave();
        },
    };
  }

 private:
  double now_s() const {
    return std::chrono::duration<double>(self_->clock().now().time_since_epoch()).count();
  }

  void on_tick() {
    if (left_) return;
    if (ending_.may_leave(now_s(), deps_.linger_s) && !deps_.stays && !deps_.collects) {
      deps_.say("leaves: training is finished");
      return leave();
    }
    self_->delayed_send(self_, kAskEvery, tick_atom::value);
    self_->request(deps_.dht, kPatience, dht_get_atom::value, std::string(kCoordinatorKey))
        .then(
            [this](const DhtRecords& records) {
              deps_.alive();
              if (const auto word = newest_word(records)) hear(*word);
              if (records.empty() && now_s() - began_s_ > kWordEvery_s) tell_nobody_leads();
            },
            [](const caf::error&) {});
  }

  void tell_nobody_leads() {
    self_->request(deps_.dht, kPatience, dht_status_atom::value)
        .then(
            [this](const DhtStatus& status) {
              if (!status.joined) return tell(alone(status.join_failures));
              tell(heard_ ? "waits: the coordinator is heard no more; the other nodes are cut off "
                            "or gone, and none with `trainer = true` is here"
                          : "waits: no coordinator is known yet; a node with `trainer = true` "
                            "hosts it");
            },
            [](const caf::error&) {});
  }

  void hear(const Word& word) {
    heard_ = true;
    const bool before = ending_.finished();
    ending_.hear(word.run, now_s());
    if (!ending_.finished() && (!deps_.trainer || !word.said.open())) tell(progress_of(word.said));
    if (ending_.finished() == before) return;
    if (before) return deps_.say("training goes on: the swarm has gone back");
    const std::string result =
        fmt::format("training is finished: {} steps{}; records in {}", word.said.max_steps(),
                    loss_of(word.said), deps_.records);
    const bool leaves = !deps_.stays && !deps_.collects;
    deps_.say(leaves
                  ? fmt::format("{}; this node leaves in {:g} s (node.linger_s; --stay keeps it)",
                                result, deps_.linger_s)
                  : result);
    if (!std::exchange(told_, true)) deps_.finished();
  }

  /// What is new, not too often.
  void tell(const std::string& line) {
    if (line.empty() || line == last_line_ || now_s() < last_at_s_ + kWordEvery_s) return;
    last_line_ = line;
    last_at_s_ = now_s();
    deps_.say(line);
  }

  void leave() {
    if (!std::exchange(left_, true)) deps_.leave();
  }

  Self* self_ = nullptr;
  FarewellDeps deps_;
  routing::Ending ending_;
  std::string last_line_;
  double began_s_ = 0, last_at_s_ = 0;
  bool heard_ = false;  // a coordinator
  bool told_ = false, left_ = false;
};

caf::behavior farewell(Farewell::Self* self, FarewellDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_farewell(caf::actor_system& system, FarewellDeps deps) {
  return system.spawn(farewell, std::move(deps));
}

}  // namespace swarm::actors

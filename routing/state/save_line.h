/// Snapshots of a stage on their way to its disk: one is being written and at most one more waits, the
/// newest, however many are asked for and however slow the disk is. So copies of the state never pile
/// up. Whoever asked for one that a newer takes the place of is told when that one is durable.
///
///     ask -> (freeze) -> frozen -> (write) -> written
///                               -> waits, until the one before is written
///
/// Pure: owns the frozen copies, freezes and writes nothing itself. Not thread-safe; one owner. The
/// callbacks are called last: they may ask again.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/strong_id.h"

namespace swarm::routing {

template <class State>
class SaveLine {
 public:
  using Done = std::function<void(const Status&)>;
  /// What the owner has to do now.
  struct Todo {
    bool freeze = false;         ///< Copy the state, then call frozen().
    std::optional<State> write;  ///< Bring this to the disk, then call written().
  };

  /// A snapshot is wanted of the state as it is now, at `step`. `changes`: another state of the same
  /// step may differ from this one.
  Todo ask(Step step, bool changes, Done done) {
    if (auto* same = changes ? nullptr : of_step(step)) {
      same->done.push_back(std::move(done));
      return {};
    }
    if (freezing_) {
      again_.push_back(std::move(done));
      return {};
    }
    freezing_.emplace(One{step, {}, {}});
    if (waiting_) freezing_->done = std::move(waiting_->done);
    waiting_.reset();  // before the next copy is made
    freezing_->done.push_back(std::move(done));
    return {true, {}};
  }

  /// The copy, which is of `step`, or why there is none. Requires that one was to be made.
  Todo frozen(Step step, Result<State> state) {
    One one = std::move(*freezing_);
    freezing_.reset();
    one.step = step;
    Todo todo;
    if (!again_.empty()) {
      todo.freeze = true;
      freezing_.emplace(One{step, {}, std::exchange(again_, {})});
    }
    if (!state) {
      tell(one.done, state.error());
      return todo;
    }
    if (writing_ && todo.freeze) {  // a newer one is about to be made
      freezing_->done.insert(freezing_->done.end(), one.done.begin(), one.done.end());
    } else if (writing_) {
      one.state = *std::move(state);
      waiting_ = std::move(one);
    } else {
      writing_ = std::move(one);
      todo.write = *std::move(state);
    }
    return todo;
  }

  /// The one that was to be written is on the disk, or never will be.
  Todo written(const Status& status) {
    One one = std::move(*writing_);
    writing_.reset();
    Todo todo;
    if (waiting_) {
      todo.write = std::move(waiting_->state);
      writing_ = std::move(waiting_);
      writing_->state.reset();
      waiting_.reset();
    }
    tell(one.done, status);
    return todo;
  }

  /// Copies of later steps that are not being written yet are of a history that was given up.
  void forget_newer(Step step) {
    if (!waiting_ || waiting_->step <= step) return;
    const One one = *std::exchange(waiting_, std::nullopt);
    tell(one.done, Error{ErrorCode::kNotReady, "its history was given up"});
  }

  /// It takes too long: nobody waits for it any more, but the next one does.
  void give_up(const Error& error) {
    if (writing_) tell(std::exchange(writing_->done, {}), error);
  }

 private:
  struct One {
    Step step;
    std::optional<State> state;  ///< Only while it waits: what is written is its writer's.
    std::vector<Done> done;
  };

  One* of_step(Step step) {
    for (auto* one : {&freezing_, &waiting_, &writing_})
      if (*one && (*one)->step == step) return &**one;
    return nullptr;
  }
  static void tell(const std::vector<Done>& all, const Status& status) {
    for (const Done& done : all) done(status);
  }

  std::optional<One> freezing_, waiting_, writing_;
  std::vector<Done> again_;  ///< Asked while a copy was made that may be too old for them.
};

}  // namespace swarm::routing

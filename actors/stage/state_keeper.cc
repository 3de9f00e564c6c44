#include "actors/stage/state_keeper.h"

#include <caf/send.hpp>
#include <limits>

#include "actors/net/requests.h"
#include "actors/stage/residuals.h"
#include "actors/state/checkpointer.h"
#include "actors/state/mirror.h"
#include "common/names.h"
#include "tensor/core/flat.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {

using std::chrono::milliseconds;

namespace {

/// A snapshot of a peer that leaves has this and what its bytes need.
constexpr milliseconds kLeastLeave{10'000};
/// A mirror that lists no files in this time hangs: a peer that starts does without.
constexpr milliseconds kMirrorAnswers{10'000};
constexpr milliseconds kNeighboursBusy{2'000};
/// Between two looks at a mirror without which no run begins.
constexpr milliseconds kMirrorAgain{5'000};
/// The swarm is waited for so long before another snapshot is taken from the mirror.
constexpr double kPatience_s = 5;

/// In steps replicas have all in common; else what they average, at most.
uint64_t checksum_of(const tensor::Stage& stage, const TrainingOptions& training) {
  return training.replicas_equal() ? stage.state_checksum()
                                   : stage.averaged_checksum(training.average);
}

}  // namespace

StateKeeper::StateKeeper(StageContext& context, StageUpdates& updates, Done done)
    : context_(context),
      updates_(updates),
      done_(std::move(done)),
      learner_(context, updates, told_,
               [this](const StateLearner::Learned& state) { learned(state); }),
      writer_(context, [this](SnapshotWriter::Frozen done) { copy(std::move(done)); }) {}

std::string StateKeeper::Origin::name() const {
  switch (kind) {
    case Kind::kSeed:
      return "seed";
    case Kind::kOwnSnapshot:
      return "own_snapshot";
    case Kind::kNeighbour:
      return copies ? "copies" : "neighbours";
  }
  return "";
}

// -- loading

void StateKeeper::initialize() {
  if (!context_.deps.mirror) return draw();
  const auto wait = [this](const std::string& reason, milliseconds pause) {
    draw_at_s_ = context_.now_s() + std::chrono::duration<double>(pause).count();
    done_(reason, pause);
  };
  if (context_.now_s() < draw_at_s_) return done_("the mirror is asked again soon", kMirrorAgain);
  take(/*any=*/true, [this, wait](Took took) {
    switch (took) {
      case Took::kNothingThere:
        return draw();
      case Took::kOne:
        return done_("the mirror has snapshots of this run", milliseconds(1'000));
      case Took::kNone:
        return wait("no snapshot that the mirror has of this run can be taken", kMirrorRetry);
      case Took::kFailed:
        return wait("no run begins while its mirror cannot be listed", kMirrorAgain);
    }
  });
}

void StateKeeper::draw() {
  context_.device.run<Loaded>(
      [updater = updates_.updater(),
       training = context_.deps.training](tensor::Stage& stage) -> Result<Loaded> {
        if (updater) updater->clear();
        stage.initialize();
        stage.set_history(0);
        return Loaded{Step(0), checksum_of(stage, training)};
      },
      [this](Result<Loaded> made, double) {
        const std::string reason = "initialised from the seed";
        if (!made) {
          context_.at = {};
          context_.tell_standing();
          failed("seed", made.error());
          return done_(reason, milliseconds(0));
        }
        loaded(*made, {});
        context_.record(records::Initialized{});
        save([this, reason](const Status&) { done_(reason, milliseconds(0)); });
      });
}

void StateKeeper::restore_own(Step step) {
  context_.self
      ->request(context_.deps.checkpointer, writer_.limit(state_bytes()), load_atom::value,
                context_.stream(), step.value())
      .then(
          [this](const Buffer& state) {
            load(state, {Origin::Kind::kOwnSnapshot, {}, 0});
          },
          [this, step](const caf::error& error) {
            failed("own_snapshot", from_caf(error));
            writer_.snapshots().spoiled(step);  // fall back to an older one or a neighbour
            done_("the snapshot could not be read", milliseconds(0));
          });
}

std::vector<StateHolder> StateKeeper::holders(const proto::RegisterPeerReply& verdict) {
  using routing::StateLabel;
  const StateLabel word{Step(verdict.step()), verdict.checksum(),
                        routing::History(verdict.history())};
  told_.told(word.checksum != 0 ? std::optional<StateLabel>(word) : std::nullopt);
  std::vector<StateHolder> holders, refused;
  for (const auto& source : verdict.sources()) {
    auto peer = from_proto(source);
    if (!peer || peer->id == context_.deps.id) continue;
    const ActorId state = beside(peer->id, Role::kState);
    (told_.refused(state) ? refused : holders).push_back({state, peer->endpoint, peer->node_name});
  }
  return holders.empty() ? refused : holders;
}

void StateKeeper::learned(const StateLearner::Learned& state) {
  if (state.changed) {
    loaded({state.label.step, state.label.checksum, state.label.history},
           {Origin::Kind::kNeighbour, state.from, 0});
    context_.record(records::Restored{"neighbours", state.from, state.bytes,
                                      records::seconds_as_millis(state.seconds)});
  }
  done_("the state is learned", milliseconds(0));
}

bool StateKeeper::fetch(const proto::RegisterPeerReply& verdict) {
  FetchState fetch;
  fetch.stage = context_.deps.stage;
  fetch.max_bytes = state_bytes();
  if (verdict.exact()) fetch.exact_step = Step(verdict.step());
  fetch.sources = holders(verdict);
  if (fetch.sources.empty()) return false;
  const double cap = context_.deps.state_transfer_options.state_bytes_per_s;
  const double least = cap > 0 ? std::min(kSlowestLink, cap / 2) : kSlowestLink;
  const routing::BytePace slowest(least, context_.deps.options.transfer_limit);
  const auto limit = std::chrono::duration_cast<milliseconds>(slowest.limit(fetch.max_bytes));
  context_.self->request(context_.deps.state_transfer, limit, fetch_atom::value, std::move(fetch))
      .then(
          [this, wanted = Step(verdict.step()),
           copies = verdict.from_copies()](const FetchedState& fetched) {
            // At their own pace one period behind will do.
            const uint64_t behind = updates_.states_change() ? 1 : 0;
            if (fetched.step + behind < wanted)  // the neighbours are about to apply the update
              return done_("the neighbours are not yet there", milliseconds(50));
            if (fetched.kept_bytes > 0)
              context_.record(
                  records::DownloadResumed{fetched.kept_bytes, 0, fetched.state.size()});
            load(fetched.state,
                 {Origin::Kind::kNeighbour, fetched.source, fetched.seconds, fetched.from, copies});
          },
          [this, copies = verdict.from_copies()](const caf::error& error) {
            if (from_caf(error).code == ErrorCode::kOverloaded)
              return done_("others are reading the neighbours' states", kNeighboursBusy);
            failed(copies ? "copies" : "neighbours", from_caf(error));
            done_("the neighbours could not supply the state", milliseconds(200));
          });
  return true;
}

void StateKeeper::load(const Buffer& state, const Origin& origin) {
  context_.device.run<Loaded>(
      [state, updater = updates_.updater(),
       training = context_.deps.training](tensor::Stage& stage) -> Result<Loaded> {
        if (updater) updater->clear();
        auto loaded = stage.load_state(state);
        if (!loaded) return loaded.error();
        stage.clear_gradients();
        stage.set_history(tensor::history_of(state));
        return Loaded{Step(stage.step()), checksum_of(stage, training),
                      routing::History(stage.history()),
                      tensor::digest(state.data(), state.size())};
      },
      [this, origin, bytes = state.size()](Result<Loaded> state, double) {
        if (state && refuses(*state, origin)) {
          return done_("the state was refused", milliseconds(0));
        } else if (state) {
          loaded(*state, origin);
          const bool fetched = origin.kind == Origin::Kind::kNeighbour;
          // What is stored under its number may be an earlier state of the period.
          if (updates_.states_change() && fetched) writer_.snapshots().spoiled(state->step);
          records::Restored restored{origin.name(), {}, bytes, {}};
          if (fetched) {
            restored.from = origin.neighbours;
            restored.took = records::seconds_as_millis(origin.seconds);
          }
          context_.record(restored);
        } else {
          failed(origin.name(), state.error());
        }
        const auto done = [this] { done_("the state is loaded", milliseconds(0)); };
        if (!state || origin.kind != Origin::Kind::kOwnSnapshot) return done();
        restore_residuals(context_, state->step, state->digest, writer_.limit(state_bytes()), done);
      });
}

void StateKeeper::loaded(const Loaded& state, const Origin& origin) {
  context_.at = {true, state.step, state.step, state.step};
  context_.checksum = state.checksum;
  context_.history = state.history;
  if (origin.kind == Origin::Kind::kOwnSnapshot)
    context_.residuals = tensor::Residuals{};  // its own are read next
  else
    drop_residuals(context_, "the peer goes on from another state");
  writer_.snapshots().is_at(state.step, state.history);
  context_.tell_standing();
  updates_.loaded(origin.kind == Origin::Kind::kSeed);
  context_.host->forget_answers();
  const auto& deps = context_.deps;
  deps.events->loaded({deps.stage.value(), deps.id, deps.node_name, state.step.value(),
                       state.checksum, origin.name(), state.history.value()});
}

bool StateKeeper::refuses(const Loaded& state, const Origin& origin) {
  const bool fetched = origin.kind == Origin::Kind::kNeighbour && !updates_.states_change();
  if (!fetched || !told_.contradicts({state.step, state.checksum, state.history})) return false;
  give_up_state(context_, updates_);
  for (const ActorId& source : origin.from) told_.refuse(source);
  context_.record(records::StateRefused{origin.neighbours, {state.checksum}, {told_.checksum()}});
  return true;
}

void StateKeeper::failed(const std::string& source, const Error& error) {
  context_.record(records::LoadFailed{source, error});
}

// -- snapshots

milliseconds StateKeeper::leave_limit() const {
  return kLeastLeave + writer_.some_times(state_bytes());
}

uint64_t StateKeeper::state_bytes() const {
  return tensor::max_state_bytes(context_.deps.optimizer.kind, context_.num_parameters);
}

/// A coordinator waits as long as the peer does, where that is long.
void StateKeeper::describe_to(proto::RegisterPeer& message) const {
  writer_.describe_to(message);
  const milliseconds limit = writer_.limit(state_bytes());
  if (limit > context_.deps.options.disk_limit)
    message.set_save_limit_ms(static_cast<uint64_t>(limit.count()));
}

/// With local updates the state is numbered by the period, within which it goes on.
std::function<Result<FrozenState>(tensor::Stage&)> StateKeeper::freeze_job() const {
  return [number = updates_.number_of_state()](tensor::Stage& stage) -> Result<FrozenState> {
    if (number)
      if (auto set = stage.set_step(number->value()); !set) return set.error();
    return FrozenState{stage.save_state(), Step(stage.step()), {}, {}};
  };
}

/// The jobs of the device end in their order: `at` is where the stage was when this was frozen, unless
/// its state has been given up meanwhile, or is of another step than its owner says.
Result<FrozenState> StateKeeper::still_here(Result<FrozenState> frozen) const {
  if (!frozen) return frozen;
  const auto& at = context_.at;
  const bool same = updates_.states_change() || frozen->step == at.applied;
  if (at.has_state && same)
    return FrozenState{frozen->state, frozen->step, context_.history, context_.residuals};
  return Error{ErrorCode::kNotReady, "the state is being replaced", 100};
}

void StateKeeper::save(SnapshotWriter::Done done) {
  writer_.save(updates_.number_of_state().value_or(context_.at.applied), updates_.states_change(),
               std::move(done));
}

void StateKeeper::take(bool any, const std::function<void(Took)>& then) {
  const auto failed = [this, then](const caf::error& error) {
    if (context_.now_s() >= tell_failure_s_) {
      const std::chrono::duration<double> pause(kMirrorTold);
      tell_failure_s_ = context_.now_s() + pause.count();
      context_.record(records::MirrorFailed{from_caf(error)});
    }
    then(Took::kFailed);
  };
  const auto taken = [this, then](bool some) {
    if (!some) return then(Took::kNone);
    writer_.list([then] { then(Took::kOne); });
  };
  const auto offered = [this, any, then, failed, taken](bool some) {
    if (!some) return then(Took::kNothingThere);
    context_.self
        ->request(context_.deps.mirror, writer_.limit(state_bytes()), take_atom::value, any)
        .then(taken, failed);
  };
  context_.self->request(context_.deps.mirror, kMirrorAnswers, offers_atom::value, any)
      .then(offered, failed);
}

void StateKeeper::take_from_mirror(const std::function<void()>& then) {
  if (!context_.deps.mirror) return then();
  look_at_s_ = context_.now_s() + kPatience_s;
  take(/*any=*/false, [then](Took) { then(); });
}

void StateKeeper::take_another() {
  if (!context_.deps.mirror || context_.at.has_state || context_.now_s() < look_at_s_) return;
  look_at_s_ = std::numeric_limits<double>::infinity();  // until this is over
  take(/*any=*/true, [this](Took took) {
    const bool one = took == Took::kOne;
    look_at_s_ = context_.now_s() + (one ? 0 : kMirrorRetry.count());
    if (one) context_.host->register_peer();
  });
}

void StateKeeper::mirrored(const std::function<void()>& then) {
  if (!context_.deps.mirror) return then();
  context_.self->request(context_.deps.mirror, leave_limit(), mirror_atom::value)
      .then([then] { then(); }, [then](const caf::error&) { then(); });
}

void StateKeeper::copy(SnapshotWriter::Frozen done) {
  context_.device.run<FrozenState>(
      freeze_job(), [this, done = std::move(done)](Result<FrozenState> found, double) {
        done(still_here(std::move(found)));
      });
}

caf::result<FrozenState> StateKeeper::freeze() {
  if (!context_.at.has_state) return to_caf(context_.phase.refusal());
  auto promise = context_.self->make_response_promise();
  context_.device.run<FrozenState>(freeze_job(),
                                   [this, promise](Result<FrozenState> found, double) mutable {
                                     auto frozen = still_here(std::move(found));
                                     if (!frozen) return promise.deliver(to_caf(frozen.error()));
                                     frozen->residuals = {};
                                     promise.deliver(*frozen);
                                   });
  return promise;
}

/// The jobs of the device end in their order: `at` is what the range was read at.
caf::result<RangeOfState> StateKeeper::range(uint64_t first, uint64_t count) {
  if (updates_.states_change())
    return to_caf(ErrorCode::kInvalidArgument, "periods have no state to learn by steps");
  if (!context_.at.has_state) return to_caf(context_.phase.refusal());
  auto promise = context_.self->make_response_promise();
  context_.device.run<RangeOfState>(
      [first, count](tensor::Stage& stage) -> Result<RangeOfState> {
        auto range = stage.save_range(first, count);
        if (!range) return range.error();
        return RangeOfState{{Step(stage.step())}, stage.counters(), *range};
      },
      [this, promise](Result<RangeOfState> read, double) mutable {
        if (!read) return promise.deliver(to_caf(read.error()));
        if (!context_.at.has_state || read->label.step != context_.at.applied)
          return promise.deliver(to_caf(ErrorCode::kNotReady, "the state is being replaced"));
        read->label.checksum = context_.checksum;
        read->label.history = context_.history;
        promise.deliver(*read);
      });
  return promise;
}

}  // namespace swarm::actors

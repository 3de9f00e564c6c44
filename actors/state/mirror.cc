#include "actors/state/mirror.h"

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <optional>
#include <utility>

#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "storage/mirror_plan.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {
namespace {

using storage::MirrorFile;

struct MirrorState {
  static constexpr const char* name = "mirror";
  using Self = caf::stateful_actor<MirrorState>;

  void init(Self* actor, MirrorDeps the_deps) {
    self = actor;
    deps.emplace(std::move(the_deps));
    folder.emplace(deps->options);
    install_default_handlers(self);
  }

  std::string stream() const { return stage_key(deps->stage.value()); }
  records::Millis since(caf::actor_clock::time_point began) const {
    return records::seconds_as_millis(
        std::chrono::duration<double>(self->clock().now() - began).count());
  }
  template <class Event>
  void record(uint64_t step, const Event& event) const {
    deps->events->record(deps->stage.value(), static_cast<int64_t>(step), event);
  }

  // -- to the mirror

  /// Every snapshot of the stage that the store has in `stream`, with its history.
  Result<storage::MirrorFiles> snapshots_in(const std::string& stream) const {
    const auto steps = deps->store->steps(stream);
    if (!steps) return steps.error();
    storage::MirrorFiles found;
    for (const uint64_t step : *steps) {
      const auto front = deps->store->front({stream, step}, tensor::kMaxHeadBytes);
      if (front) found.push_back({step, deps->stage.value(), tensor::history_of(*front)});
    }
    return found;
  }

  Result<std::optional<MirrorFile>> next() const {
    const auto own = snapshots_in(stream());
    if (!own) return own.error();
    const auto files = folder->list();
    if (!files) return files.error();
    return storage::to_write(*own, *files, deps->stage.value(), deps->num_stages);
  }

  void write_all() {
    if (const Status done = withdraw(); !done) failed(done.error());
    std::optional<MirrorFile> last;
    for (;;) {
      const auto file = next();
      if (!file) return failed(file.error());
      if (!*file) return;
      if (*file == last) return try_later();  // not listed yet
      last = *file;
      const Status written = write(**file);
      // Another peer of the stage writes it, and this one should that die; or it is pruned meanwhile.
      if (written.code() == ErrorCode::kOverloaded || written.code() == ErrorCode::kNotFound)
        return try_later();
      if (!written) return failed(written.error());
      prune(**file);
    }
  }

  Status write(const MirrorFile& file) {
    const auto began = self->clock().now();
    const auto state = deps->store->get({stream(), file.step});
    if (!state) return state.error();
    // Of an update since, whose snapshot has the same step.
    if (tensor::history_of(*state) != file.history)
      return Error{ErrorCode::kOverloaded, "the snapshot was replaced"};
    const Status written = folder->write(file, *state);
    if (written.code() == ErrorCode::kAlreadyExists) return {};
    if (!written) return written;
    record(file.step, records::MirrorWritten{state->size(), since(began)});
    return {};
  }

  /// The snapshots of those streams that are `wanted`.
  template <class Wanted>
  Result<storage::MirrorFiles> snapshots_where(const std::vector<std::string>& streams,
                                               Wanted wanted) const {
    storage::MirrorFiles files;
    for (const std::string& one : streams) {
      if (!wanted(one)) continue;
      const auto found = snapshots_in(one);
      if (!found) return found.error();
      files.insert(files.end(), found->begin(), found->end());
    }
    return files;
  }

  /// Whoever has lost everything is not to take up a line of history that was given up: what was set aside with one
  /// goes, unless it is of the one that goes on.
  Status withdraw() {
    const auto streams = deps->store->streams();
    if (!streams) return streams.error();
    const auto given_up = [this](const std::string& one) {
      return aside_of(one) == stream() && aside_name(one) != kAsideBefore;
    };
    const auto stays = [this](const std::string& one) {
      return one == stream() || one == aside_key(kAsideBefore, stream());
    };
    if (std::none_of(streams->begin(), streams->end(), given_up)) return {};
    const auto aside = snapshots_where(*streams, given_up), stay = snapshots_where(*streams, stays);
    const auto files = folder->list();
    for (const auto* read : {&aside, &stay, &files})
      if (!*read) return read->error();
    Status done;
    for (const MirrorFile& file : storage::to_withdraw(*files, *aside, *stay))
      if (Status removed = folder->remove(file); !removed) done = removed;
    return done;
  }

  void prune(const MirrorFile& written) {
    const auto files = folder->list();
    if (!files) return failed(files.error());
    for (const MirrorFile& file : storage::to_prune(written, *files, deps->num_stages, deps->keep))
      if (const Status removed = folder->remove(file); !removed) failed(removed.error());
    const auto complete = storage::complete_files(*files, deps->stage.value(), deps->num_stages);
    if (!complete.empty()) folder->remove_parts(complete.front().step);
  }

  void failed(const Error& why) {
    try_later();
    const auto now = self->clock().now();
    if (told && now < *told + kMirrorTold) return;
    told = now;
    deps->events->record(deps->stage.value(), -1, records::MirrorFailed{why});
  }

  void try_later() {
    if (std::exchange(waits, true)) return;
    self->delayed_send(self, kMirrorRetry, tick_atom::value);
  }

  // -- from the mirror

  /// From the newest to the oldest, then from the newest again. `any`: also older than what the store has.
  Result<std::optional<MirrorFile>> offer(bool any) {
    if (const Status done = withdraw(); !done) failed(done.error());
    const auto steps = deps->store->steps(stream());
    if (!steps) return steps.error();
    const auto files = folder->list();
    if (!files) return files.error();
    const auto file =
        storage::to_take(*files, deps->stage.value(), deps->num_stages, *steps, {!any, looked_at});
    if (!file) looked_at.reset();
    return file;
  }

  bool take(bool any) {
    for (;;) {
      const auto file = offer(any);
      if (!file) failed(file.error());
      if (!file || !*file) return false;
      looked_at = (*file)->step;
      if (take(**file)) return true;
    }
  }

  bool take(const MirrorFile& file) {
    const auto began = self->clock().now();
    auto state = folder->read(file);
    if (state && tensor::history_of(*state) != file.history)
      state = Error{ErrorCode::kCorruptCheckpoint, "the snapshot is of another history"};
    if (state) {
      // The next snapshot prunes.
      const Status stored = deps->store->put({stream(), file.step}, *state, UINT32_MAX);
      if (!stored) return failed(stored.error()), false;
      record(file.step, records::MirrorTaken{state->size(), since(began)});
      return true;
    }
    record(file.step, records::MirrorRefused{mirror_name(file), state.error()});
    if (state.code() == ErrorCode::kCorruptCheckpoint) folder->set_aside(file);
    return false;
  }

  Self* self = nullptr;
  std::optional<MirrorDeps> deps;
  std::optional<storage::MirrorFolder> folder;
  std::optional<caf::actor_clock::time_point> told;  ///< When failed() has said so.
  bool waits = false;                                ///< For kMirrorRetry.
  std::optional<uint64_t> looked_at;                 ///< The step that take() was at last.
};

caf::behavior mirror(MirrorState::Self* self, const MirrorDeps& deps) {
  self->state.init(self, deps);
  return {
      [self](mirror_atom) { self->state.write_all(); },
      [self](tick_atom) {
        self->state.waits = false;
        self->state.write_all();
      },
      [self](offers_atom, bool any) -> caf::result<bool> {
        const auto file = self->state.offer(any);
        if (!file) return to_caf(file.error());
        return file->has_value();
      },
      [self](take_atom, bool any) { return self->state.take(any); },
  };
}

}  // namespace

caf::actor spawn_mirror(caf::actor_system& system, MirrorDeps deps) {
  return deps.detached ? system.spawn<caf::detached>(mirror, std::move(deps))
                       : system.spawn(mirror, std::move(deps));
}

}  // namespace swarm::actors

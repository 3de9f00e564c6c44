#include "apps/sim/machines.h"

#include <algorithm>

#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/stage/compute.h"
#include "actors/state/aside.h"
#include "actors/state/checkpointer.h"
#include "actors/state/mirror.h"
#include "apps/sim/arithmetic_stage.h"
#include "common/names.h"

namespace swarm::sim {

using actors::asides_atom;
using actors::compute_atom;
using actors::copies_atom;
using actors::copy_atom;
using actors::drop_before_atom;
using actors::forget_newer_atom;
using actors::history_atom;
using actors::keep_atom;
using actors::keep_before_atom;
using actors::leave_line_atom;
using actors::list_atom;
using actors::load_atom;
using actors::LocalTask;
using actors::mirror_atom;
using actors::offers_atom;
using actors::pin_atom;
using actors::retain_atom;
using actors::run_later_atom;
using actors::save_atom;
using actors::save_beside_atom;
using actors::take_atom;

Buffer FakeTextData::microbatch(tensor::Split, const std::vector<uint64_t>& samples) const {
  std::string bytes;
  for (uint64_t sample : samples)
    for (int32_t t = 0; t <= sequence_; ++t) {
      int32_t value = sample_value(sample);
      bytes.append(reinterpret_cast<const char*>(&value), 4);
    }
  return Buffer::from_string(std::move(bytes));
}

caf::behavior slow_compute(caf::event_based_actor* self, const caf::actor& compute,
                           ComputeTimes times) {
  actors::install_default_handlers(self);
  using TimePoint = caf::actor_clock::time_point;
  return {
      [=](compute_atom) { return self->delegate(compute, compute_atom::value); },
      [=, free_at = TimePoint()](compute_atom,
                                 const actors::ComputeJob& job) mutable -> caf::result<double> {
        auto promise = self->make_response_promise();
        const auto takes = times.job + job.passes * times.pass;
        const double seconds = std::chrono::duration<double>(takes).count();
        const TimePoint now = self->clock().now();
        free_at = std::max(free_at, now + takes);
        auto work = [=]() mutable {
          self->request(compute, caf::infinite, compute_atom::value, job)
              .then([=](double) mutable { promise.deliver(seconds); },
                    [=](const caf::error& e) mutable { promise.deliver(e); });
        };
        self->delayed_send(self, free_at - now, run_later_atom::value, LocalTask(work));
        return promise;
      },
      [](run_later_atom, const LocalTask& task) { task(); },
  };
}

namespace {

/// Calls what it is given when all that was written so far is durable.
auto when_durable(caf::event_based_actor* self, const std::shared_ptr<Disk>& disk,
                  std::chrono::nanoseconds fsync) {
  return [=](std::function<void()> done) {
    const uint64_t number = disk->changes();
    self->delayed_send(self, fsync + disk->trouble().slower, run_later_atom::value, LocalTask([=] {
                         disk->sync(number);
                         done();
                       }));
  };
}

caf::result<Buffer> read_later(caf::event_based_actor* self, const caf::actor& checkpointer,
                               std::chrono::nanoseconds time, const std::string& stream,
                               uint64_t step) {
  auto promise = self->make_response_promise<Buffer>();
  const auto ask = [=]() mutable {
    self->request(checkpointer, caf::infinite, load_atom::value, stream, step)
        .then([=](const Buffer& found) mutable { promise.deliver(found); },
              [=](const caf::error& e) mutable { promise.deliver(e); });
  };
  self->delayed_send(self, time, run_later_atom::value, LocalTask(ask));
  return promise;
}

template <class... Order>
caf::result<void> write_in_time(caf::event_based_actor* self, const caf::actor& checkpointer,
                                const std::function<void(std::function<void()>)>& when_synced,
                                const Order&... order) {
  auto promise = self->make_response_promise();
  self->request(checkpointer, caf::infinite, order...)
      .then([=] { when_synced([=]() mutable { promise.deliver(caf::unit); }); },
            [=](const caf::error& e) mutable { promise.deliver(e); });
  return promise;
}

struct Save {
  std::string stream;
  uint64_t step = 0;
  Buffer state;
  bool replace = false, spare_one = false;
};

caf::result<uint64_t> save_in_time(caf::event_based_actor* self, const caf::actor& checkpointer,
                                   const std::function<void(std::function<void()>)>& when_synced,
                                   const SnapshotNoted& snapshot, const Save& save) {
  auto promise = self->make_response_promise();
  self->request(checkpointer, caf::infinite, save_atom::value, save.stream, save.step, save.state,
                save.replace, save.spare_one)
      .then(
          [=](uint64_t saved) {
            when_synced([=]() mutable {
              snapshot(save.stream, saved, false);
              promise.deliver(saved);
            });
          },
          [=](const caf::error& e) mutable { promise.deliver(e); });
  return promise;
}

/// Nothing of these streams is promised any more.
caf::result<std::vector<std::string>> set_aside_in_time(
    caf::event_based_actor* self, const caf::actor& checkpointer,
    const std::function<void(std::function<void()>)>& when_synced, const SnapshotNoted& snapshot,
    const actors::LeaveLine& order) {
  auto promise = self->make_response_promise();
  for (const std::string& stream : order.streams) snapshot(stream, 0, true);
  self->request(checkpointer, caf::infinite, leave_line_atom::value, order)
      .then(
          [=](const std::vector<std::string>& lines) {
            when_synced([=]() mutable { promise.deliver(lines); });
          },
          [=](const caf::error& e) mutable { promise.deliver(e); });
  return promise;
}

/// A snapshot is listed when it is durable, until it is dropped.
std::vector<uint64_t> durable_steps(const Disk& disk, const std::string& stream) {
  std::vector<uint64_t> steps;
  const auto found = disk.durable().find(stream);
  const auto seen = disk.content().find(stream);
  if (found == disk.durable().end() || seen == disk.content().end()) return steps;
  for (const auto& [step, value] : found->second)
    if (seen->second.count(step) != 0) steps.insert(steps.begin(), step);
  return steps;
}

caf::message_handler reads_of(caf::event_based_actor* self, const caf::actor& checkpointer,
                              const std::shared_ptr<Disk>& disk, DiskTimes times) {
  const auto pass_on = [=](const auto&... order) { return self->delegate(checkpointer, order...); };
  return {
      [=](load_atom, const std::string& stream, uint64_t step) {
        return read_later(self, checkpointer, times.read, stream, step);
      },
      [=](list_atom, const std::string& stream) { return durable_steps(*disk, stream); },
      [=](history_atom, const std::string& stream, uint64_t step) {
        return pass_on(history_atom::value, stream, step);
      },
      [=](copies_atom copies, const std::vector<uint64_t>& stages) {
        return pass_on(copies, stages);
      },
      [=](asides_atom asides) { return pass_on(asides); },
  };
}

}  // namespace

caf::behavior slow_disk(caf::event_based_actor* self, const caf::actor& checkpointer,
                        const std::shared_ptr<Disk>& disk, DiskTimes times,
                        const SnapshotNoted& snapshot) {
  actors::install_default_handlers(self);
  const auto when_synced = when_durable(self, disk, times.fsync);
  const auto sync_after = [=](const auto&... order) {
    self->request(checkpointer, caf::infinite, order...)
        .then([=] { when_synced([] {}); }, [](const caf::error&) {});
  };
  const caf::message_handler writes{
      [=](save_atom, const std::string& stream, uint64_t step, const Buffer& state, bool replace,
          bool spare_one) {
        return save_in_time(self, checkpointer, when_synced, snapshot,
                            {stream, step, state, replace, spare_one});
      },
      [=](save_beside_atom, const std::string& stream, const actors::FrozenState& frozen) {
        return write_in_time(self, checkpointer, when_synced, save_beside_atom::value, stream,
                             frozen);
      },
      [=](keep_atom, const std::string& stream, uint64_t number, const Buffer& bytes) {
        return write_in_time(self, checkpointer, when_synced, keep_atom::value, stream, number,
                             bytes);
      },
      [=](copy_atom, const std::string& stream, uint64_t step, const Buffer& state) {
        return write_in_time(self, checkpointer, when_synced, copy_atom::value, stream, step,
                             state);
      },
      [=](forget_newer_atom, const std::string& stream, uint64_t step) {
        snapshot(stream, step, true);
        sync_after(forget_newer_atom::value, stream, step);
      },
      [=](leave_line_atom, const actors::LeaveLine& order) {
        return set_aside_in_time(self, checkpointer, when_synced, snapshot, order);
      },
      [=](keep_before_atom, const actors::KeepBefore& order) {
        return write_in_time(self, checkpointer, when_synced, keep_before_atom::value, order);
      },
      [=](drop_before_atom, const std::vector<std::string>& streams) {
        return write_in_time(self, checkpointer, when_synced, drop_before_atom::value, streams);
      },
      [=](pin_atom, const std::string& stream, uint64_t step) {
        sync_after(pin_atom::value, stream, step);
      },
      [=](retain_atom, const std::string& prefix, const std::vector<std::string>& streams) {
        sync_after(retain_atom::value, prefix, streams);
      },
      [](run_later_atom, const LocalTask& task) { task(); },
  };
  return writes.or_else(reads_of(self, checkpointer, disk, times));
}

caf::behavior mirror_on_disk(caf::event_based_actor* self, const caf::actor& mirror,
                             const std::shared_ptr<Disk>& disk) {
  actors::install_default_handlers(self);
  return {
      [=](mirror_atom) { return self->delegate(mirror, mirror_atom::value); },
      [=](offers_atom, bool any) { return self->delegate(mirror, offers_atom::value, any); },
      [=](take_atom, bool any) -> caf::result<bool> {
        auto promise = self->make_response_promise();
        self->request(mirror, caf::infinite, take_atom::value, any)
            .then(
                [=](bool taken) mutable {
                  disk->sync(disk->changes());
                  promise.deliver(taken);
                },
                [=](const caf::error& e) mutable { promise.deliver(e); });
        return promise;
      },
  };
}

}  // namespace swarm::sim

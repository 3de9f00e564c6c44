/// Averagers on a fake network in virtual time, and requests to actors; for the tests of averaging
/// and of state transfer.
#pragma once

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/averaging/averager.h"
#include "actors/net/errors.h"
#include "actors/net/local.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "common/names.h"

namespace swarm::testing {

using namespace actors;  // NOLINT: tests only

inline NodeId id_of(uint8_t n) {
  NodeId id;
  id.bytes[0] = static_cast<uint8_t>(n + 1);
  return id;
}

template <class T>
struct Outcome {  // exactly one of value and code
  std::optional<T> value;
  ErrorCode code = ErrorCode::kNone;
  std::string detail;
  std::vector<uint32_t> unreached;   // with a code, of a round
  std::vector<uint32_t> not_finite;  // likewise
};

/// A request under way; answer() must be called when it has been answered.
template <class T>
class Ask {
 public:
  template <class... Ts>
  Ask(caf::actor_system& system, const caf::actor& target, Ts... args) : self_(system) {
    receive_ = [request =
                    std::make_shared<decltype(self_->request(target, caf::infinite, args...))>(
                        self_->request(target, caf::infinite, args...))](Outcome<T>& out) {
      request->receive([&](T& value) { take(out, value); },
                       [&](const caf::error& e) {
                         auto error = from_caf(e);
                         out.code = error.code;
                         out.detail = error.detail;
                       });
    };
  }
  /// A round that failed for a member says for whom, too.
  static void take(Outcome<T>& out, T& value) {
    if constexpr (std::is_same_v<T, AverageResult>) {
      if (value.failed()) {
        out.not_finite = value.not_finite;
        out.code = value.why.code;
        out.detail = value.why.detail;
        out.unreached = value.unreached;
        return;
      }
    }
    out.value = std::move(value);
  }
  bool answered() { return self_->has_next_message(); }
  Outcome<T> answer() {
    BOOST_REQUIRE(answered());
    Outcome<T> out;
    receive_(out);
    return out;
  }

 private:
  caf::scoped_actor self_;
  std::function<void(Outcome<T>&)> receive_;
};

/// Node n has the id id_of(n) and, once added, the averager "averager.0".
struct World {
  sim::DeterministicSystem system;
  sim::FakeNetwork network{*system};
  std::vector<caf::actor> averagers;
  std::vector<caf::actor> others;

  ~World() {
    for (auto& one : averagers) caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
    for (auto& one : others) caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
    averagers.clear();
    others.clear();
    system.run();
    network.shut_down();
    system.run();
  }
  static AveragerOptions small_chunks() {
    AveragerOptions options;
    options.chunk_elements = 32;
    options.min_part_elements = 1;
    options.chunks_in_flight = 2;
    return options;
  }
  AveragerDeps deps(uint8_t n, const AveragerOptions& options) {
    AveragerDeps deps;
    deps.id = {id_of(n), RoleName{Role::kAverager}.text()};
    deps.links = network.add(id_of(n));
    deps.options = options;
    deps.detached = false;
    return deps;
  }
  void add(AveragerDeps deps) {
    averagers.push_back(spawn_averager(*system, std::move(deps)));
    system.run();
  }
  void add_many(uint8_t count, const AveragerOptions& options = small_chunks()) {
    for (uint8_t n = 0; n < count; ++n) add(deps(n, options));
  }
  AverageMember member(uint8_t n, uint64_t samples = 0) {
    return {{id_of(n), RoleName{Role::kAverager}.text()}, network.endpoint(id_of(n)), samples};
  }
  std::string describe(size_t n) {
    Ask<std::string> ask(*system, averagers[n], describe_atom::value);
    system.run();
    return *ask.answer().value;
  }
};

}  // namespace swarm::testing

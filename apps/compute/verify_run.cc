#include "apps/compute/verify_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "apps/audit/audit_run.h"
#include "apps/commands/commands.h"
#include "apps/compute/compare_states.h"
#include "apps/compute/rerun.h"
#include "apps/compute/train_alone.h"
#include "apps/launch/run_folder.h"
#include "config/experiment.h"
#include "storage/run_snapshots.h"
#include "tensor/core/flat.h"
#include "tensor/core/state_format.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

using Ull = unsigned long long;

/// Nothing was compared.
int fail(const Error& error) {
  std::fprintf(stderr, "swarm verify: %s\n", to_string(error).c_str());
  return kBadConfig;
}

class Verifier {
 public:
  Verifier(const VerifyRunOptions& options, const config::Experiment& experiment,
           launch::AuditReport audit)
      : options_(options), node_(experiment.base), audit_(std::move(audit)) {}

  Status run() {
    auto snapshots = storage::RunSnapshots::open(options_.folder, node_.num_stages);
    if (!snapshots) return snapshots.error();
    auto data = tensor::open_text_data(node_.data, node_.model.sequence);
    if (!data) return data.error();
    auto rerun = actors::what_rounds(node_).empty()
                     ? plain_rerun(node_, audit_, **data)
                     : rounding_rerun(node_, audit_, **data, *snapshots);
    if (!rerun) return rerun.error();
    rerun_ = std::move(*rerun);
    origin_ = initial_parameters(reference_options(node_).model);
    for (const uint64_t step : snapshots->steps()) {
      if (step < audit_.totals.folded) continue;
      const auto snapshots_of_step = snapshots->read(step);
      for (const auto& why : snapshots_of_step.unreadable) complain(step, why);
      const auto good = of_the_history(step, snapshots_of_step.found);
      if (step == 0 || good.empty()) continue;
      if (Status compared = compare(step, good); !compared) return compared;
    }
    if (const std::string words = rerun_->words(); !words.empty())
      std::printf("%s\n", words.c_str());
    return {};
  }

  int verdict() const {
    if (intervals_ == 0 && not_replayed_ == 0) {
      std::printf("no snapshot of the run's history is left to compare with\n");
      return 1;
    }
    if (intervals_ == 0) {
      std::printf("nothing could be replayed\n");
      return wrong_ > 0 ? 1 : kBadConfig;
    }
    const std::string doubt = why_doubted();
    const Verdict verdict = verdict_of(beyond_ + doubted_ > 0, wrong_ > 0, doubt.empty());
    if (verdict.exit_code == kBadConfig) std::printf("not judged: %s\n", doubt.c_str());
    std::printf(
        "%llu intervals, %llu snapshots, worst relative difference %.3e, tolerance %.3e: %s\n",
        static_cast<Ull>(intervals_), static_cast<Ull>(compared_), worst_, options_.tolerance,
        (verdict.word + but_not_replayed()).c_str());
    return verdict.exit_code;
  }

 private:
  /// What makes the tolerance mean nothing where something is beyond it; "": nothing does.
  std::string why_doubted() const {
    const std::string rounding = actors::what_rounds(node_);
    if (options_.tolerance_given || rounding.empty()) return {};
    if (options_.from_start) return why_not_judged(rounding, Doubt::kFromStart);
    if (!rerun_->has_the_runs_bits()) return why_not_judged(rounding, Doubt::kOtherBits);
    return beyond_ == 0 ? why_not_judged(rounding, Doubt::kGuessed) : std::string();
  }
  std::string but_not_replayed() const {
    if (not_replayed_ == 0) return {};
    return fmt::format(" ({} intervals more could not be replayed)", not_replayed_);
  }
  /// Those that the audit knows: snapshots of an update that the swarm gave up may have stayed with
  /// a node that never came back. Says what is wrong with the others.
  std::vector<storage::StageSnapshot> of_the_history(
      uint64_t step, const std::vector<storage::StageSnapshot>& all) {
    std::vector<storage::StageSnapshot> good;
    for (const auto& snapshot : all) {
      const auto key = std::make_pair(static_cast<uint32_t>(snapshot.stage), step);
      const auto view = tensor::parse_state(snapshot.state);
      if (!view) {
        complain(snapshot, to_string(view.error()));
        continue;
      }
      const uint64_t checksum = tensor::state_checksum(*view);
      const uint64_t bytes = view->head.num_parameters() * sizeof(float);
      const auto right = audit_.checksums.find(key);
      const bool known = right != audit_.checksums.end();
      // Runs of earlier programs name the checksum of the parameters alone.
      if (known && (right->second == checksum ||
                    right->second == tensor::digest(view->payload.data(), bytes))) {
        good.push_back(snapshot);
        continue;
      }
      const auto given_up = audit_.given_up_checksums.find(key);
      if (given_up != audit_.given_up_checksums.end() && given_up->second.count(checksum) > 0) {
        std::printf("step %llu: %s holds stage %d of a history that was given up; left out\n",
                    static_cast<Ull>(step), snapshot.node.c_str(), snapshot.stage);
      } else {
        complain(snapshot, "no peer's audit line has these parameters and moments");
      }
    }
    check_replicas(good);
    return good;
  }

  void complain(uint64_t step, const std::string& what) {
    ++wrong_;
    std::printf("step %llu: %s\n", static_cast<Ull>(step), what.c_str());
  }
  void complain(const storage::StageSnapshot& snapshot, const std::string& what) {
    complain(snapshot.step, fmt::format("{}: stage {}: {}", snapshot.node, snapshot.stage, what));
  }

  /// Parameters, moments and heads, bit by bit.
  void check_replicas(const std::vector<storage::StageSnapshot>& snapshots) {
    std::map<int32_t, const storage::StageSnapshot*> first;
    for (const auto& snapshot : snapshots) {
      const storage::StageSnapshot& other = *first.emplace(snapshot.stage, &snapshot).first->second;
      if (tensor::digest(other.state.data(), other.state.size()) !=
          tensor::digest(snapshot.state.data(), snapshot.state.size()))
        complain(snapshot, "differs from the snapshot of " + other.node);
    }
  }

  Status compare(uint64_t step, const std::vector<storage::StageSnapshot>& snapshots) {
    if (begin_ < audit_.totals.folded) {
      std::printf("steps before %llu are folded in the audit: the replay begins at step %llu\n",
                  static_cast<Ull>(audit_.totals.folded), static_cast<Ull>(step));
      return begin_at(step, snapshots);
    }
    const Status run = rerun_->train_until(step);
    if (!run && run.code() == ErrorCode::kNotFound && !options_.from_start) {
      ++not_replayed_;
      std::printf("steps %llu to %llu: not replayed: %s\n", static_cast<Ull>(begin_),
                  static_cast<Ull>(step), run.error().detail.c_str());
      return begin_at(step, snapshots);
    }
    if (!run) return run.error();
    const auto state = rerun_->state();
    if (!state) return state.error();
    auto differences = compare_states(node_.model, node_.num_stages, snapshots, *state, origin_);
    if (!differences) return differences.error();
    print(step, snapshots.size(), *differences);
    return options_.from_start ? Status() : begin_at(step, snapshots);
  }

  /// The next interval, if every stage is there.
  Status begin_at(uint64_t step, const std::vector<storage::StageSnapshot>& snapshots) {
    std::vector<Buffer> states;  // one of each stage
    for (const auto& snapshot : snapshots)
      if (snapshot.stage == static_cast<int32_t>(states.size())) states.push_back(snapshot.state);
    const bool complete = states.size() == static_cast<size_t>(node_.num_stages);
    if (!complete) return {};
    auto state = tensor::reference_state(node_.model, states);
    if (!state) return state.error();
    origin_ = state->parameters;
    begin_ = step;
    return rerun_->begin(snapshots, *state);
  }

  void print(uint64_t step, size_t count, const std::map<std::string, Difference>& differences) {
    std::string name;
    double worst = 0;
    int beyond = 0;
    for (const auto& [key, difference] : differences) {
      const double relative = difference.relative();
      beyond += !(relative <= options_.tolerance);
      if (relative <= worst && !name.empty()) continue;
      worst = relative;
      name = key;
    }
    const bool may_be_doubted = beyond > 0 && !options_.tolerance_given;
    const std::string doubt = may_be_doubted ? rerun_->doubt() : std::string();
    std::printf("steps %llu to %llu: %zu snapshots, worst relative difference %.3e (%s)%s%s\n",
                static_cast<Ull>(begin_), static_cast<Ull>(step), count, worst, name.c_str(),
                beyond > 0 ? "  BEYOND" : "", doubt.empty() ? "" : (", but " + doubt).c_str());
    std::fflush(stdout);
    ++intervals_;
    compared_ += count;
    (doubt.empty() ? beyond_ : doubted_) += static_cast<uint64_t>(beyond);
    worst_ = std::max(worst_, worst);
  }

  const VerifyRunOptions& options_;
  const actors::NodeOptions node_;
  const launch::AuditReport audit_;
  std::unique_ptr<Rerun> rerun_;
  tensor::NamedValues origin_;  ///< What the replay of this interval began with ...
  uint64_t begin_ = 0;          ///< ... at this step.
  uint64_t intervals_ = 0, not_replayed_ = 0, compared_ = 0, wrong_ = 0;
  uint64_t beyond_ = 0, doubted_ = 0;  ///< Tensors; doubted: the replay had to guess.
  double worst_ = 0;
};

}  // namespace

int verify_run(const VerifyRunOptions& options) {
  const auto experiment = launch::read_experiment_of(options.folder);
  if (!experiment) return fail(experiment.error());
  if (auto exact = launch::can_be_exact(*experiment); !exact) return fail(exact.error());
  auto audit = launch::audit_run(options.folder, *experiment);
  if (!audit) return fail(audit.error());
  if (!audit->passed())
    std::printf("note: the audit finds %zu violations (swarm audit %s)\n", audit->violations.size(),
                options.folder.c_str());
  tensor::set_threads(options.threads > 0 ? options.threads : experiment->base.threads);
  const std::string rounding = actors::what_rounds(experiment->base);
  std::printf(
      "one process replays the recorded steps %s%s; relative: parameters by their way since then, "
      "moments by their size\n",
      options.from_start ? "from the initial weights" : "from each snapshot to the next",
      rounding.empty() ? "" : (", rounding as the run did (" + rounding + ")").c_str());
  if (options.from_start && audit->totals.folded > 0)
    return fail(Error{ErrorCode::kNotFound,
                      "the audit's oldest steps are folded (node.audit_mb): nothing "
                      "can be replayed from the start"});
  Verifier verifier(options, *experiment, std::move(*audit));
  if (Status done = verifier.run(); !done) return fail(done.error());
  return verifier.verdict();
}

}  // namespace swarm::apps

#include "apps/sim/replay_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/node/roles.h"

namespace swarm::sim {
namespace {

Buffer tokens_of(const std::vector<uint64_t>& samples) {
  constexpr uint32_t kTokens = 2;  // input and target
  std::vector<int32_t> tokens;
  for (const uint64_t sample : samples) tokens.insert(tokens.end(), kTokens, sample_value(sample));
  return Buffer::from_string(
      std::string(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t)));
}

}  // namespace

ArithmeticReplay::ArithmeticReplay(replay::ReplayOptions options, uint32_t num_stages,
                                   int rounding_bits) {
  options.optimizer.clip_norm = 0;
  options.sequence = 1;
  options.tokens = tokens_of;
  std::vector<std::unique_ptr<tensor::Stage>> stages;
  for (uint32_t number = 0; number < num_stages; ++number) {
    auto stage = std::make_unique<ArithmeticStage>(
        number, ArithmeticStage::Changed(), 0, StageNoted(), ArithmeticState(kParameters, true));
    stage->rounding_bits = rounding_bits;
    stage->initialize();
    arithmetic.push_back(stage.get());
    stages.push_back(std::move(stage));
  }
  replay = std::make_unique<replay::Replay>(std::move(options), std::move(stages));
}

void ReplayCheck::seen(const ArithmeticStage& stage, uint32_t number) {
  seen_[{number, stage.step(), stage.state_checksum()}] = stage.parameters();
}

std::string ReplayCheck::compare(const launch::AuditReport& audit, uint64_t step,
                                 const ArithmeticStage& stage, uint32_t number) {
  const auto checksum = audit.checksums.find({number, step});
  if (checksum == audit.checksums.end()) return {};  // the audit has said so
  const auto seen = seen_.find({number, step, checksum->second});
  if (seen == seen_.end()) return {};
  ++compared_;
  const auto& now = stage.parameters();
  for (uint64_t i = 0; i < std::min<uint64_t>(now.size(), kExactParameters); ++i)
    if (now[i] != seen->second[i])
      return fmt::format("stage {} step {}: done again, parameter {} is {}, not {}", number, step,
                         i, now[i], seen->second[i]);
  return {};
}

std::string ReplayCheck::differs(const launch::AuditReport& audit) {
  replay::ReplayOptions options;
  options.averaging = actors::all_reduce_setup(swarm_.averager_options);
  options.feeds_errors_back = actors::feeds_errors_back(swarm_.averager_options, swarm_.training);
  options.batch = swarm_.training.batch;
  options.microbatch = swarm_.training.microbatch;
  const ArithmeticReplay again(std::move(options), swarm_.num_stages, swarm_.limits.rounding_bits);
  for (auto step = audit.recorded.begin(); step != audit.recorded.end(); ++step) {
    const auto next = std::next(step);
    const auto* ahead = next == audit.recorded.end() ? nullptr : &next->second;
    if (auto trained = again.replay->train(step->second, ahead); !trained)
      return "done again: " + to_string(trained.error());
    if (!again.replay->guessed().empty()) return again.replay->guessed();
    for (uint32_t number = 0; number < swarm_.num_stages; ++number)
      if (auto what = compare(audit, step->first + 1, *again.arithmetic[number], number);
          !what.empty())
        return what;
  }
  return {};
}

}  // namespace swarm::sim

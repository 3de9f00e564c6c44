#include "actors/stage/state_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "actors/state/options.h"
#include "actors/state/range_reply.h"
#include "routing/state/donors.h"
#include "routing/state/recent_means.h"
#include "tensor/core/flat.h"

namespace swarm::actors {

using routing::LearnAnswer;
using routing::LearnRead;
using routing::StateLabel;
using std::chrono::milliseconds;

namespace {

/// What is known of a link before anything has come over it [bytes/s].
constexpr double kSlowest = 16u << 10;
constexpr milliseconds kShortestBudget{10'000}, kLongestBudget{3'600'000};
/// A state has as many, unless they would be shorter.
constexpr uint64_t kFewestRanges = 256, kShortRange = 1'024;
/// Each keeps means as long as it is asked. Newcomers of a large stage choose different ones.
constexpr size_t kMostDonors = 4;
/// A learner that cannot keep up measures its links again after this long.
constexpr auto kRest = std::chrono::seconds(30);

uint64_t vectors_of(const StageContext& context) {
  return 1 + tensor::optimizer_info(context.deps.optimizer.kind).moments.size();
}

}  // namespace

StateLearner::StateLearner(StageContext& context, StageUpdates& updates, routing::ToldState& told,
                           Done done)
    : context_(context), updates_(updates), told_(told), done_(std::move(done)), keeper_(context) {}

routing::LearnOptions StateLearner::options() const {
  const auto& transfer = context_.deps.state_transfer_options;
  routing::LearnOptions options;
  options.elements = context_.num_parameters;
  options.bytes_per_element = vectors_of(context_) * sizeof(float);
  // What is under way when a step ends is of the step before: not too much of the whole.
  const uint64_t part = std::max(options.elements / kFewestRanges, kShortRange);
  options.range_elements = std::clamp<uint64_t>(transfer.chunk_bytes / options.bytes_per_element, 1,
                                                std::min(part, kMaxRangeElements));
  options.reads_in_flight = std::max(1u, transfer.chunks_in_flight);
  options.state_bytes_per_s = transfer.state_bytes_per_s;
  return options;
}

// -- from whom

void StateLearner::learn(const std::vector<StateHolder>& sources, Step swarm_at) {
  const bool fresh = learning_ == nullptr;
  if (fresh) learning_ = std::make_shared<Learning>(options());
  const Ptr learning = learning_;
  std::vector<std::string> names;
  for (const StateHolder& holder : sources) names.push_back(holder.node_name);
  std::vector<PeerId> ids;
  for (const size_t i : routing::choose_donors(context_.deps.node_name, names, kMostDonors)) {
    const StateHolder& holder = sources[i];
    learning->sources[holder.actor].holder = holder;
    ids.push_back(holder.actor);
  }
  learning->wanted = swarm_at;
  learning->plan.set_sources(ids, swarm_at);
  if (fresh) return begin(learning);
  if (learning->began) go_on(learning);
}

/// What is in memory may be behind by a few updates only: means of more are not kept. Who is told to
/// fetch its own step has another state than the others.
void StateLearner::begin(const Ptr& learning) {
  learning->start = now();
  const auto& at = context_.at;
  context_.record(records::Learns{names(*learning),
                                  context_.num_parameters * vectors_of(context_) * sizeof(float),
                                  at.has_state});
  const bool near = at.has_state && at.applied < learning->wanted &&
                    learning->wanted.value() - at.applied.value() <= routing::RecentMeans::kKept;
  if (near && context_.checksum != 0) return begin_with_memory(learning);
  begin_with_disk(learning);
}

void StateLearner::begin_with_memory(const Ptr& learning) {
  keeper_.begin(layout());
  const auto& at = context_.at;
  context_.device.run<tensor::OptimizerCounters>(
      [](tensor::Stage& stage) -> Result<tensor::OptimizerCounters> { return stage.counters(); },
      [this, learning, label = StateLabel{at.applied, context_.checksum, context_.history}](
          Result<tensor::OptimizerCounters> counters, double) {
        if (over(learning)) return;
        for (size_t range = 0; counters && range < learning->plan.ranges(); ++range) {
          learning->plan.hold(range, label);
          learning->counters[range] = *counters;
        }
        began(learning);
      });
}

RangeLayout StateLearner::layout() const {
  RangeLayout layout;
  layout.run_id = context_.deps.run_id;
  layout.config_fingerprint = context_.deps.config_fingerprint;
  layout.stage = context_.deps.stage;
  layout.elements = context_.num_parameters;
  layout.vectors = static_cast<uint32_t>(vectors_of(context_));
  layout.range_elements = options().range_elements;
  return layout;
}

/// With what an earlier process of this peer had learned, and with what the sources have.
void StateLearner::begin_with_disk(const Ptr& learning) {
  RangeKeeper::Reader reader;
  reader.plan = &learning->plan;
  reader.changes = [this, learning] { give_up_own_state(learning); };
  reader.take = [learning](const KeptRange& range) {
    // The swarm may have gone back meanwhile.
    if (range.label.step > learning->wanted) return learning->plan.drop(range.range);
    learning->plan.hold(range.range, range.label);
    learning->counters[range.range] = range.counters;
  };
  reader.then = [this, learning] { go_on(learning); };
  keeper_.begin(layout(), learning->wanted, std::move(reader));
  began(learning);
}

void StateLearner::began(const Ptr& learning) {
  learning->began = true;
  go_on(learning);
}

void StateLearner::go_on(const Ptr& learning) {
  if (over(learning) || learning->settling) return;
  const auto whole = learning->plan.whole();
  if (whole && whole->step >= learning->wanted) return settle(learning, *whole);
  for (const LearnRead& one : learning->plan.reads(now())) read(learning, one);
  keeper_.keep([learning = learning.get()] {
    return RangeKeeper::Held{learning->plan.labels(),
                             learning->counters,
                             {learning->received, learning->plan.pace().step_s()}};
  });
  look_again(learning);
}

/// An earlier timer that is still to come finds nothing to do.
void StateLearner::look_again(const Ptr& learning) {
  const routing::Time at = learning->plan.look_again(now());
  if (learning->timer_at > now() && learning->timer_at <= at) return;
  learning->timer_at = at;
  const auto pause = std::max<routing::Time>(at - now(), milliseconds(1));
  context_.self->delayed_send(context_.self, pause, run_later_atom::value,
                              LocalTask([this, learning] { go_on(learning); }));
}

// -- what is asked

/// Several reads share the link. Far more than they need: a dead link says so itself.
milliseconds StateLearner::budget(const Learning& learning) const {
  const auto asked = options();
  const double bytes =
      static_cast<double>(asked.range_elements * asked.bytes_per_element * asked.reads_in_flight);
  const double rate = std::max(kSlowest, learning.plan.pace().rate());
  const milliseconds takes(static_cast<int64_t>(8'000 * bytes / rate));
  return std::min(kShortestBudget + takes, kLongestBudget);
}

void StateLearner::read(const Ptr& learning, const LearnRead& read) {
  const Source& source = learning->sources.at(read.source);
  if (source.proxy) return ask(learning, read);
  context_.self
      ->request(context_.deps.links, kShortestBudget, resolve_atom::value, source.holder.actor,
                source.holder.endpoint)
      .then(
          [this, learning, read](const caf::actor& proxy) {
            learning->sources.at(read.source).proxy = proxy;
            if (!over(learning)) ask(learning, read);
          },
          [this, learning, read](const caf::error& error) {
            if (!over(learning)) failed(learning, read, from_caf(error));
          });
}

void StateLearner::ask(const Ptr& learning, const LearnRead& read) {
  proto::StateRange request;
  request.set_stage(context_.deps.stage.value());
  request.set_first(read.first);
  request.set_count(read.count);
  request.set_holds(read.label.has_value());
  if (read.label) {
    request.set_step(read.label->step.value());
    request.set_checksum(read.label->checksum);
    request.set_history(read.label->history.value());
  }
  request_mail(context_.self, learning->sources.at(read.source).proxy,
               make_mail(std::move(request), {}, budget(*learning)),
               [this, learning, read](Result<Mail> reply) {
                 if (!over(learning) && learning->plan.awaits(read))
                   answered(learning, read, reply);
               });
}

// -- what comes

void StateLearner::failed(const Ptr& learning, const LearnRead& read, const Error& error) {
  log_debug(fmt::format("event=range_failed source={} error=\"{}\"", read.source.brief(),
                        to_string(error)));
  auto& source = learning->sources.at(read.source);
  if (error.code == ErrorCode::kLinkLost || error.code == ErrorCode::kNotFound)
    source.proxy = nullptr;
  learning->plan.failed(read, now());
  go_on(learning);
}

void StateLearner::answered(const Ptr& learning, const LearnRead& read, const Result<Mail>& reply) {
  if (!reply) return failed(learning, read, reply.error());
  if (reply->kind != proto::KIND_STATE_RANGE_REPLY)
    return failed(learning, read, {ErrorCode::kInternal, "another kind of message"});
  const auto& head = reply->as<proto::StateRangeReply>();
  if (tensor::digest(reply->body.data(), reply->body.size()) != head.payload_digest())
    return failed(learning, read, {ErrorCode::kCorruptCheckpoint, "the range's digest differs"});
  using Reply = proto::StateRangeReply;
  const bool mean = head.what() == Reply::WHAT_MEAN;
  if (head.what() == Reply::WHAT_STATE || (mean && read.label)) {
    if (told_.contradicts(label_of(head))) return refuse(learning, read, head.checksum());
    return take(learning, read, *reply);
  }
  if (head.what() != Reply::WHAT_NOTHING || !read.label)
    return failed(learning, read, {ErrorCode::kInternal, "no answer to what was asked"});
  learning->plan.answered(read, {LearnAnswer::What::kNothing, {}, newest_of(head)}, now());
  go_on(learning);
}

/// Another source is asked, as long as there is one.
void StateLearner::refuse(const Ptr& learning, const LearnRead& read, uint64_t checksum) {
  const std::string& from = learning->sources.at(read.source).holder.node_name;
  if (told_.refuse(read.source))
    context_.record(records::StateRefused{from, {checksum}, {told_.checksum()}});
  failed(learning, read, {ErrorCode::kCorruptCheckpoint, "not the state that the swarm has"});
}

/// No longer than the answer took, whatever the source says.
routing::Time StateLearner::waited(const LearnRead& read,
                                   const proto::StateRangeReply& head) const {
  const double waited_s = head.waited_s();
  if (!(waited_s > 0)) return {};  // nor a number
  const std::chrono::duration<double> most = now() - read.asked_at;
  return std::chrono::duration_cast<routing::Time>(
      std::min(most, std::chrono::duration<double>(waited_s)));
}

/// From now on the stage is of no step.
void StateLearner::give_up_own_state(const Ptr& learning) {
  if (learning->changed) return;
  learning->changed = true;
  give_up_state(context_, updates_);
}

void StateLearner::take(const Ptr& learning, const LearnRead& read, const Mail& mail) {
  give_up_own_state(learning);
  const auto& head = mail.as<proto::StateRangeReply>();
  const bool mean = head.what() == proto::StateRangeReply::WHAT_MEAN;
  learning->sources.at(read.source).bytes += mail.body.size();
  learning->received += mail.body.size();
  const LearnAnswer answer{mean ? LearnAnswer::What::kMean : LearnAnswer::What::kState,
                           label_of(head), newest_of(head), waited(read, head)};
  learning->plan.arrived(read, answer, now());
  tensor::OptimizerCounters counters{head.updates(), head.momentum_product()};
  if (mean) counters = learning->counters[read.range];
  context_.device.run<tensor::OptimizerCounters>(
      [read, mean, counters, mail](tensor::Stage& stage) -> Result<tensor::OptimizerCounters> {
        if (mean)
          return stage.update_range(read.first, read.count, read.label->step.value(), counters,
                                    mail.body, scales_of(mail.as<proto::StateRangeReply>()));
        if (auto loaded = stage.load_range(read.first, read.count, mail.body); !loaded)
          return loaded.error();
        return counters;
      },
      [this, learning, read, answer](Result<tensor::OptimizerCounters> taken, double) {
        if (over(learning) || !learning->plan.awaits(read)) return;
        if (!taken) return failed(learning, read, taken.error());
        learning->counters[read.range] = *taken;
        learning->plan.answered(read, answer, now());
        rest_if_too_slow(learning);
        go_on(learning);
      });
  go_on(learning);  // the next is asked for while the device takes this one
}

// -- the whole

void StateLearner::settle_as_it_is() {
  const Ptr learning = learning_;
  if (!learning || !learning->began || !learning->changed || learning->settling) return;
  if (const auto label = learning->plan.uniform()) settle(learning, *label);
}

void StateLearner::settle(const Ptr& learning, const StateLabel& label) {
  learning->plan.end_reads();
  if (!learning->changed) return settled(learning, label, label.checksum);
  learning->settling = true;
  context_.device.run<uint64_t>(
      [label, counters = learning->counters.front()](tensor::Stage& stage) -> Result<uint64_t> {
        if (auto settled = stage.settle(label.step.value(), counters); !settled)
          return settled.error();
        stage.set_history(label.history.value());
        return stage.state_checksum();
      },
      [this, learning, label](Result<uint64_t> checksum, double) {
        if (!over(learning)) settled(learning, label, std::move(checksum));
      });
}

void StateLearner::settled(const Ptr& learning, const StateLabel& label,
                           Result<uint64_t> checksum) {
  learning->settling = false;
  if (!checksum || *checksum != label.checksum) {
    const Error other{ErrorCode::kCorruptCheckpoint,
                      fmt::format("the ranges make no state of step {}", label.step)};
    context_.record(records::LoadFailed{"neighbours", checksum ? other : checksum.error()});
    learning->plan.start_anew();
    keeper_.start_anew();
    return go_on(learning);
  }
  Learned learned;
  learned.label = label;
  learned.changed = learning->changed;
  learned.seconds = std::chrono::duration<double>(now() - learning->start).count();
  for (const auto& [id, source] : learning->sources) {
    learned.bytes += source.bytes;
    if (source.bytes > 0)
      learned.from += (learned.from.empty() ? "" : ", ") + source.holder.node_name;
  }
  stop();
  done_(learned);
}

void StateLearner::rest_if_too_slow(const Ptr& learning) {
  if (learning->plan.complete()) return;
  const auto slow = learning->plan.pace().too_slow();
  if (!slow) return;
  tell_too_slow(slow->needs, slow->has);
  // No longer than the means of what is held are kept, else it would begin anew.
  const std::chrono::duration<double> steps(2 * learning->plan.pace().step_s());
  learning->plan.rest(
      now() + std::min<routing::Time>(kRest, std::chrono::duration_cast<routing::Time>(steps)));
}

// -- what is told

void StateLearner::tell_too_slow(double needs, double has) {
  if (too_slow_told_ && now() < *too_slow_told_ + kRest) return;
  too_slow_told_ = now();
  log_warn(
      fmt::format("event=learner_too_slow stage={} needs_mb_per_s={:.2f} has_mb_per_s={:.2f} "
                  "reason=\"it does no work until its links carry the others' updates\"",
                  context_.deps.stage, needs / 1e6, has / 1e6));
  context_.record(records::LearnerTooSlow{needs, has});
}

std::string StateLearner::names(const Learning& learning) {
  std::string names;
  for (const auto& [id, source] : learning.sources)
    names += (names.empty() ? "" : ", ") + source.holder.node_name;
  return names;
}

void StateLearner::describe_to(proto::RegisterPeer& message) const {
  const uint64_t bytes = vectors_of(context_) * sizeof(float);
  message.set_state_bytes(context_.num_parameters * bytes);
  if (!learning_) return;
  message.set_learned_bytes(learning_->plan.elements_held() * bytes);
  message.set_needs_bytes_per_s(learning_->plan.pace().needs());
  message.set_has_bytes_per_s(learning_->plan.pace().rate());
}

std::string StateLearner::describe() const {
  if (!learning_) return "nothing is learned";
  const double mega = static_cast<double>(vectors_of(context_) * sizeof(float)) / 1e6;
  const std::string from = names(*learning_);
  const auto& plan = learning_->plan;
  return fmt::format(
      "learning from {}: {:.1f} of {:.1f} MB, the others are at step {}, needs {:.2f} MB/s, has "
      "{:.2f}",
      from, static_cast<double>(plan.elements_held()) * mega,
      static_cast<double>(context_.num_parameters) * mega, plan.newest().value_or(Step()),
      plan.pace().needs() / 1e6, plan.pace().rate() / 1e6);
}

}  // namespace swarm::actors

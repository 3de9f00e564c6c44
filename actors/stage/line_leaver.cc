#include "actors/stage/line_leaver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <caf/send.hpp>
#include <utility>

#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "actors/stage/residuals.h"
#include "actors/state/aside.h"
#include "actors/state/checkpointer.h"
#include "actors/state/mirror.h"
#include "common/names.h"
#include "records/catalogue.h"

namespace swarm::actors {

namespace {

/// After a disk has not taken it.
constexpr double kDiskPause_s = 5;
/// So often; then a sector that cannot be read keeps nobody out.
constexpr int kPatientTries = 3;
constexpr char kWhy[] = "its line of history was given up";

routing::LineLeft line_of(const proto::RegisterPeerReply& verdict) {
  const proto::LineLeft& message = verdict.line_left();
  routing::LineLeft line;
  line.to_first = verdict.forked_in() == 0;
  line.number = message.number();
  const int known = std::min(message.steps_size(), message.histories_size());
  for (int i = 0; i < known; ++i)
    line.shared.emplace(Step(message.steps(i)), routing::History(message.histories(i)));
  return line;
}

}  // namespace

LineLeaver::LineLeaver(StageContext& context, StageUpdates& updates, StateKeeper& keeper,
                       CopyKeeper& copies)
    : context_(context), updates_(updates), keeper_(keeper), copies_(copies) {}

void LineLeaver::list() {
  context_.self
      ->request(context_.deps.checkpointer, context_.deps.options.disk_limit, asides_atom::value)
      .then(
          [this](const std::vector<std::string>& lines) { aside_ = lines; },
          [](const caf::error&) {});  // the snapshot writer, which asks the same disk, has said so
}

void LineLeaver::leave(const proto::RegisterPeerReply& verdict) {
  const uint64_t number = verdict.line_left().number();
  if (leaving_ || number_ == number || context_.now_s() < not_before_s_) return;
  leaving_ = true;
  LeaveLine order{streams(), residual_key(context_.deps.stage), line_of(verdict)};
  copies_.leave_line();
  context_.host->stop_serving(kWhy);
  context_.host->end_learning(kWhy);
  keeper_.forget_learned();
  if (context_.at.has_state && !order.line.keeps(context_.at.applied, context_.history))
    give_up_state(context_, updates_);
  keeper_.writer().leave_line();
  const auto failed = [this](const caf::error& error) {
    leaving_ = false;
    not_before_s_ = context_.now_s() + kDiskPause_s;
    context_.record(records::CheckpointFailed{from_caf(error)});
  };
  context_.self
      ->request(context_.deps.checkpointer, caf::infinite, leave_line_atom::value, std::move(order))
      .then([this, number](const std::vector<std::string>& lines) { left(number, lines); }, failed);
}

void LineLeaver::keep_before(const proto::RegisterPeerReply& verdict) {
  const uint64_t configuration = verdict.forked_in();
  // What is to be set aside may be of another fork, with lower numbers.
  if (configuration == 0 || configuration == kept_before_ || verdict.has_line_left()) return;
  if (keeping_ || context_.now_s() < not_before_s_) return;
  keeping_ = true;
  KeepBefore order{streams(), residual_key(context_.deps.stage), configuration,
                   /*patient=*/failed_to_keep_ < kPatientTries};
  context_.self
      ->request(context_.deps.checkpointer, caf::infinite, keep_before_atom::value,
                std::move(order))
      .then(
          [this, configuration] {
            keeping_ = false;
            failed_to_keep_ = 0;
            kept_before_ = configuration;
            list();
            context_.host->register_peer();
          },
          [this](const caf::error& error) {
            keeping_ = false;
            ++failed_to_keep_;
            not_before_s_ = context_.now_s() + kDiskPause_s;
            context_.record(records::CheckpointFailed{from_caf(error)});
          });
}

bool LineLeaver::has_before() const {
  return std::any_of(aside_.begin(), aside_.end(), [](const std::string& line) {
    return aside_name(line.substr(0, line.find(' '))) == kAsideBefore;
  });
}

void LineLeaver::settled(const proto::RegisterPeerReply& verdict) {
  if (verdict.forked_in() != 0 || verdict.barred() || dropping_ || !has_before()) return;
  dropping_ = true;
  auto spare = streams();
  spare.push_back(residual_key(context_.deps.stage));
  context_.self->request(context_.deps.checkpointer, caf::infinite, drop_before_atom::value, spare)
      .then(
          [this] {
            dropping_ = false;
            list();
          },
          [this](const caf::error&) { dropping_ = false; });  // it costs room, and is tried again
}

std::vector<std::string> LineLeaver::streams() const {
  std::vector<std::string> all{context_.stream()};
  const auto copied = copies_.streams();
  all.insert(all.end(), copied.begin(), copied.end());
  return all;
}

void LineLeaver::left(uint64_t number, const std::vector<std::string>& lines) {
  kept_before_ = 0;  // the line that it joins may have forked as well
  if (!lines.empty()) {
    const std::string at = fmt::format("{}", fmt::join(lines, ", "));
    context_.record(records::LineSetAside{at});
    log_warn(fmt::format("event=line_set_aside stage={} at=\"{}\"", context_.deps.stage, at));
  }
  list();
  copies_.list();
  keeper_.writer().left_line([this, number] {  // before that it has nothing to list
    leaving_ = false;
    number_ = number;
    context_.host->register_peer();
  });
  if (context_.deps.mirror) caf::anon_send(context_.deps.mirror, mirror_atom::value);
}

void LineLeaver::describe_to(proto::RegisterPeer& message) const {
  message.set_line_left(number_);
  message.set_kept_before(kept_before_);
  message.set_node_peers(static_cast<uint32_t>(context_.deps.copies.own.size()));
}

std::string LineLeaver::describe() const {
  return aside_.empty()
             ? ""
             : fmt::format("aside, of another line of history or from before it forked: {}",
                           fmt::join(aside_, ", "));
}

}  // namespace swarm::actors

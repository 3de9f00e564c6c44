#include "records/audit_fold.h"

#include <algorithm>
#include <fstream>
#include <tuple>

#include "common/mix.h"
#include "records/catalogue.h"
#include "records/files.h"
#include "records/line_tail.h"
#include "records/zstd_file.h"

namespace swarm::records {
namespace {

/// How far from one another lines may stand that are compared, in closings, commits and lines.
constexpr size_t kClosings = 256, kWaiting = 1024, kNear = 1000;
constexpr size_t kEvents = 32;
constexpr size_t kMaxLine = size_t{64} << 20;

Error wrong(const std::string& detail) { return {ErrorCode::kInvalidArgument, detail}; }

bool is_repair_of(const Event& repair, int64_t stage, int64_t step) {
  return repair.is<ReplicaReplaced>() && repair.stage == stage && repair.step == step;
}

Status each_line_of(const Segment& piece, const std::function<void(const std::string&)>& take) {
  LineSplitter splitter(kMaxLine);
  const TakeBytes feed = [&](const char* data, size_t size) {
    for (const auto& line : splitter.feed(data, size)) take(line);
  };
  Status read;
  if (piece.compressed) {
    read = decompress_file(piece.path, 0, feed);
  } else {
    std::ifstream stream(piece.path, std::ios::binary);
    if (!stream) read = Error{ErrorCode::kIo, "cannot open " + piece.path};
    char buffer[1 << 16];
    while (stream.read(buffer, sizeof buffer) || stream.gcount() > 0)
      feed(buffer, static_cast<size_t>(stream.gcount()));
    if (stream.bad()) read = Error{ErrorCode::kIo, "cannot read " + piece.path};
  }
  if (splitter.unfinished()) feed("\n", 1);
  if (read && splitter.dropped() > 0) read = wrong("a line of " + piece.path + " is too long");
  return read;
}

}  // namespace

bool is_audited(const Event& event) {
  return event.is<Recovered>() || event.is<CoordinatorActive>() || event.is<ReplicasDiffer>() ||
         event.is<ReplicaReplaced>() || event.is<Recompute>() || event.is<SumDropped>();
}

uint64_t digest_of(std::string_view line) { return std::max<uint64_t>(mix(fnv1a(line)), 1); }

AuditFold::AuditFold(const AuditRules& rules, FoldedAudit before)
    : rules_(rules), sum_(std::move(before)) {
  for (auto& peer : sum_.peers) peers_[{peer.node_name, peer.stage}] = peer;
  for (auto& writer : sum_.writers) writers_[writer.node_name] = writer;
  for (const auto& line : sum_.events)
    if (auto event = parse_event(line)) events_.push_back(std::move(*event));
}

Status AuditFold::take(const std::string& text) {
  if (++sum_.lines == 1) sum_.first = digest_of(text);
  sum_.digest = mix(sum_.digest ^ digest_of(text));
  if (!parse_object(text)) {
    ++sum_.torn;
    return {};
  }
  const auto line = parse_audit_line(text);
  if (!line) return line.error();
  count_writer(*line, text);
  std::visit([this](const auto& record) { add(record); }, line->record);
  return {};
}

void AuditFold::add(const ClosedStep& closed) {
  ++sum_.closed;
  if (closed.slots == 0) return;  // nothing was trained
  if (closed.step + 1 >= sum_.end) sum_.history = closed.history;
  sum_.end = std::max(sum_.end, closed.step + 1);
  sum_.slots += closed.slots - std::min<uint64_t>(closed.skipped.size(), closed.slots);
  sum_.samples += closed.samples;
  sum_.skipped += closed.skipped.size();
  sum_.attempts += closed.attempts;
  Violations found;
  check_numbers(closed, rules_, found);
  for (size_t stage = 0; stage < closed.stages.size(); ++stage)
    check_matrix(closed, stage, rules_, found);
  for (const auto& one : found) tell(one);
  closings_.push_back({closed, {}});
  if (closings_.size() > kClosings) closings_.pop_front();
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                [this](const CommittedStep& done) { return compare(done); }),
                 waiting_.end());
}

void AuditFold::add(const CommittedStep& done) {
  ++sum_.committed;
  sum_.end = std::max(sum_.end, done.step + 1);
  auto& state = peers_[{done.held.node_name, done.stage}];
  Violations found;
  check_goes_on(done,
                state.peer == done.held.peer ? std::optional<uint64_t>(state.step) : std::nullopt,
                found);
  for (const auto& one : found) tell(one);
  state = {done.held.peer, done.held.node_name, done.stage,
           done.step + 1,  done.checksum,       done.history};
  if (compare(done)) return;
  waiting_.push_back(done);
  if (waiting_.size() <= kWaiting) return;
  give_up(waiting_.front());
  waiting_.pop_front();
}

void AuditFold::add(const LoadedState& load) {
  ++sum_.loaded;
  peers_[{load.node_name, load.stage}] = {load.peer, load.node_name, load.stage,
                                          load.step, load.checksum,  load.history};
}

/// Of lines that a node folded before they were merged: they are counted where they were merged.
void AuditFold::add(const FoldedAudit& inner) {
  sum_.end = std::max(sum_.end, inner.end);
  for (const auto& peer : inner.peers) peers_[{peer.node_name, peer.stage}] = peer;
  if (inner.violation) tell(*inner.violation);
  for (const auto& line : inner.events)
    if (auto event = parse_event(line)) remember(std::move(*event));
}

void AuditFold::add(const Event& event) {
  if (const auto recompute = event.as<Recompute>()) sum_.lost += recompute->slots;
  if (const auto dropped = event.as<SumDropped>()) sum_.dropped += dropped->slots;
  sum_.recoveries += event.is<Recovered>();
  if (!is_audited(event) || event.is<Recompute>() || event.is<SumDropped>()) return;
  remember(event);
}

void AuditFold::remember(Event event) {
  events_.push_back(std::move(event));
  if (events_.size() > kEvents) forget_event();
}

void AuditFold::forget_event() {
  const Event event = std::move(events_.front());
  events_.pop_front();
  const bool repaired = std::any_of(events_.begin(), events_.end(), [&](const Event& one) {
    return is_repair_of(one, event.stage, event.step);
  });
  if (event.is<ReplicasDiffer>() && !repaired) tell(text(event));
  const auto is_repaired = [&event](const Difference& one) {
    return is_repair_of(event, one.one.stage, static_cast<int64_t>(one.one.step + 1));
  };
  differences_.erase(std::remove_if(differences_.begin(), differences_.end(), is_repaired),
                     differences_.end());
}

/// No closing of its digest came. One of its round says what was decided.
void AuditFold::give_up(const CommittedStep& done) {
  const auto with = std::find_if(closings_.rbegin(), closings_.rend(), [&](const Closing& one) {
    return one.closed.step == done.step && done.stage < one.closed.stages.size() &&
           one.closed.stages[done.stage].round == done.round;
  });
  if (with == closings_.rend()) {
    ++sum_.not_compared;
    return;
  }
  Violations found;
  check_member(done, with->closed, found);
  for (const auto& one : found) tell(one);
}

/// False: its closing is not among the last ones.
bool AuditFold::compare(const CommittedStep& done) {
  const auto with = std::find_if(closings_.rbegin(), closings_.rend(), [&](const Closing& one) {
    return one.closed.step == done.step && done.stage < one.closed.stages.size() &&
           one.closed.stages[done.stage].round == done.round &&
           one.closed.stages[done.stage].digest == done.digest;
  });
  if (with == closings_.rend()) return false;
  Violations found;
  check_member(done, with->closed, found);
  for (const auto& one : found) tell(one);
  const auto& first = with->first.emplace(done.stage, done).first->second;
  if (first.checksum != done.checksum) differences_.push_back({sum_.lines, first, done});
  return true;
}

void AuditFold::count_writer(const AuditLine& line, const std::string& text) {
  const bool folded = std::holds_alternative<FoldedAudit>(line.record);
  if (line.node.empty()) return;
  auto& writer = writers_[line.node];
  const uint64_t digest = digest_of(text);
  writer.same = writer.last == digest ? writer.same + 1 : 1;
  writer.last = digest;
  writer.node_name = line.node;
  if (!folded) writer.time_s = line.time_s;
}

void AuditFold::tell(const std::string& violation) {
  if (!rules_.exact) return;
  ++sum_.num_violations;
  if (!sum_.violation) sum_.violation = violation;
}

FoldedAudit AuditFold::result(uint64_t through) {
  for (const auto& [line, one, other] : differences_) {
    const auto step = static_cast<int64_t>(one.step + 1);
    const bool repaired = std::any_of(events_.begin(), events_.end(), [&, &one = one](auto& event) {
      return is_repair_of(event, one.stage, step);
    });
    if (repaired) continue;
    if (line + kNear > sum_.lines)
      ++sum_.not_compared;
    else
      tell(at(one.step, one.stage) + ": after it " + who(other.held) + " and " + who(one.held) +
           " differ");
  }
  for (const auto& done : waiting_) give_up(done);
  sum_.through = through;
  sum_.peers.clear();
  for (auto& [key, peer] : peers_) sum_.peers.push_back(peer);
  sum_.writers.clear();
  for (auto& [key, writer] : writers_) sum_.writers.push_back(writer);
  sum_.events.clear();
  for (const auto& event : events_) sum_.events.push_back(to_json(event));
  return sum_;
}

FoldPiece fold_audit(const AuditRules& rules, const std::string& node) {
  return [=](const std::optional<std::string>& before,
             const Segment& piece) -> Result<std::string> {
    FoldedAudit earlier;
    if (before) {
      auto line = parse_audit_line(*before);
      auto* folded = line ? std::get_if<FoldedAudit>(&line->record) : nullptr;
      if (folded == nullptr) return wrong("what was folded before cannot be read");
      earlier = std::move(*folded);
    }
    AuditFold fold(rules, std::move(earlier));
    Status good;
    uint64_t number = 0;
    const Status read = each_line_of(piece, [&](const std::string& line) {
      ++number;
      if (const Status taken = fold.take(line); !taken && good)
        good =
            wrong(piece.path + ":" + std::to_string(number) + ": the line " + taken.error().detail);
    });
    if (!read) return read.error();
    if (!good) return good.error();
    return to_json(AuditLine{fold.result(piece.index), unix_now_s(), node});
  };
}

}  // namespace swarm::records

#include "apps/audit/audit_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/hex.h"
#include "records/kept_text.h"
#include "records/line_tail.h"
#include "records/segments.h"

namespace swarm::launch {
namespace {

struct Number {
  const char* key;
  const char* words;
  uint64_t AuditReport::Totals::*value;
};

using Totals = AuditReport::Totals;
const Number kNumbers[] = {
    {"folded", "steps checked when they were folded", &Totals::folded},
    {"steps", "steps closed and committed", &Totals::steps},
    {"slots", "slots counted", &Totals::slots},
    {"samples", "samples", &Totals::samples},
    {"contributions", "contributions (slots x stages)", &Totals::contributions},
    {"skipped", "slots skipped: not finite", &Totals::skipped},
    {"attempts", "attempts", &Totals::attempts},
    {"retries", "attempts beyond the first", &Totals::retries},
    {"lost", "contributions lost with a peer, computed again", &Totals::lost},
    {"dropped", "contributions dropped with a sum that held too much", &Totals::dropped},
    {"rounds_abandoned", "rounds abandoned", &Totals::abandoned},
    {"closings_undone", "closings that nobody committed", &Totals::undone},
    {"closings_given_up", "closings given up by a recovery", &Totals::given_up},
    {"recoveries", "recoveries of the swarm", &Totals::recoveries},
    {"coordinators", "coordinators", &Totals::coordinators},
    {"minorities", "times that a part said it waits for the rest", &Totals::minorities},
    {"configurations", "configurations that held", &Totals::configurations},
    {"kills", "processes killed", &Totals::kills},
    {"pauses", "processes paused", &Totals::pauses},
    {"crashes", "processes lost otherwise", &Totals::crashes},
    {"commits", "updates applied by peers", &Totals::commits},
    {"loads", "states loaded by peers", &Totals::loads},
    {"replicas_compared", "updates with replicas to compare", &Totals::checksums},
};

Result<std::vector<records::Event>> read_events(const std::string& path) {
  std::vector<records::Event> out;
  size_t number = 0, wrong = 0;
  const Status read = records::LineTail(path, SIZE_MAX).each([&](const std::string& line) {
    ++number;
    auto event = records::parse_event(line);
    if (event)
      out.push_back(std::move(*event));
    else if (wrong == 0)
      wrong = number;
  });
  if (!read) return read.error();
  if (wrong > 0)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}:{}: the line is no event", path, wrong)};
  return out;
}

/// What a node gave up before it was merged is missing in the run's file, too.
bool lost_events(const std::string& folder) {
  namespace fs = std::filesystem;
  if (records::lost_its_beginning(folder + "/events.jsonl")) return true;
  std::error_code error;
  const fs::directory_iterator nodes(folder + "/nodes", error);
  return std::any_of(begin(nodes), end(nodes), [](const fs::directory_entry& node) {
    return records::lost_its_beginning(node.path() / "events.jsonl");
  });
}

/// Nodes that keep different texts of the run: no sample of one is a sample of the other.
std::vector<std::string> other_texts(const std::string& folder) {
  std::vector<std::string> out;
  const auto texts = records::read_kept_texts(folder);
  for (const auto& [node, text] : texts) {
    const auto& [first, run] = *texts.begin();
    if (text.fingerprint != run.fingerprint)
      out.push_back(fmt::format("{} learned from the text {} ({}), {} from the text {} ({})", first,
                                hex(run.fingerprint), run.path, node, hex(text.fingerprint),
                                text.path));
  }
  return out;
}

}  // namespace

Status can_be_exact(const config::Experiment& experiment) {
  if (experiment.base.training.replicas_equal()) return {};
  return Error{ErrorCode::kInvalidArgument,
               "training.mode is \"async\", where every peer updates on its own and nothing exact "
               "can be checked (swarm report shows losses and staleness); try the same experiment "
               "with --set training.mode=sync"};
}

Result<AuditReport> audit_run(const std::string& folder, const config::Experiment& experiment) {
  if (auto exact = can_be_exact(experiment); !exact) return exact.error();
  auto log = read_audit(folder + "/audit.jsonl");
  if (!log) return log.error();
  auto events = read_events(folder + "/events.jsonl");
  if (!events) return events.error();
  AuditContext context;
  context.steps = experiment.base.training.steps;
  context.num_stages = static_cast<uint32_t>(experiment.base.num_stages);
  context.batch = experiment.base.training.batch;
  context.microbatch = experiment.base.training.microbatch;
  context.delayed_updates = experiment.base.training.delayed_updates;
  context.events = std::move(*events);
  auto report = audit(std::move(*log), std::move(context));
  if (lost_events(folder))
    report.notes.push_back(
        "the oldest events are given up (node.records_mb): what only they tell (kills, pauses, "
        "abandoned rounds) is counted from there on");
  for (auto& violation : other_texts(folder)) report.violations.push_back(std::move(violation));
  return report;
}

std::string audit_text(const AuditReport& report, size_t max_violations) {
  std::string out;
  for (const Number& number : kNumbers)
    out += fmt::format("{:>10}  {}\n", report.totals.*number.value, number.words);
  for (const auto& text : report.notes) out += "note: " + text + "\n";
  const size_t shown = std::min(max_violations, report.violations.size());
  for (size_t i = 0; i < shown; ++i) out += "VIOLATION: " + report.violations[i] + "\n";
  if (shown < report.violations.size())
    out += fmt::format("... and {} more\n", report.violations.size() - shown);
  if (!report.passed())
    return out + fmt::format("NOT EXACT: {} violations\n", report.violations.size());
  return out + "exact: every sample of every step counted once, all replicas equal\n";
}

std::string audit_json(const AuditReport& report) {
  nlohmann::ordered_json out;
  out["passed"] = report.passed();
  out["finished"] = report.finished;
  for (const Number& number : kNumbers) out[number.key] = report.totals.*number.value;
  out["violations"] = report.violations;
  out["notes"] = report.notes;
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace swarm::launch

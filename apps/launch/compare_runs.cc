#include "apps/launch/compare_runs.h"

#include <algorithm>
#include <cmath>

#include "records/catalogue.h"
#include "records/line_tail.h"
#include "records/metrics.h"
#include "records/segments.h"
#include "records/token_rate.h"

namespace swarm::launch {

Result<RunCurve> read_curve(const std::string& folder) {
  if (!records::has_lines(folder + "/metrics.jsonl"))
    return Error{ErrorCode::kNotFound, folder + " is no run folder: it has no metrics.jsonl"};
  RunCurve curve;
  records::RunRate rate;
  std::vector<double> closed_s;
  std::vector<Fault> faults;
  const Status metrics =
      records::LineTail(folder + "/metrics.jsonl").each([&](const std::string& text) {
        const auto line = records::parse_metrics(text);
        if (!line || !line->train_loss || !line->time_s) return;
        if (!curve.losses.emplace(line->step, *line->train_loss).second) return;
        rate.closed(*line->time_s, line->tokens);
        closed_s.push_back(*line->time_s);
      });
  if (!metrics) return metrics.error();
  if (curve.losses.size() < 2)
    return Error{ErrorCode::kInvalidArgument, folder + "/metrics.jsonl has less than two steps"};
  const Status events =
      records::LineTail(folder + "/events.jsonl").each([&](const std::string& text) {
        const auto event = records::parse_event(text);
        if (!event) return;
        if (event->is<records::RunResumed>()) rate.resumed(event->time_s);
        const auto act = event->as<records::ChaosAct>();
        if (act && act->index) faults.push_back({event->time_s, act->action});
      });
  if (!events && events.code() != ErrorCode::kNotFound) return events.error();
  curve.tokens_per_s = rate.tokens_per_second().value_or(0);
  curve.costs = fault_costs(std::move(closed_s), std::move(faults));
  return curve;
}

CurveComparison compare_curves(const RunCurve& disturbed,
                               const std::vector<RunCurve>& undisturbed) {
  CurveComparison out;
  struct Place {
    double low, high, loss;
  };
  std::map<uint64_t, Place> places;
  for (const auto& [step, first] : undisturbed.front().losses) {
    const auto own = disturbed.losses.find(step);
    if (own == disturbed.losses.end()) {
      ++out.missing;
      continue;
    }
    double low = first, high = first;
    bool in_all = true;
    for (const auto& run : undisturbed) {
      const auto found = run.losses.find(step);
      in_all = in_all && found != run.losses.end();
      if (!in_all) break;
      low = std::min(low, found->second);
      high = std::max(high, found->second);
    }
    if (!in_all) continue;
    places[step] = {low, high, own->second};
    out.spread = std::max(out.spread, high - low);
  }
  out.steps = places.size();
  out.margin = std::max(out.spread, kLeastMargin);
  for (const auto& [step, place] : places) {
    const double beyond = std::max({0.0, place.low - place.loss, place.loss - place.high});
    const double away = std::isfinite(place.loss) ? beyond : HUGE_VAL;
    out.outside_band += away > 0;
    out.outside_widened += !(away <= out.margin);
    if (away <= out.worst) continue;
    out.worst = away;
    out.worst_step = step;
  }
  std::vector<double> speeds;
  for (const auto& run : undisturbed) speeds.push_back(run.tokens_per_s);
  std::sort(speeds.begin(), speeds.end());
  out.undisturbed_tokens_per_s = speeds[speeds.size() / 2];
  if (out.undisturbed_tokens_per_s > 0)
    out.ratio = disturbed.tokens_per_s / out.undisturbed_tokens_per_s;
  return out;
}

}  // namespace swarm::launch

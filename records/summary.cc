#include "records/summary.h"

namespace swarm::records {

constexpr Outcome kOutcomes[] = {Outcome::kFinished, Outcome::kNotDurable, Outcome::kFailed,
                                 Outcome::kInterrupted};

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFinished:
      return "finished";
    case Outcome::kNotDurable:
      return "not_durable";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

std::optional<Outcome> parse_outcome(const std::string& text) {
  for (const Outcome outcome : kOutcomes)
    if (text == to_string(outcome)) return outcome;
  return std::nullopt;
}

std::string to_json(const Summary& summary) {
  Object out = write_fields(summary);
  for (const char* key : {"train_loss", "validation_loss", "bigram_loss", "tokens_per_second"})
    if (find(out, key) == nullptr) out.push_back({key, {}});
  Object counts;
  for (const auto& [name, count] : summary.events) counts.push_back({name, {count}});
  out.push_back({"events", {std::move(counts)}});
  return to_indented_json(out);
}

std::optional<Summary> parse_summary(const std::string& text) {
  const auto object = parse_object(text);
  if (!object) return std::nullopt;
  Summary summary = read_fields<Summary>(*object);
  const Value* events = find(*object, "events");
  if (events == nullptr || events->object() == nullptr) return summary;
  for (const auto& [name, count] : *events->object())
    summary.events[name] = count.whole().value_or(0);
  return summary;
}

}  // namespace swarm::records

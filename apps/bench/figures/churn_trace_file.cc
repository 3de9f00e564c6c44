#include "apps/bench/figures/churn_trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

#include "common/printable.h"

namespace swarm::apps {
namespace {

constexpr size_t kShown = 40;  // of a wrong word

/// The words of a line without its comment.
std::vector<std::string> words_of(std::string line) {
  line.resize(std::min(line.find('#'), line.size()));
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Reads lines one after the other.
class Reader {
 public:
  /// What is wrong with the line; empty: nothing.
  std::string take(const std::vector<std::string>& words) {
    if (words.size() != 3)
      return fmt::format("expected SECONDS NODE join|leave, found {} words", words.size());
    const std::string &node = words[1], &what = words[2];
    char* end = nullptr;
    const double time_s = std::strtod(words[0].c_str(), &end);
    if (*end != '\0' || !std::isfinite(time_s))
      return fmt::format("expected a time in seconds, found \"{}\"", printable(words[0], kShown));
    if (what != "join" && what != "leave")
      return fmt::format("expected join or leave, found \"{}\"", printable(what, kShown));
    if (trace_.events.empty()) first_s_ = time_s;
    const double at_s = time_s - first_s_;
    if (!trace_.events.empty() && at_s < trace_.events.back().at_s)
      return "it is earlier than the line before; sort the file by its first column";
    return what == "join" ? join(node, at_s) : leave(node, at_s);
  }
  ChurnTrace done() { return std::move(trace_); }

 private:
  std::string join(const std::string& node, double at_s) {
    if (!here_.emplace(node, trace_.nodes).second)
      return fmt::format("{} joins, but has not left since it joined", printable(node, kShown));
    trace_.events.push_back({at_s, trace_.nodes++, true});
    return "";
  }
  std::string leave(const std::string& node, double at_s) {
    const auto found = here_.find(node);
    if (found == here_.end())
      return fmt::format("{} leaves, but is not there", printable(node, kShown));
    trace_.events.push_back({at_s, found->second, false});
    here_.erase(found);
    return "";
  }

  double first_s_ = 0;
  std::map<std::string, uint32_t> here_;  // by name, its number in this life
  ChurnTrace trace_;
};

}  // namespace

Result<ChurnTrace> parse_trace(const std::string& text, const std::string& file) {
  Reader reader;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (const auto wrong = reader.take(words); !wrong.empty())
      return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", file, number, wrong)};
  }
  return reader.done();
}

std::string print_trace(const ChurnTrace& trace) {
  std::string text = "# seconds node what\n";
  for (const ChurnEvent& event : trace.events)
    text += fmt::format("{:.3f} n{} {}\n", event.at_s, event.node, event.joins ? "join" : "leave");
  return text;
}

Result<ChurnProfile> profile_of(const ChurnTrace& trace, const std::string& name, uint32_t stages,
                                double hours) {
  if (trace.events.empty())
    return Error{ErrorCode::kInvalidArgument, name + ": there is no event in it"};
  if (hours == 0) hours = trace.events.back().at_s / 3600;
  if (hours <= 0)
    return Error{ErrorCode::kInvalidArgument,
                 name + ": everything happens at one time; say with --hours how long it goes on"};
  if (hours * 3600 < trace.events.back().at_s)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: it goes on for {:.3f} h; --hours may not be less", name,
                             trace.events.back().at_s / 3600)};
  ChurnProfile profile{name, 0, stages, {{hours, 0, 0, 0, 0}}};
  for (const ChurnEvent& event : trace.events) profile.peers += event.joins && event.at_s == 0;
  return profile;
}

}  // namespace swarm::apps

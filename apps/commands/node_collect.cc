#include "apps/commands/node_collect.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "apps/launch/collected_folder.h"

namespace swarm::apps {

void NodeCollect::begin() {
  begun_ = true;
  options_.finished = true;
  std::thread([this] { work(); }).detach();
}

void NodeCollect::work() {
  using Clock = std::chrono::steady_clock;
  const auto give_up_at = Clock::now() + std::chrono::duration<double>(patience_s_);
  auto into = open_collection(options_);
  if (!into) options_.say("collects nothing: " + to_string(into.error()));
  while (into && !(whole_ = try_once(*into)) && Clock::now() < give_up_at)
    std::this_thread::sleep_for(std::chrono::seconds(5));
  if (!whole_)
    options_.say(fmt::format(
        "NOT collected, or not whole: what is above stands in the way. Then go on with "
        "`swarm collect {0} HOST:PORT --key FILE`, of any node that is there or was started again "
        "with --stay, or with `swarm collect {0} FOLDER...` of copies of the nodes' folders: "
        "nothing of theirs is lost",
        options_.folder));
  if (!stays_) ::kill(::getpid(), SIGTERM);
}

/// False if something is missing.
bool NodeCollect::try_once(launch::Collection& into) {
  const auto collected = collect(options_, into);
  if (!collected) {
    options_.say("collects nothing: " + to_string(collected.error()));
    return false;
  }
  for (const auto& line : collected->lacks) options_.say("lacks " + line);
  const bool whole = collected->lacks.empty();
  options_.say(fmt::format("{} {}: swarm report, sample, audit and verify work on it",
                           whole ? "has collected the run into" : "has collected a part into",
                           options_.folder));
  if (whole) static_cast<void>(launch::set_end_of_collected_run(options_.folder, steps_));
  return whole;
}

}  // namespace swarm::apps

#include "apps/commands/collector.h"

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "apps/commands/remote_node.h"
#include "common/printable.h"
#include "config/experiment.h"

namespace swarm::apps {
namespace {

constexpr int kRounds = 3;  // a snapshot may be pruned, a file may grow, while it is fetched
constexpr size_t kMostNodes = 10'000;
constexpr uint32_t kMostStages = 4'096;

using Known = RemoteNode::Known;

Result<launch::Holder> look_at(ToolLink& link, const Known& at, std::vector<Known>& known) {
  auto node = RemoteNode::at(link, at);
  if (!node) return node.error();
  auto holdings = node->list(known);
  if (!holdings) return holdings.error();
  if (!config::is_name(holdings->node_name))
    return Error{ErrorCode::kRefused, "it calls itself " + printable(holdings->node_name, 64)};
  if (holdings->num_stages > kMostStages)
    return Error{ErrorCode::kRefused, fmt::format("it says {} stages", holdings->num_stages)};
  auto remote = std::make_unique<RemoteNode>(std::move(*node));
  RemoteNode* told = remote.get();
  return launch::Holder{at.endpoint.text(), std::move(remote), std::move(*holdings),
                        [told](bool finished) { return told->tell_collected(finished); }};
}

/// Every node that `options.nodes` lead to. Errors: none of them answers, and the first says why.
Result<std::vector<launch::Holder>> find_all(const CollectOptions& options, ToolLink& link,
                                             launch::Collection& into) {
  std::vector<launch::Holder> found;
  std::deque<Known> ask;
  for (const auto& at : options.nodes) ask.push_back({std::nullopt, at});
  std::set<std::tuple<std::string, std::string>> asked;
  std::set<std::string> names;
  std::optional<Error> first;
  while (!ask.empty() && asked.size() < kMostNodes) {
    const Known at = ask.front();
    const std::string where = at.endpoint.text();
    ask.pop_front();
    if (!asked.emplace(where, at.id ? at.id->raw() : "").second) continue;
    std::vector<Known> known;
    auto holder = look_at(link, at, known);
    for (auto& one : known) ask.push_back(std::move(one));
    if (holder && names.insert(holder->holdings.node_name).second)
      found.push_back(std::move(*holder));
    if (holder) continue;
    if (!first) first = holder.error();
    options.say(fmt::format("{} gives nothing: {}", where, to_string(holder.error())));
    // Others may just be gone: of whom the experiment names that is said at the end.
    if (holder.code() == ErrorCode::kRefused) into.gives_nothing(where, holder.error());
  }
  if (found.empty()) return first.value_or(Error{ErrorCode::kInvalidArgument, "no node was named"});
  return found;
}

}  // namespace

Result<launch::Collection> open_collection(const CollectOptions& options) {
  const auto open_store = [open = options.open_store](const std::string& folder) {
    return open(storage::StoreKind::kRocksdb, folder);
  };
  return launch::Collection::open(options.folder, open_store, options.say, options.finished);
}

Result<launch::CollectedRun> collect(const CollectOptions& options, launch::Collection& into) {
  ToolLink link;
  if (auto opened = link.open(options.key, /*insists=*/true); !opened) return opened.error();
  for (int round = 1;; ++round) {
    auto holders = find_all(options, link, into);
    if (!holders && round == 1) return holders.error();
    auto out = into.take(holders ? std::move(*holders) : std::vector<launch::Holder>());
    if (round == kRounds || (out && out->lacks.empty())) return out;
  }
}

Result<launch::CollectedRun> collect_folders(const CollectOptions& options,
                                             launch::Collection& into,
                                             const std::vector<std::string>& folders) {
  into.take_piecemeal();
  std::vector<launch::Holder> holders;
  for (const auto& folder : folders) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/nodes", error)) {
      std::error_code ignored;
      if (!entry.is_directory(ignored)) continue;
      const std::string at = entry.path().string();
      auto node = std::make_unique<launch::CopiedNode>(at, [&](const std::string& of) {
        return options.open_store(storage::StoreKind::kRocksdb, of);
      });
      auto holdings = node->list();
      holders.push_back({at, std::move(node), std::move(holdings)});
    }
    if (error)
      return Error{ErrorCode::kNotFound, folder +
                                             " has no nodes/: expected HOST:PORT of a node, or "
                                             "a folder copied from a node's machine"};
  }
  return into.take(std::move(holders));
}

}  // namespace swarm::apps

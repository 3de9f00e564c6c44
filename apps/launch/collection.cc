#include "apps/launch/collection.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "apps/launch/collected_folder.h"
#include "common/numbers.h"
#include "common/printable.h"

namespace swarm::launch {

Result<Collection> Collection::open(const std::string& folder, CopiedNode::OpenStore open_store,
                                    Say say, bool finished) {
  if (auto good = prepare_collected_folder(folder); !good) return good.error();
  return Collection(folder, std::move(open_store), std::move(say), finished);
}

void Collection::gives_nothing(const std::string& where, const Error& why) {
  plan_.owes(where, to_string(why));
}

void Collection::take_piecemeal() {
  piecemeal_ = true;
  for (const auto& node : here())
    if (node.unreadable.empty() && is_whole(folder_of(node.node_name)))
      plan_.gave_all(node.node_name);
}

/// What was brought before.
std::vector<Holdings> Collection::here() {
  std::vector<Holdings> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/nodes", error)) {
    if (!entry.is_directory(error)) continue;
    out.push_back(CopiedNode(entry.path().string(), open_store_).identify());
    for (const auto& why : out.back().unreadable)
      plan_.owes(out.back().node_name, "in " + folder_ + ": " + why);
  }
  return out;
}

/// Not a byte is asked of who is of another run.
Status Collection::refuse_other_runs(std::vector<Holder>& holders,
                                     const std::vector<Holdings>& here) {
  std::string run = run_of_collected_folder(folder_);
  const bool known = !run.empty();
  for (const auto& node : here)
    if (run.empty()) run = node.run_id;
  std::vector<Holder> own;
  for (auto& holder : holders) {
    const std::string& id = holder.holdings.run_id;
    if (run.empty()) run = printable(id, 256);
    const std::string why = other_run(folder_, run, id);
    if (why.empty())
      own.push_back(std::move(holder));
    else
      gives_nothing(holder.where, {ErrorCode::kRefused, why});
  }
  holders = std::move(own);
  return known || run.empty() ? Status() : set_run_of_collected_folder(folder_, run);
}

Result<CollectedRun> Collection::take(std::vector<Holder> holders) {
  const auto there = here();
  if (auto marked = refuse_other_runs(holders, there); !marked) return marked.error();
  std::vector<Holdings> answering;
  for (const auto& holder : holders) answering.push_back(holder.holdings);
  const auto choice = plan_.begin_round(there, answering);
  if (!choice.word.empty()) say_(choice.word);
  for (auto& holder : holders) {
    const std::string name = holder.holdings.node_name;
    const auto done = fetch(holder, choice);
    if (done)
      plan_.gave_all(name, holder.where);
    else
      plan_.owes(name, to_string(done.error()));
  }
  auto merged = merge_records(folder_);
  if (!merged) return merged.error();
  plan_.expects(merged->nodes);
  const bool finished = finished_ || merged->finished;
  CollectedRun out{std::move(*merged), plan_.lacks()};
  if (out.lacks.empty()) tell(holders, finished);
  return out;
}

Status Collection::fetch(Holder& holder, const CollectPlan::Choice& choice) {
  const auto& holdings = holder.holdings;
  const std::string folder = folder_of(holdings.node_name);
  if (auto marked = mark_part(folder); !marked) return marked;
  const auto records = fetch_records(*holder.source, holdings, folder);
  if (!records) return records.error();
  Fetched fetched = *records;
  std::string taken;
  if (auto done = fetch_snapshots(holder, choice.step, fetched, taken); !done) return done;
  say_(fmt::format("{} ({}): {} MB, records{}", holdings.node_name, holder.where,
                   fixed(static_cast<double>(fetched.bytes) / 1e6, 1), taken));
  if (!holdings.unreadable.empty()) return Error{ErrorCode::kIo, holdings.unreadable.front()};
  return mark_whole(folder);
}

/// Every replica's of the step, so that one that is damaged costs nothing.
Status Collection::fetch_snapshots(Holder& holder, std::optional<uint64_t> step, Fetched& fetched,
                                   std::string& taken) {
  const std::string& name = holder.holdings.node_name;
  const std::string folder = folder_of(name);
  std::shared_ptr<storage::CheckpointStore> store;
  for (const auto& one : holder.holdings.snapshots) {
    const bool chosen = step == one.step;
    if (!chosen && !piecemeal_) continue;
    if (!store) {
      auto opened = open_store_(folder);
      if (!opened) return opened.error();
      store = *opened;
    }
    const auto got = fetch_snapshot(*holder.source, one, folder, *store);
    if (got) {
      if (chosen) plan_.has_snapshot(one.stage);
      fetched.bytes += got->bytes;
      taken += fmt::format(", stage {} of step {}", one.stage, one.step);
      continue;
    }
    const bool others_may =
        got.code() == ErrorCode::kCorruptCheckpoint || got.code() == ErrorCode::kNotFound;
    if (!others_may) return got.error();
    if (chosen) plan_.gave_no_snapshot(name, one, got.error());
    say_(fmt::format("{}: no snapshot of step {} of stage {}: {}", name, one.step, one.stage,
                     to_string(got.error())));
  }
  return {};
}

void Collection::tell(const std::vector<Holder>& holders, bool finished) const {
  for (const auto& holder : holders)
    if (const auto told = holder.tell(finished); !told)
      say_(holder.holdings.node_name + " was not told: " + told.error().detail);
}

}  // namespace swarm::launch

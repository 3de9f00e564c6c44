/// A run on its way into one folder: in rounds, takes what nodes hold, merges it, and tells the nodes
/// once nothing is missing. Over links or from copied folders; what it decides is in collect_plan.h.
/// Blocking; one owner.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/launch/collect_plan.h"
#include "apps/launch/copied_node.h"
#include "apps/launch/fetch_node.h"
#include "apps/launch/merge_records.h"
#include "apps/launch/node_source.h"
#include "common/result.h"

namespace swarm::launch {

/// A node, wherever its holdings are read from.
struct Holder {
  std::string where;  ///< For people.
  std::unique_ptr<NodeSource> source;
  Holdings holdings;
  /// All that it holds is here. `finished`: the run is.
  std::function<Status(bool finished)> tell = [](bool) { return Status(); };
};

struct CollectedRun {
  MergedRun run;
  std::vector<std::string> lacks;  ///< A line for each thing that is missing.
};

class Collection {
 public:
  using Say = std::function<void(const std::string&)>;

  /// `finished`: somebody knows that the run is. `open_store` opens the database of a node's folder.
  /// Errors: see prepare_collected_folder().
  static Result<Collection> open(const std::string& folder, CopiedNode::OpenStore open_store,
                                 Say say, bool finished = false);

  /// Who is at `where` gives nothing, and should.
  void gives_nothing(const std::string& where, const Error& why);
  /// Copied folders may come one by one: what was brought of nodes in former calls counts, and every
  /// snapshot is taken, as what other stages have is not known yet.
  void take_piecemeal();

  /// A round. Errors: nothing can be merged.
  Result<CollectedRun> take(std::vector<Holder> holders);

 private:
  Collection(std::string folder, CopiedNode::OpenStore open_store, Say say, bool finished)
      : folder_(std::move(folder)),
        open_store_(std::move(open_store)),
        say_(std::move(say)),
        finished_(finished) {}

  std::string folder_of(const std::string& node) const { return folder_ + "/nodes/" + node; }
  std::vector<Holdings> here();
  Status refuse_other_runs(std::vector<Holder>& holders, const std::vector<Holdings>& here);
  Status fetch(Holder& holder, const CollectPlan::Choice& choice);
  Status fetch_snapshots(Holder& holder, std::optional<uint64_t> step, Fetched& fetched,
                         std::string& taken);
  void tell(const std::vector<Holder>& holders, bool finished) const;

  std::string folder_;
  CopiedNode::OpenStore open_store_;
  Say say_;
  bool finished_, piecemeal_ = false;
  CollectPlan plan_;
};

}  // namespace swarm::launch

/// What coordinators decided: closings by stage, step and round, in the order in which they were
/// made. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/audit/audit.h"
#include "apps/audit/audit_words.h"

namespace swarm::launch {

/// When a coordinator became one, its term, its node; in the order of time.
using Reign = std::tuple<double, uint64_t, std::string>;

class Closings {
 public:
  /// `log` and `context` outlive this. Appends to `violations` what cannot be.
  Closings(const AuditLog& log, const AuditContext& context, std::vector<std::string>& violations);

  /// In the order of configurations, reigns and their rounds, each once; those of lines that were given up first.
  const std::vector<const Closed*>& in_order() const { return closings_; }
  const Reign& reign_of(const Closed* line) const { return reigns_.at(line); }
  /// In which `node` said something at `time_s`, both by its own clock; nothing: no line says that it led.
  std::optional<Reign> reign_at(const std::string& node, double time_s) const;
  /// Of history (docs/one_history.md), as ConfigurationHolds names it: two parts may have gone on at once.
  std::string line_of(const Closed* line) const;
  /// Coordinators that there were.
  size_t reigns() const { return takeovers_.size(); }
  /// The round that a peer means: of several with its number the one that it was a member of, or
  /// whose average it applied. Null: nobody closed it.
  const Closed* find_round(const records::CommittedStep& done) const;

 private:
  void add(const Closed& line, std::vector<std::string>& violations);
  Reign find_reign(const Closed& line) const;
  std::string line_that_stays(const AuditLog& log) const;

  struct Takeover {
    double time_s;
    std::string node;
    uint64_t term;
  };
  std::vector<Takeover> takeovers_;
  /// Of which line all configurations of a reign are: a fork needs another ballot.
  std::map<Reign, std::string> lines_;
  std::map<std::string, std::set<std::string>> before_;  ///< By line: those that it forked off.
  std::vector<const Closed*> closings_;
  std::map<const Closed*, Reign> reigns_;
  std::map<std::pair<StageStep, uint64_t>, std::vector<const Closed*>> rounds_;
};

}  // namespace swarm::launch

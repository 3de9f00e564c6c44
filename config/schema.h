/// The one table of keys from which the parser, the printers and the fingerprint work. A key is
/// bound to a member of a struct; its default is whatever that struct's own initialiser says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/value.h"

namespace swarm::config {

/// A key of a T (Experiment for sections; NodeSpec, PathShape, TimelineEvent for arrays of tables;
/// ShapeChange for those of RUN/links.toml).
template <class T>
struct Key {
  std::string section;   ///< "model"; the array's name for [[nodes]] and its like.
  std::string name;      ///< "layers"
  std::string help;      ///< Full sentences, including the unit.
  std::string expected;  ///< "an integer from 1 to 4096"
  bool shared = false;   ///< Part of the fingerprint.
  /// Part of the fingerprint of older runs, whose snapshots carry it, and of no new one.
  bool was_shared = false;
  /// Added after the first runs: at its default it is left out of the fingerprint, so that their
  /// snapshots and nodes still match.
  bool later = false;
  std::string earlier{};  ///< As later: the default that runs had before it, as printed.
  bool is_text = false;   ///< A plain string: an override is taken as it stands.
  bool is_array = false;
  std::vector<std::string> choices;  ///< For suggestions; empty: no fixed list.
  /// Stores `value`, or returns the (part of the) value that does not fit and stores nothing.
  std::function<const Value*(T&, const Value&)> set;
  /// The value as TOML.
  std::function<std::string(const T&)> print;

  std::string path() const { return section + "." + name; }
};

struct Section {
  std::string name;
  std::string help;
};

const std::vector<Section>& sections();
/// The keys of all sections, in printing order.
const std::vector<Key<Experiment>>& experiment_keys();
const std::vector<Key<NodeSpec>>& node_keys();
const std::vector<Key<actors::PathShape>>& path_keys();
const std::vector<Key<TimelineEvent>>& timeline_keys();
const std::vector<Key<actors::ShapeChange>>& change_keys();

}  // namespace swarm::config

/// What the links of a node are made to be: worse than they are, for tests and experiments
/// (docs/bad_network.md). Filled in by config/ and by RUN/links.toml; no mail can change it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace swarm::actors {

/// The largest delay and jitter that can be asked for [s]; see DelayLine on what they cost.
constexpr double kMaxLinkDelay_s = 10;
/// The lowest rate that can be asked for [bytes/s]: heartbeats must come through.
constexpr double kMinLinkRate = 4096;

/// A node's own side of all its links together.
struct NodeShape {
  double send_bytes_per_s = 0;     ///< 0: no limit.
  double receive_bytes_per_s = 0;  ///< 0: no limit.
  double link_delay_s = 0;         ///< What it receives comes this much later.
  double link_jitter_s = 0;        ///< And by up to this much more, drawn anew for each read.
};

/// What the way from one node to another is made to be, beyond what its ends are. Directed; a
/// figure that is absent is not said.
struct PathShape {
  std::string from, to;  ///< Names of nodes; a * stands for any letters.
  std::optional<double> bytes_per_s, delay_s, jitter_s;
  /// Nothing passes between the two, in either direction, though their connections stay.
  std::optional<bool> cut{};

  bool says_nothing() const { return !bytes_per_s && !delay_s && !jitter_s && !cut; }
};

/// All that the links of one node need to know.
struct ShapeOptions {
  NodeShape node;
  std::vector<PathShape> paths;  ///< Later ones overrule earlier ones, figure by figure.
};

/// A change while the swarm runs; absent figures stay as they are.
struct ShapeChange {
  std::string node;  ///< Whose links; a * stands for any letters.
  std::string to;    ///< Empty: the node's own figures; else the path from `node` to `to`.
  std::optional<double> send_bytes_per_s, receive_bytes_per_s, link_delay_s, link_jitter_s;  // own
  std::optional<double> bytes_per_s, delay_s, jitter_s;                                      // path
  std::optional<bool> cut{};                                                                 // path

  bool names_own() const {
    return send_bytes_per_s || receive_bytes_per_s || link_delay_s || link_jitter_s;
  }
  bool names_path() const { return bytes_per_s || delay_s || jitter_s || cut; }
};

/// Whether a node's name is meant by `pattern`, in which a * stands for any letters.
bool is_meant(const std::string& pattern, const std::string& name);

/// Changes what `change` means for node `own_name`: its own figures, or one more path.
void apply(const ShapeChange& change, const std::string& own_name, ShapeOptions& shape);

/// One link as a node sees it: paths found, its own figures added.
struct LinkShape {
  double send_bytes_per_s = 0;  ///< Of this link alone; 0: no limit but the node's.
  double delay_s = 0;           ///< Of what is received.
  double jitter_s = 0;
  /// The lowest rate that is known to hold for what is received; 0: none is known.
  double known_receive_rate = 0;
  bool cut = false;  ///< Nothing that is received is heard.
};
/// The link to `peer`, empty while its name is not known: then only the node's own figures count.
LinkShape link_shape(const ShapeOptions& shape, const std::string& own_name,
                     const std::string& peer);

}  // namespace swarm::actors

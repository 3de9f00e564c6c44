#include "actors/net/links/shape/options.h"

#include <algorithm>

namespace swarm::actors {
namespace {

template <class T>
void say(const std::optional<T>& figure, T& out) {
  if (figure) out = *figure;
}

}  // namespace

bool is_meant(const std::string& pattern, const std::string& name) {
  size_t p = 0, n = 0, star = std::string::npos, behind = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++behind;  // the last * takes one letter more
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void apply(const ShapeChange& change, const std::string& own_name, ShapeOptions& shape) {
  if (!change.to.empty()) {
    shape.paths.push_back(
        {change.node, change.to, change.bytes_per_s, change.delay_s, change.jitter_s, change.cut});
    return;
  }
  if (!is_meant(change.node, own_name)) return;
  say(change.send_bytes_per_s, shape.node.send_bytes_per_s);
  say(change.receive_bytes_per_s, shape.node.receive_bytes_per_s);
  say(change.link_delay_s, shape.node.link_delay_s);
  say(change.link_jitter_s, shape.node.link_jitter_s);
}

LinkShape link_shape(const ShapeOptions& shape, const std::string& own_name,
                     const std::string& peer) {
  LinkShape link;
  double arriving_rate = 0;
  if (!peer.empty()) {
    for (const auto& path : shape.paths) {
      const bool out = is_meant(path.from, own_name) && is_meant(path.to, peer);
      const bool in = is_meant(path.from, peer) && is_meant(path.to, own_name);
      if (out) say(path.bytes_per_s, link.send_bytes_per_s);
      if (out || in) say(path.cut, link.cut);
      if (!in) continue;
      say(path.bytes_per_s, arriving_rate);
      say(path.delay_s, link.delay_s);
      say(path.jitter_s, link.jitter_s);
    }
  }
  link.delay_s += shape.node.link_delay_s;
  link.jitter_s += shape.node.link_jitter_s;
  for (const double rate : {arriving_rate, shape.node.receive_bytes_per_s})
    if (rate > 0 && (link.known_receive_rate == 0 || rate < link.known_receive_rate))
      link.known_receive_rate = rate;
  return link;
}

}  // namespace swarm::actors

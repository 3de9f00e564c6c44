// What LinksCore does with bytes: between its host, its shaper and the sessions.
#include "actors/net/links/links_core.h"

namespace swarm::actors::links {

void LinksCore::received(ConnId id, const void* data, size_t size) {
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  const auto now = host_.now();
  const bool waits = shaper_.inlet().push(id, data, size, now);
  if (!waits) it->second.session->receive(data, size, now);
  settle(id);
  if (waits) carry_due();
}

void LinksCore::reshape(ShapeOptions shape) {
  shaper_.reshape(std::move(shape), host_.now());
  std::vector<ConnId> ids;  // who was cut is read again, and the other way round
  for (const auto& entry : conns_) ids.push_back(entry.first);
  for (ConnId id : ids) settle(id);
  carry_due();
}

void LinksCore::closed(ConnId id, const Error& why) {
  if (shaper_.inlet().end(id, why, host_.now())) return carry_due();
  lose(id, why);
}

void LinksCore::lose(ConnId id, const Error& why) {
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  it->second.session->close(why, false);
  settle(id);
}

void LinksCore::carry_due() {
  auto& inlet = shaper_.inlet();
  const auto now = host_.now();
  while (const auto due = inlet.take(now)) {
    if (due->end) {
      lose(due->conn, *due->end);
      continue;
    }
    conns_.at(due->conn).session->receive(due->bytes.data(), due->bytes.size(), now);
    settle(due->conn);
  }
  if (const auto next = inlet.next_due()) host_.call_at(*next);
}

bool LinksCore::next_chunk(ConnId id, std::vector<char>& out) {
  auto it = conns_.find(id);
  if (it == conns_.end() || it->second.session->output().empty()) return false;
  auto& turns = shaper_.turns();
  if (!turns.may_send(id, host_.now())) return false;
  const size_t before = out.size();
  const size_t most = turns.chunk_bytes(id, options_->max_chunk_bytes);
  if (!it->second.session->next_chunk(out, static_cast<uint32_t>(most))) return false;
  turns.sent(id, out.size() - before);
  return true;
}

}  // namespace swarm::actors::links

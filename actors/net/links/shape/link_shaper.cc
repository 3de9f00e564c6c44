#include "actors/net/links/shape/link_shaper.h"

namespace swarm::actors::links {

LinkShaper::LinkShaper(std::string own_name, ShapeOptions shape, uint32_t seed, double join_share)
    : own_name_(std::move(own_name)),
      shape_(std::move(shape)),
      turns_(shape_.node.send_bytes_per_s, join_share),
      inlet_(seed) {
  inlet_.set_rate(shape_.node.receive_bytes_per_s, {});
}

void LinkShaper::reshape(ShapeOptions shape, TimePoint now) {
  shape_ = std::move(shape);
  turns_.set_rate(shape_.node.send_bytes_per_s, now);
  inlet_.set_rate(shape_.node.receive_bytes_per_s, now);
  for (const auto& [conn, peer] : peers_) this->shape(conn, peer, now);
}

void LinkShaper::opened(ConnId conn, TimePoint now) { named(conn, {}, now); }

void LinkShaper::named(ConnId conn, const std::string& peer, TimePoint now) {
  peers_[conn] = peer;
  shape(conn, peer, now);
}

void LinkShaper::shape(ConnId conn, const std::string& peer, TimePoint now) {
  const LinkShape link = link_shape(shape_, own_name_, peer);
  turns_.set_rate(conn, link.send_bytes_per_s, now);
  inlet_.shape(conn, link, peer.empty());
}

void LinkShaper::forget(ConnId conn) {
  peers_.erase(conn);
  turns_.forget(conn);
  inlet_.forget(conn);
}

std::chrono::milliseconds LinkShaper::tick_every() const {
  return std::chrono::milliseconds(turns_.limited() || inlet_.limited() ? 20 : 50);
}

}  // namespace swarm::actors::links

#include "actors/stage/round_members.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/names.h"

namespace swarm::actors {

Result<std::vector<AverageMember>> RoundMembers::of(const proto::CloseStep& message) {
  if (message.members_size() > 0) {
    std::vector<PeerAddress> told;
    for (const auto& member : message.members()) {
      auto peer = from_proto(member);
      if (!peer) return peer.error();
      told.push_back(std::move(*peer));
    }
    const auto stays = [&told](const PeerAddress& before) {
      return std::any_of(told.begin(), told.end(),
                         [&before](const PeerAddress& now) { return now.id == before.id; });
    };
    left_out_ |= !std::all_of(known_.begin(), known_.end(), stays);
    known_ = std::move(told);
    id_ = message.members_id();
  }
  if (known_.empty() || message.members_id() != id_)
    return Error{ErrorCode::kNotFound, "members by an id that this peer was not told"};
  if (static_cast<size_t>(message.samples_size()) != known_.size())
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("close_step: {} numbers of samples for {} members",
                             message.samples_size(), known_.size())};
  std::vector<AverageMember> members;
  for (size_t i = 0; i < known_.size(); ++i)
    members.push_back({beside(known_[i].id, Role::kAverager), known_[i].endpoint,
                       message.samples(static_cast<int>(i))});
  if (auto added = add_part_weights(message.part_weights(), members); !added) return added.error();
  return members;
}

}  // namespace swarm::actors

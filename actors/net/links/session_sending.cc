// Session: what this side sends.
#include "actors/net/links/head_rule.h"
#include "actors/net/links/session.h"
#include "actors/net/links/session_frames.h"

namespace swarm::actors::links {

using std::chrono::milliseconds;

Status Session::check_mail(const std::string& actor, const Mail& mail) const {
  if (state_ != State::kUp) return Error{ErrorCode::kLinkLost, "the link is not up", 0};
  if (!mail.head || actor.size() > kMaxActorBytes) {
    return Error{ErrorCode::kInvalidArgument, "mail without head or with too long an address", 0};
  }
  if (mail.head->ByteSizeLong() > head_limit(mail.kind, options_->max_head_bytes) ||
      mail.body.size() > options_->max_body_bytes) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string(kind_name(mail.kind)) + " exceeds max_head_bytes or max_body_bytes",
                 0};
  }
  uint64_t budget = options_->send_budget_bytes;
  bool full = !mail.body.empty() && output_.bytes() > 0 &&
              (output_.bytes() > budget || mail.body.size() > budget - output_.bytes());
  if (full || output_.frames() >= kMaxQueuedFrames) {
    return Error{ErrorCode::kOverloaded, "send queue to " + peer_.name + " is full", 100};
  }
  return {};
}

Result<uint64_t> Session::request(const std::string& actor, const Mail& mail, TimePoint now) {
  auto status = check_mail(actor, mail);
  if (!status) return status.error();
  const uint64_t id = requests_.next_id();
  auto frame = make_frame(mail.kind, kRequest, id, mail.budget, actor, *mail.head, mail.body);
  requests_.add({id, mail.kind, frame.header.traffic, now + mail.budget, mail.body.size()});
  last_mail_ = now;
  output_.push(std::move(frame));
  return id;
}

Status Session::send(const std::string& actor, const Mail& mail) {
  auto status = check_mail(actor, mail);
  if (!status) return status;
  output_.push(make_frame(mail.kind, kOneWay, 0, mail.budget, actor, *mail.head, mail.body));
  return {};
}

void Session::reply(uint64_t request_id, const Mail& mail) {
  if (!serving_.has(request_id)) return;
  auto status = check_mail({}, mail);
  if (!status) return reply(request_id, status.error());
  serving_.take(request_id);
  output_.push(
      make_frame(mail.kind, kReply, request_id, milliseconds(0), {}, *mail.head, mail.body));
}

void Session::reply(uint64_t request_id, const Error& error) {
  if (error.code == ErrorCode::kRefused && state_ == State::kUp)
    tell_refused(*options_, {remote_, dialled_, error.detail, peer_.name});
  if (!serving_.take(request_id) || state_ != State::kUp) return;
  output_.push(make_frame(proto::KIND_ERROR, kReply, request_id, milliseconds(0), {},
                          short_error(error), {}));
}

void Session::give_up() {
  output_.push(control_frame(proto::KIND_CANCEL_REQUEST, proto::CancelRequest()));
}

bool Session::next_chunk(std::vector<char>& out, uint32_t max_bytes) {
  return output_.next_chunk(out, std::min(max_bytes, options_->max_chunk_bytes));
}

}  // namespace swarm::actors::links

/// Bytes of a stranger, and of a peer that has said hello: nothing may crash, hang or hold memory
/// beyond the receive budget.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "actors/net/links/session.h"
#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;

namespace {

std::shared_ptr<LinksOptions> options(uint8_t number) {
  auto options = std::make_shared<LinksOptions>(testing::link_options(number));
  options->max_chunk_bytes = 4096;
  options->max_body_bytes = 1 << 16;
  return options;
}

void answer(Session& session) {
  for (auto& event : session.take_events()) {
    if (event.type == LinkEvent::Type::kMail) session.reply(event.request_id, event.mail);
  }
  std::vector<char> out;
  while (session.next_chunk(out)) out.clear();
}

void say_hello(Session& session, TimePoint now) {
  auto frame = make_frame(proto::KIND_HELLO, kOneWay, 0, {}, "", make_hello(*options(1)), {});
  std::vector<char> bytes;
  append_chunk(frame, 4096, bytes);
  session.receive(bytes.data(), bytes.size(), now);
  if (session.state() != Session::State::kUp) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  bool known = data[0] & 1;
  size_t piece = 1 + data[1];
  auto budget = std::make_shared<ReceiveBudget>(1 << 17, nullptr);
  auto now = TimePoint{} + std::chrono::hours(1);
  {
    Session session(options(2), (data[0] & 2) != 0, budget, now);
    if (known) {
      say_hello(session, now);
      proto::Echo echo;
      (void)session.request("echo", make_mail(echo), now).ok();  // something to be answered
    }
    for (size_t at = 2; at < size; at += piece) {
      session.receive(data + at, std::min(piece, size - at), now);
      if (!known && budget->used_bytes() != 0) std::abort();
      answer(session);
      if (session.paused()) session.resume(now);
      now += std::chrono::milliseconds(10);
      session.tick(now);
    }
  }
  if (budget->used_bytes() != 0) std::abort();
  return 0;
}

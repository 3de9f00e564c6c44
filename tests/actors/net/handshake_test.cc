/// The run's key: who proves it, who is refused without it, and what a link then takes.
#include "actors/net/links/handshake.h"

#include <boost/test/unit_test.hpp>

#include "actors/net/links/session.h"
#include "actors/net/mail_roles.h"
#include "tests/support/ids.h"
#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;
using Type = LinkEvent::Type;

namespace {

const TimePoint kStart = TimePoint{} + 1h;
const std::string kKey(LinksOptions::kKeyBytes, 'k'), kOther(LinksOptions::kKeyBytes, 'o');

using OptionsPtr = std::shared_ptr<LinksOptions>;

OptionsPtr node(uint8_t number, const std::string& key, bool beyond_loopback = false) {
  auto options = std::make_shared<LinksOptions>();
  options->node_id.bytes[0] = number;
  options->node_name = "m" + std::to_string(number);
  options->run_id = "run";
  options->key = key;
  if (beyond_loopback) options->listen = {"10.0.0.1", 7000};
  return options;
}

OptionsPtr tool(const std::string& key) {
  auto options = node(9, key);
  options->node_name = "tool";
  options->is_tool = true;
  options->open = true;
  options->listen = {};
  return options;
}

/// `a` dials `b`.
struct Link {
  Link(OptionsPtr a_options, OptionsPtr b_options)
      : a(a_options, true, budget, kStart), b(b_options, false, budget, kStart) {
    exchange();
  }
  void exchange() { testing::exchange(a, b, kStart); }
  bool up() const { return a.state() == Session::State::kUp && b.state() == Session::State::kUp; }
  /// What `from` asks of the other side comes to: mail there, or an error here.
  template <class Message>
  std::string ask(Session& from, Message message, size_t body = 0) {
    a.take_events();
    b.take_events();
    auto mail = make_mail(std::move(message), Buffer::from_string(std::string(body, 'b')));
    BOOST_REQUIRE(from.request("actor", mail, kStart).ok());
    exchange();
    Session& to = &from == &a ? b : a;
    for (const auto& event : to.take_events())
      if (event.type == Type::kMail) return "taken";
    for (const auto& event : from.take_events())
      if (event.type == Type::kFailed) return event.error.detail;
    return "nothing";
  }

  std::shared_ptr<ReceiveBudget> budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  Session a, b;
};

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// Both sides end with a reason that has these words.
void check_refused(const Link& link, const std::string& words) {
  for (const Session* side : {&link.a, &link.b}) {
    BOOST_TEST((side->state() == Session::State::kClosed));
    BOOST_TEST((side->reason().code == ErrorCode::kRefused));
    BOOST_TEST(has(side->reason().detail, words), side->reason().detail);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RunsKey)

BOOST_AUTO_TEST_CASE(nodes_that_demand_the_key_meet_if_both_have_it) {
  BOOST_TEST(Link(node(1, kKey, true), node(2, kKey, true)).up());
  BOOST_TEST(Link(node(1, kKey), node(2, kKey, true)).up());
  BOOST_TEST(Link(node(1, kKey, true), node(2, kKey)).up());
}

BOOST_AUTO_TEST_CASE(who_has_no_key_is_refused_by_whoever_demands_it) {
  check_refused(Link(node(1, ""), node(2, kKey, true)),
                "'m2' asks for the run's key and 'm1' has none");
  check_refused(Link(node(1, kKey, true), node(2, "")),
                "'m1' asks for the run's key and 'm2' has none");
  check_refused(Link(tool(""), node(2, kKey, true)), "--key FILE");
}

BOOST_AUTO_TEST_CASE(open_nodes_and_those_on_loopback_let_anybody_read) {
  auto open = node(2, kKey, true);
  open->open = true;
  BOOST_TEST(Link(node(1, ""), open).up());
  BOOST_TEST(Link(tool(""), node(2, kKey)).up());
  BOOST_TEST(Link(tool(kKey), node(2, "")).up());
}

BOOST_AUTO_TEST_CASE(another_key_is_refused_even_where_none_is_demanded) {
  check_refused(Link(node(1, kOther), node(2, kKey)), "one run, one key's file");
  check_refused(Link(tool(kOther), node(2, kKey, true)), "one run, one key's file");
}

BOOST_AUTO_TEST_CASE(the_key_makes_a_tool_the_operator) {
  Link with(tool(kKey), node(2, kKey)), without(tool(""), node(2, kKey)),
      keyless(tool(kKey), node(2, ""));
  BOOST_TEST(with.ask(with.a, proto::ListRecords()) == "taken");
  BOOST_TEST(with.ask(with.a, proto::ConsoleOrder()) == "taken");
  BOOST_TEST(has(without.ask(without.a, proto::ListRecords()), "needs the run's key"));
  BOOST_TEST(has(without.ask(without.a, proto::ConsoleOrder()), "needs the run's key"));
  BOOST_TEST(without.ask(without.a, proto::ConsoleRequest()) == "taken");
  BOOST_TEST(has(keyless.ask(keyless.a, proto::ListRecords()), "started without one"));
}

BOOST_AUTO_TEST_CASE(mail_of_a_role_that_the_sender_has_not_is_refused_and_its_body_dropped) {
  auto peer = node(1, kKey);
  peer->roles = kPeer;
  Link link(peer, node(2, kKey));
  BOOST_REQUIRE(link.up());
  BOOST_TEST(link.ask(link.a, proto::AveragePart(), 1000) == "taken");
  BOOST_TEST(has(link.ask(link.a, proto::Lease()), "lease is not taken from a node that serves"));
  Link stranger(tool(""), node(2, ""));
  const auto answer = stranger.ask(stranger.a, proto::ForwardRequest(), 1 << 20);
  BOOST_TEST(has(answer, "forward is not taken from a tool"), answer);
  BOOST_TEST(stranger.up());  // the link goes on
  BOOST_TEST(stranger.ask(stranger.a, proto::Echo(), 100) == "taken");
}

BOOST_AUTO_TEST_CASE(a_proof_is_good_for_one_link_and_one_side) {
  const Challenge first{testing::node(1), testing::node(2), std::string(16, 'x'),
                        std::string(16, 'y')};
  Challenge second = first;
  second.dialled_nonce = std::string(16, 'z');
  const auto proof = prove(kKey, first, Side::kDialler);
  BOOST_TEST(proof.size() == kProofBytes);
  BOOST_TEST(equal_proofs(proof, prove(kKey, first, Side::kDialler)));
  BOOST_TEST(!equal_proofs(proof, prove(kKey, first, Side::kDialled)));
  BOOST_TEST(!equal_proofs(proof, prove(kKey, second, Side::kDialler)));
  BOOST_TEST(!equal_proofs(proof, prove(kOther, first, Side::kDialler)));
  BOOST_TEST(!equal_proofs(proof, proof.substr(1)));
  BOOST_TEST(make_nonce() != make_nonce());
}

BOOST_AUTO_TEST_CASE(a_tool_that_insists_takes_no_node_at_its_word) {
  auto insists = tool(kKey);
  insists->open = false;
  BOOST_TEST(Link(insists, node(2, kKey)).up());
  check_refused(Link(insists, node(2, "")), "'tool' asks for the run's key and 'm2' has none");
  check_refused(Link(insists, node(2, kOther)), "one run, one key's file");
}

BOOST_AUTO_TEST_CASE(nothing_is_proven_to_another_node_than_was_meant) {
  const auto meant = node(2, kKey);
  for (const bool right : {false, true}) {
    const auto answers = right ? meant : node(3, kKey);
    Session a(tool(kKey), true, std::make_shared<ReceiveBudget>(1 << 20, nullptr), kStart, {},
              nullptr, Wanted{meant->node_id, {}});
    Session b(answers, false, std::make_shared<ReceiveBudget>(1 << 20, nullptr), kStart);
    testing::carry(a, b, kStart);
    testing::carry(b, a, kStart);
    BOOST_TEST((a.state() == Session::State::kUp) == right);
    while (testing::carry(a, b, kStart)) {
    }
    BOOST_TEST((b.state() == Session::State::kUp) == right);
    if (!right) BOOST_TEST(has(a.reason().detail, "another process answers"), a.reason().detail);
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_taken_before_the_proof) {
  // A dialler that says hello with a nonce and then asks, without the proof between.
  auto demanding = node(2, kKey, true);
  Session b(demanding, false, std::make_shared<ReceiveBudget>(1 << 20, nullptr), kStart);
  const auto feed = [&](OutFrame frame) {
    SendQueue queue;
    queue.push(std::move(frame));
    std::vector<char> bytes;
    while (queue.next_chunk(bytes, 1 << 16)) {
    }
    b.receive(bytes.data(), bytes.size(), kStart);
  };
  auto dialler = node(1, kKey);
  feed(Handshake(*dialler, true).first());
  BOOST_TEST((b.state() == Session::State::kHello));
  feed(make_frame(proto::KIND_LIST_RECORDS, kRequest, 1, 1s, "records", proto::ListRecords(), {}));
  BOOST_TEST((b.state() == Session::State::kClosed));
  BOOST_TEST(b.take_events().empty());
}

BOOST_AUTO_TEST_SUITE_END()

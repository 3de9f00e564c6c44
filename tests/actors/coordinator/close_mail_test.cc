// What a CloseStep says to whom, and how its receiver reads it.
#include "actors/coordinator/close_mail.h"

#include <boost/test/unit_test.hpp>

#include "actors/stage/round_members.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::actors;

namespace {

using testing::peer;

struct Close {
  PeerBook book;
  routing::orders::CloseStep order;

  explicit Close(uint8_t members, uint32_t slots_each = 2) {
    order.round = Round(7);
    order.step = Step(3);
    for (uint8_t i = 0; i < members; ++i) {
      book.add({peer(i), {"10.0.0.1", static_cast<uint16_t>(100 + i)}, "node" + std::to_string(i)});
      routing::Share share;
      share.peer = peer(i);
      order.members.push_back(share);
      for (uint32_t k = 0; k < slots_each; ++k) count(i, Slot(i * slots_each + k), Attempt(k + 1));
      order.samples += slots_each * 4;
    }
  }
  void count(uint8_t member, Slot slot, Attempt attempt) {
    order.members[member].slots.push_back(slot);
    order.members[member].attempts.push_back(attempt);
  }
  CloseMail mail() const { return {order, book, Term(1), /*microbatch=*/4, {}}; }
};

const proto::CloseStep& head(const Mail& mail) { return mail.as<proto::CloseStep>(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(CloseMailTest)

BOOST_AUTO_TEST_CASE(a_peer_is_told_its_own_slots_only) {
  const Close close(3);
  const Mail mail = close.mail().to(peer(1), /*in_full=*/true);
  const auto& message = head(mail);
  BOOST_REQUIRE(message.counted_slots_size() == 2);
  BOOST_TEST(message.counted_slots(0) == 2u);
  BOOST_TEST(message.counted_slots(1) == 3u);
  BOOST_TEST(message.members_size() == 3);
  BOOST_TEST(message.samples(0) == 8u);
}

// It holds them by the attempts that the audit will name, or not at all.
BOOST_AUTO_TEST_CASE(a_peer_is_told_the_attempts_by_which_its_slots_count) {
  const Mail mail = Close(3).mail().to(peer(1), /*in_full=*/true);
  const routing::BroughtBy counts{{Slot(2), Attempt(1)}, {Slot(3), Attempt(2)}};
  BOOST_TEST(head(mail).counted_digest() == routing::digest_of(counts));
  Close none(1, 0);
  BOOST_TEST(head(none.mail().to(peer(0), true)).counted_digest() == 0u);
}

BOOST_AUTO_TEST_CASE(other_peers_slots_and_addresses_cost_no_bytes_once_the_members_are_known) {
  const size_t few = head(Close(4, 2).mail().to(peer(1), false)).ByteSizeLong();
  Close more(4, 2);
  for (uint32_t slot = 100; slot < 200; ++slot) more.count(3, Slot(slot), Attempt(9));
  const size_t many = head(more.mail().to(peer(1), false)).ByteSizeLong();
  BOOST_TEST(many <= few + 1);  // the number of samples of the fourth
  const size_t large = head(Close(60, 2).mail().to(peer(1), false)).ByteSizeLong();
  BOOST_TEST(large <= few + 60);  // a byte a member
}

BOOST_AUTO_TEST_CASE(who_takes_part_is_told_once_to_each_peer) {
  ToldMembers told;
  BOOST_TEST(told.is_new(Stage(0), 5, peer(1)));
  BOOST_TEST(told.is_new(Stage(0), 5, peer(2)));
  BOOST_TEST(!told.is_new(Stage(0), 5, peer(1)));
  BOOST_TEST(told.is_new(Stage(1), 5, peer(1)));
  BOOST_TEST(told.is_new(Stage(0), 6, peer(1)));
  BOOST_TEST(told.is_new(Stage(0), 5, peer(1)));  // the peer remembers the last one only
}

BOOST_AUTO_TEST_CASE(another_list_of_members_has_another_id) {
  Close two(2);
  Close moved(2);
  moved.book.add({peer(1), {"10.0.0.9", 5}, "node1"});
  BOOST_TEST(two.mail().members_id() == Close(2, 5).mail().members_id());
  BOOST_TEST(two.mail().members_id() != Close(3).mail().members_id());
  BOOST_TEST(two.mail().members_id() != moved.mail().members_id());
}

BOOST_AUTO_TEST_CASE(a_peer_knows_the_members_by_their_id_after_it_was_told_them) {
  const Close close(3);
  RoundMembers members;
  const Mail by_id = close.mail().to(peer(1), false);
  BOOST_TEST((members.of(head(by_id)).code() == ErrorCode::kNotFound));
  auto told = members.of(head(close.mail().to(peer(1), true)));
  BOOST_REQUIRE(told.ok());
  auto known = members.of(head(by_id));
  BOOST_REQUIRE(known.ok());
  BOOST_REQUIRE(known->size() == 3u);
  for (size_t i = 0; i < 3; ++i) {
    BOOST_TEST(((*known)[i].averager == (*told)[i].averager));
    BOOST_TEST(((*known)[i].endpoint == (*told)[i].endpoint));
    BOOST_TEST((*known)[i].samples == 8u);
  }
  const Mail others = Close(2).mail().to(peer(1), false);
  BOOST_TEST((members.of(head(others)).code() == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(samples_that_do_not_fit_the_members_are_an_error) {
  proto::CloseStep message = head(Close(3).mail().to(peer(1), true));
  message.add_samples(4);
  RoundMembers members;
  BOOST_TEST((members.of(message).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_SUITE_END()

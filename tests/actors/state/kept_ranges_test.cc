#include "actors/state/kept_ranges.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "swarm/state.pb.h"

namespace swarm::actors {
namespace {

/// 25 elements in ranges of 10, with two moments each.
struct Block {
  RangeLayout layout{"run", "abc", Stage(2), 25, 3, 10};
  std::vector<KeptRange> ranges{
      {1,
       {Step(7), 70, routing::History(700)},
       {7, 0.5},
       Buffer::from_string(std::string(10 * 12, 'b'))},
      {2, {Step(8), 80}, {8, 0.25}, Buffer::from_string(std::string(5 * 12, 'c'))}};

  ErrorCode code(const RangeLayout& other) {
    return decode_kept(other, encode_kept(layout, ranges)).code();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(KeptRanges, Block)

BOOST_AUTO_TEST_CASE(what_was_kept_is_read_again) {
  const auto read = decode_kept(layout, encode_kept(layout, ranges));
  BOOST_REQUIRE(read.ok());
  BOOST_REQUIRE(read->size() == 2u);
  for (size_t i = 0; i < 2; ++i) {
    BOOST_TEST((*read)[i].range == ranges[i].range);
    BOOST_TEST(((*read)[i].label == ranges[i].label));
    BOOST_TEST((*read)[i].counters.updates == ranges[i].counters.updates);
    BOOST_TEST((*read)[i].counters.momentum_product == ranges[i].counters.momentum_product);
    BOOST_TEST(((*read)[i].bytes.view() == ranges[i].bytes.view()));
  }
}

BOOST_AUTO_TEST_CASE(what_is_of_something_else_is_refused) {
  BOOST_TEST((code(layout) == ErrorCode::kNone));
  using Change = void (*)(RangeLayout&);
  for (const Change change : {Change([](RangeLayout& l) { l.run_id = "other"; }),
                              Change([](RangeLayout& l) { l.config_fingerprint = "abd"; }),
                              Change([](RangeLayout& l) { l.stage = Stage(1); }),
                              Change([](RangeLayout& l) { l.elements = 26; }),
                              Change([](RangeLayout& l) { l.vectors = 2; }),
                              Change([](RangeLayout& l) { l.range_elements = 12; })}) {
    RangeLayout other = layout;
    change(other);
    BOOST_TEST((code(other) == ErrorCode::kInvalidArgument));
  }
}

BOOST_AUTO_TEST_CASE(no_bit_may_differ_and_none_may_be_missing) {
  const std::string good(encode_kept(layout, ranges).view());
  const auto code_of = [&](const std::string& bytes) {
    return decode_kept(layout, Buffer::from_string(bytes)).code();
  };
  for (const char value : {'b', 'c'}) {
    std::string bad = good;
    bad[bad.find(std::string(8, value)) + 4] = 'x';
    BOOST_TEST((code_of(bad) == ErrorCode::kCorruptCheckpoint));
  }
  for (size_t size = 0; size < good.size(); size += 7)
    BOOST_TEST((code_of(good.substr(0, size)) != ErrorCode::kNone));
}

// A label with another bit passed as one of another step, and was brought on from there.
BOOST_AUTO_TEST_CASE(no_bit_of_what_is_said_of_a_range_may_differ) {
  using Change = void (*)(proto::KeptRange&, uint64_t);
  const Change changes[] = {
      [](proto::KeptRange& r, uint64_t bit) { r.set_range(r.range() ^ bit); },
      [](proto::KeptRange& r, uint64_t bit) { r.set_step(r.step() ^ bit); },
      [](proto::KeptRange& r, uint64_t bit) { r.set_checksum(r.checksum() ^ bit); },
      [](proto::KeptRange& r, uint64_t bit) { r.set_updates(r.updates() ^ bit); },
      [](proto::KeptRange& r, uint64_t) { r.set_momentum_product(std::nextafter(0.5, 1)); },
      [](proto::KeptRange& r, uint64_t bit) { r.set_digest(r.digest() ^ bit); }};
  const Buffer good = encode_kept(layout, ranges);
  for (const Change change : changes) {
    for (int bit = 0; bit < 64; ++bit) {
      proto::KeptRanges head;
      BOOST_REQUIRE(head.ParseFromArray(good.data(), static_cast<int>(good.size())));
      change(*head.mutable_ranges(0), uint64_t{1} << bit);
      BOOST_TEST((decode_kept(layout, Buffer::from_string(head.SerializeAsString())).code() ==
                  ErrorCode::kCorruptCheckpoint));
    }
  }
}

BOOST_AUTO_TEST_CASE(ranges_that_the_state_does_not_have_are_refused) {
  proto::KeptRanges head;
  const Buffer good = encode_kept(layout, ranges);
  BOOST_REQUIRE(head.ParseFromArray(good.data(), static_cast<int>(good.size())));
  for (const uint64_t range : {uint64_t{3}, ~uint64_t{0}}) {
    head.mutable_ranges(1)->set_range(range);
    BOOST_TEST((decode_kept(layout, Buffer::from_string(head.SerializeAsString())).code() ==
                ErrorCode::kCorruptCheckpoint));
  }
  head.mutable_ranges(1)->set_range(2);
  head.mutable_payload()->append("more");
  BOOST_TEST((decode_kept(layout, Buffer::from_string(head.SerializeAsString())).code() ==
              ErrorCode::kCorruptCheckpoint));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::actors

/// The contract of CheckpointStore as a suite. Include it once in a test file, after a list of types
/// named Implementations, each with a member `store` (a shared_ptr, made empty):
///
///   using Implementations = boost::mpl::list<RocksDb>;
///   #include "tests/support/checkpoint_store_contract.h"
#pragma once

#include <algorithm>
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "storage/checkpoint_store.h"
#include "tests/storage/storage_fixtures.h"

namespace contract {

using swarm::Buffer;
using swarm::ErrorCode;
using swarm::storage::CheckpointKey;
using swarm::storage::CheckpointStore;
using swarm::testing::content;
namespace tt = boost::test_tools;

inline std::vector<uint64_t> steps(const CheckpointStore& store, const std::string& stream) {
  return store.steps(stream).value();
}

BOOST_AUTO_TEST_SUITE(CheckpointStoreContract)

BOOST_AUTO_TEST_CASE_TEMPLATE(what_was_put_is_got, T, Implementations) {
  T fixture;
  for (size_t size : {0u, 1u, 65'535u, 65'536u, 65'537u, 1'000'000u}) {
    CheckpointKey key{"stage/0", size};
    BOOST_TEST(fixture.store->put(key, content(1, size), 100).ok());
    auto got = fixture.store->get(key);
    BOOST_REQUIRE(got.ok());
    BOOST_TEST((got->view() == content(1, size).view()));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_front_of_a_value_is_what_it_begins_with, T, Implementations) {
  T fixture;
  for (size_t size : {0u, 1u, 100'000u, 1'000'000u}) {
    CheckpointKey key{"stage/0", size};
    const Buffer all = content(1, size);
    BOOST_TEST(fixture.store->put(key, all, 100).ok());
    for (size_t wanted : {0u, 1u, 65'536u, 999'999u, 2'000'000u}) {
      auto front = fixture.store->front(key, wanted);
      BOOST_REQUIRE(front.ok());
      BOOST_TEST(front->size() >= std::min(size, wanted));
      BOOST_TEST((front->view() == all.view().substr(0, front->size())));
    }
  }
  BOOST_TEST(fixture.store->front({"stage/0", 7}, 1).code() == ErrorCode::kNotFound);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(streams_are_apart, T, Implementations) {
  T fixture;
  BOOST_TEST(fixture.store->streams().value().empty());
  BOOST_TEST(fixture.store->put({"stage/1", 5}, content(1, 10), 2).ok());
  BOOST_TEST(fixture.store->put({"stage/10", 6}, content(2, 10), 2).ok());
  BOOST_TEST(fixture.store->put({"coordinator", 7}, content(3, 10), 2).ok());
  BOOST_TEST(steps(*fixture.store, "stage/1") == std::vector<uint64_t>{5}, tt::per_element());
  BOOST_TEST(fixture.store->streams().value() ==
                 (std::vector<std::string>{"coordinator", "stage/1", "stage/10"}),
             tt::per_element());
  BOOST_TEST(fixture.store->get({"stage/1", 6}).code() == ErrorCode::kNotFound);
  BOOST_TEST(fixture.store->get({"stage/2", 6}).code() == ErrorCode::kNotFound);
  BOOST_TEST(steps(*fixture.store, "stage/2").empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(equal_content_again_is_done_and_other_content_is_refused, T,
                              Implementations) {
  T fixture;
  CheckpointKey key{"stage/0", 3};
  BOOST_TEST(fixture.store->put(key, content(1, 100'000), 2).ok());
  BOOST_TEST(fixture.store->put(key, content(1, 100'000), 2).ok());
  BOOST_TEST(fixture.store->put(key, content(2, 100'000), 2).code() == ErrorCode::kAlreadyExists);
  BOOST_TEST(fixture.store->put(key, content(1, 99'999), 2).code() == ErrorCode::kAlreadyExists);
  BOOST_TEST((fixture.store->get(key)->view() == content(1, 100'000).view()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(other_content_takes_the_place_of_the_old_where_that_is_asked_for, T,
                              Implementations) {
  T fixture;
  auto& store = *fixture.store;
  for (uint64_t step : {3u, 5u}) {
    const CheckpointKey key{"stage/0", step};
    BOOST_TEST(store.put_or_replace(key, content(1, 200'000), 2).ok());
    BOOST_TEST(store.put_or_replace(key, content(2, 70'000), 2).ok());
    BOOST_TEST(store.put_or_replace(key, content(2, 70'000), 2).ok());
    BOOST_REQUIRE(store.get(key).ok());
    BOOST_TEST((store.get(key)->view() == content(2, 70'000).view()));
  }
  BOOST_TEST(store.put_or_replace({"stage/0", 3}, content(3, 10), 2).ok());
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{5, 3}), tt::per_element());
  BOOST_TEST(store.put_or_replace({"stage/0", 2}, content(4, 10), 2).ok());  // older than is kept
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{5, 3}), tt::per_element());
  BOOST_TEST((store.get({"stage/0", 3})->view() == content(3, 10).view()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(only_the_newest_are_kept_per_stream, T, Implementations) {
  T fixture;
  BOOST_TEST(fixture.store->put({"other", 1}, content(1, 10), 2).ok());
  for (uint64_t step : {10, 300, 70'000, 20})
    BOOST_TEST(fixture.store->put({"stage/0", step}, content(step, 70'000), 2).ok());
  BOOST_TEST(steps(*fixture.store, "stage/0") == (std::vector<uint64_t>{70'000, 300}),
             tt::per_element());
  BOOST_TEST(fixture.store->get({"stage/0", 10}).code() == ErrorCode::kNotFound);
  BOOST_TEST((fixture.store->get({"stage/0", 300})->view() == content(300, 70'000).view()));
  BOOST_TEST(steps(*fixture.store, "other").size() == 1u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_pinned_snapshot_stays_however_many_are_newer, T, Implementations) {
  T fixture;
  auto& store = *fixture.store;
  const auto put = [&store](uint64_t step) {
    BOOST_TEST(store.put({"stage/0", step}, content(step, 70'000), 1).ok());
  };
  put(20);
  BOOST_TEST(store.pin("stage/0", 20).ok());
  for (uint64_t step : {40, 60, 80}) put(step);
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{80, 20}), tt::per_element());
  BOOST_TEST((store.get({"stage/0", 20})->view() == content(20, 70'000).view()));
  BOOST_TEST(store.pin("stage/0", 60).ok());  // it has no such snapshot: 20 stays
  put(100);
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{100, 20}), tt::per_element());
  BOOST_TEST(store.pin("stage/0", 100).ok());
  for (uint64_t step : {120, 140}) put(step);
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{140, 100}), tt::per_element());
  BOOST_TEST(store.put_or_replace({"stage/0", 100}, content(7, 10), 1).ok());
  BOOST_TEST((store.get({"stage/0", 100})->view() == content(7, 10).view()));
  BOOST_TEST(store.put({"stage/1", 10}, content(1, 10), 1).ok());  // a pin is one stream's
  BOOST_TEST(store.put({"stage/1", 100}, content(1, 10), 1).ok());
  BOOST_TEST(store.put({"stage/1", 200}, content(1, 10), 1).ok());
  BOOST_TEST(steps(store, "stage/1") == std::vector<uint64_t>{200}, tt::per_element());
  BOOST_TEST(store.drop_newer("stage/0", 50).ok());
  BOOST_TEST(steps(store, "stage/0").empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(newer_snapshots_are_dropped_after_a_recovery, T, Implementations) {
  T fixture;
  for (uint64_t step = 1; step <= 5; ++step)
    BOOST_TEST(fixture.store->put({"stage/0", step}, content(step, 10), 9).ok());
  BOOST_TEST(fixture.store->drop_newer("stage/0", 3).ok());
  BOOST_TEST(steps(*fixture.store, "stage/0") == (std::vector<uint64_t>{3, 2, 1}),
             tt::per_element());
  BOOST_TEST(fixture.store->put({"stage/0", 4}, content(44, 10), 9).ok());  // another history
  BOOST_TEST(fixture.store->drop_newer("stage/7", 0).ok());
  BOOST_TEST(fixture.store->drop_newer("stage/0", 0).ok());
  BOOST_TEST(fixture.store->streams().value().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_set_aside_is_listed_elsewhere_and_can_be_read, T,
                              Implementations) {
  T fixture;
  auto& store = *fixture.store;
  for (uint64_t step = 1; step <= 4; ++step)
    BOOST_TEST(store.put({"stage/0", step}, content(step, 70'000), 9).ok());
  BOOST_TEST(store.put({"residual/0", 3}, content(33, 10), 9).ok());
  BOOST_TEST(store.pin("stage/0", 3).ok());
  const std::vector<CheckpointKey> keys{
      {"stage/0", 3}, {"stage/0", 4}, {"stage/0", 7}, {"residual/0", 3}, {"stage/1", 3}};
  BOOST_TEST(store.set_aside(keys, "1").ok());
  BOOST_TEST(store.set_aside(keys, "1").ok());  // again, as after a crash
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{2, 1}), tt::per_element());
  BOOST_TEST(steps(store, "residual/0").empty());
  BOOST_TEST(store.get({"stage/0", 3}).code() == ErrorCode::kNotFound);
  BOOST_TEST(steps(store, "aside/1/stage/0") == (std::vector<uint64_t>{4, 3}), tt::per_element());
  BOOST_TEST(steps(store, "aside/1/residual/0") == std::vector<uint64_t>{3}, tt::per_element());
  BOOST_TEST((store.get({"aside/1/stage/0", 3})->view() == content(3, 70'000).view()));
  BOOST_TEST(store.put({"stage/0", 3}, content(300, 70'000), 2).ok());  // of the other line
  for (uint64_t step = 5; step <= 6; ++step)
    BOOST_TEST(store.put({"stage/0", step}, content(step, 70'000), 2).ok());
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{6, 5}), tt::per_element());
  BOOST_TEST((store.get({"aside/1/stage/0", 3})->view() == content(3, 70'000).view()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_kept_aside_outlives_its_snapshot_and_can_be_taken_back, T,
                              Implementations) {
  T fixture;
  auto& store = *fixture.store;
  for (uint64_t step : {1, 2, 3})
    BOOST_TEST(store.put({"stage/0", step}, content(step, 70'000), 3).ok());
  BOOST_TEST(store.pin("stage/0", 3).ok());
  BOOST_TEST(store.keep_aside({{"stage/0", 2}, {"stage/0", 3}, {"stage/0", 7}}).ok());
  BOOST_TEST(store.keep_aside({{"stage/0", 2}, {"stage/0", 3}, {"stage/0", 7}}).ok());
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{3, 2, 1}), tt::per_element());
  BOOST_TEST(store.drop_newer("stage/0", 1).ok());
  BOOST_TEST(store.put({"stage/0", 2}, content(20, 70'000), 3).ok());  // of another history
  BOOST_TEST(store.keep_aside({{"stage/0", 2}}).ok());                 // the first one stays
  BOOST_TEST((store.get({"aside/before/stage/0", 3})->view() == content(3, 70'000).view()));
  BOOST_TEST(store
                 .set_aside({{"stage/0", 2}}, "1",
                            {{"aside/before/stage/0", 2}, {"aside/before/stage/0", 9}})
                 .ok());
  BOOST_TEST(steps(store, "stage/0") == (std::vector<uint64_t>{2, 1}), tt::per_element());
  BOOST_TEST((store.get({"stage/0", 2})->view() == content(2, 70'000).view()));
  BOOST_TEST((store.get({"aside/1/stage/0", 2})->view() == content(20, 70'000).view()));
  BOOST_TEST(store.set_aside({{"stage/0", 2}}, "2", {{"aside/before/stage/0", 2}}).ok());  // again
  BOOST_TEST((store.get({"stage/0", 2})->view() == content(2, 70'000).view()));
  BOOST_TEST(steps(store, "aside/1/stage/0").empty());
  BOOST_TEST(store.drop_before({"stage/1"}).ok());
  BOOST_TEST(steps(store, "aside/before/stage/0").size() == 2u);
  BOOST_TEST(store.drop_before({"stage/0", "residual/0"}).ok());
  BOOST_TEST(steps(store, "aside/before/stage/0").empty());
  BOOST_TEST((store.get({"stage/0", 2})->view() == content(2, 70'000).view()));
  BOOST_TEST(store.put({"stage/0", 4}, content(4, 70'000), 1).ok());  // nothing is pinned
  BOOST_TEST(steps(store, "stage/0") == std::vector<uint64_t>{4}, tt::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_what_is_set_aside_under_several_names_the_last_is_kept, T,
                              Implementations) {
  T fixture;
  auto& store = *fixture.store;
  for (const char* stream : {"stage/0", "stage/1"})
    for (uint64_t step = 1; step <= 4; ++step)
      BOOST_TEST(store.put({stream, step}, content(step, 70'000), 9).ok());
  BOOST_TEST(store.set_aside({{"stage/0", 1}, {"stage/1", 1}}, "1").ok());
  BOOST_TEST(store.set_aside({{"stage/0", 2}}, "1").ok());
  BOOST_TEST(steps(store, "aside/1/stage/0") == (std::vector<uint64_t>{2, 1}), tt::per_element());
  BOOST_TEST(store.set_aside({{"stage/0", 9}}, "2").ok());  // nothing: it drops nothing
  BOOST_TEST(steps(store, "aside/1/stage/0").size() == 2u);
  BOOST_TEST(store.set_aside({{"stage/0", 3}}, "2").ok());
  BOOST_TEST(
      store.streams().value() ==
          (std::vector<std::string>{"aside/1/stage/1", "aside/2/stage/0", "stage/0", "stage/1"}),
      tt::per_element());
  BOOST_TEST(store.set_aside({{std::string(60, 'a'), 1}}, "2").code() ==
             ErrorCode::kInvalidArgument);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bad_arguments_are_refused, T, Implementations) {
  T fixture;
  for (const std::string& stream : {std::string(), std::string("Stage"), std::string("a b"),
                                    std::string(65, 'a'), std::string("a\0b", 3)}) {
    BOOST_TEST(fixture.store->put({stream, 1}, {}, 1).code() == ErrorCode::kInvalidArgument);
    BOOST_TEST(fixture.store->get({stream, 1}).code() == ErrorCode::kInvalidArgument);
    BOOST_TEST(fixture.store->steps(stream).code() == ErrorCode::kInvalidArgument);
    BOOST_TEST(fixture.store->drop_newer(stream, 1).code() == ErrorCode::kInvalidArgument);
    BOOST_TEST(fixture.store->pin(stream, 1).code() == ErrorCode::kInvalidArgument);
  }
  BOOST_TEST(fixture.store->put({"a", 1}, {}, 0).code() == ErrorCode::kInvalidArgument);
  BOOST_TEST(fixture.store->put({"a", ~uint64_t{0}}, {}, 1).ok());
  BOOST_TEST(fixture.store->get({"a", ~uint64_t{0}}).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace contract

#include "tensor/core/residual_format.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace swarm::tensor {
namespace {

constexpr StateMark kState{7, 99, 1234};
constexpr uint64_t kParameters = 100;

Buffer floats(const std::vector<float>& values) {
  return Buffer::from_string(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

Residuals some() { return {{0, floats({1, -2, 0.5f})}, {40, floats({3, 4})}}; }

ErrorCode refused(const Buffer& bytes, const StateMark& state = kState,
                  uint64_t parameters = kParameters) {
  return parse_residuals(bytes, state, parameters).code();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ResidualFormatTest)

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  for (const Residuals& residuals :
       {some(), Residuals{some().contribution, {}}, Residuals{{}, some().mean}, Residuals{}}) {
    const auto read = parse_residuals(serialize_residuals(residuals, kState), kState, 100);
    BOOST_REQUIRE(read.ok());
    BOOST_TEST(read->contribution.first == residuals.contribution.first);
    BOOST_TEST(read->mean.first == residuals.mean.first);
    BOOST_TEST((read->contribution.values.view() == residuals.contribution.values.view()));
    BOOST_TEST((read->mean.values.view() == residuals.mean.values.view()));
  }
}

BOOST_AUTO_TEST_CASE(what_goes_with_another_state_is_not_taken) {
  const Buffer bytes = serialize_residuals(some(), kState);
  BOOST_TEST((refused(bytes, {8, 99, 1234}) == ErrorCode::kNotFound));
  BOOST_TEST((refused(bytes, {7, 98, 1234}) == ErrorCode::kNotFound));
  BOOST_TEST((refused(bytes, {7, 99, 1235}) == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(of_elements_that_the_stage_lacks_it_is_refused) {
  const Buffer bytes = serialize_residuals(some(), kState);
  BOOST_TEST((refused(bytes, kState, 42) == ErrorCode::kNone));
  BOOST_TEST((refused(bytes, kState, 41) == ErrorCode::kCorruptCheckpoint));
  const Residuals beyond{{std::numeric_limits<uint64_t>::max(), floats({1})}, {}};
  BOOST_TEST((refused(serialize_residuals(beyond, kState)) == ErrorCode::kCorruptCheckpoint));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_not_finite_is_refused) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const Residuals first{{0, floats({1, bad})}, {}}, second{{}, {0, floats({bad})}};
    for (const Residuals& residuals : {first, second})
      BOOST_TEST(
          (refused(serialize_residuals(residuals, kState)) == ErrorCode::kCorruptCheckpoint));
  }
}

BOOST_AUTO_TEST_CASE(bytes_cut_lengthened_or_turned_are_refused_or_read_as_something_that_can_be) {
  const Buffer whole = serialize_residuals(some(), kState);
  const std::string text(whole.view());
  for (size_t size = 0; size < text.size(); ++size)
    BOOST_TEST(!parse_residuals(Buffer::from_string(text.substr(0, size)), kState, 100));
  BOOST_TEST(!parse_residuals(Buffer::from_string(text + "x"), kState, 100));
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string damaged = text;
    for (int turned = 0; turned < 1 + trial % 4; ++turned)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto read = parse_residuals(Buffer::from_string(damaged), kState, 100);
    if (!read) continue;
    BOOST_TEST(read->contribution.first + read->contribution.count() <= 100u);
    BOOST_TEST(read->mean.first + read->mean.count() <= 100u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor

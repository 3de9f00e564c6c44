// Sizes that do not fit into one another, into messages or into the time that there is.
#include "config/memory_checks.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/config_texts.h"

namespace swarm::config {

using testing::contains;
using testing::good;
using testing::kMinimal;
using testing::only;

BOOST_AUTO_TEST_SUITE(Sizes)

BOOST_AUTO_TEST_CASE(a_microbatch_must_fit_into_tensors_and_frames) {
  const auto tensor = only(
      "[model]\nwidth = 768\nheads = 12\nsequence = 1024\n[training]\nmicrobatch = 128\nbatch = "
      "128\n"
      "validation_samples = 128\n");
  BOOST_TEST(tensor.key == "training.microbatch");
  BOOST_TEST(contains(tensor.message, "expected at most 113, found 128"));
  const std::string many =
      "[model]\nsequence = 1024\nheads = 1\nwidth = 8\nffn = 8\n"
      "[training]\nmicrobatch = 256\nbatch = 256\nvalidation_samples = 256\n[links]\n";
  BOOST_TEST(only(many).key == "links.max_head_bytes");
  BOOST_TEST(only(many + "max_head_bytes = 2000000\nmax_body_bytes = 1000\n"
                         "[pipeline]\nstages = 2\nbackward = \"recompute\"\n")
                 .key == "links.max_body_bytes");
}

// No link would have taken them: rounds failed for ever, and states never came.
BOOST_AUTO_TEST_CASE(pieces_of_averages_and_states_must_fit_into_messages) {
  const auto values =
      only("[averager]\nchunk_elements = 300000\n[links]\nmax_body_bytes = 1100000\n");
  BOOST_TEST(values.key == "links.max_body_bytes");
  BOOST_TEST(contains(values.message, "expected at least 1200000, for averager.chunk_elements"));
  const auto state =
      only("[state_transfer]\nchunk_bytes = 100000000\n[links]\nmax_body_bytes = 4194303\n");
  BOOST_TEST(state.key == "links.max_body_bytes");
  BOOST_TEST(contains(state.message, "expected at least 4194304, for state_transfer.chunk_bytes"));
  good(kMinimal + "[state_transfer]\nchunk_bytes = 100000000\n[links]\nmax_body_bytes = 4194304\n");
}

// A peer that has room for one microbatch only receives nothing while it computes, or nothing at all.
BOOST_AUTO_TEST_CASE(memory_must_have_room_for_two_microbatches) {
  const std::string wide =  // activations of 2 MiB
      "[model]\nsequence = 1024\nheads = 1\nwidth = 8\nffn = 8\n"
      "[training]\nmicrobatch = 64\nbatch = 64\nvalidation_samples = 64\n[pipeline]\nstages = 2\n";
  const std::string again = wide + "backward = \"recompute\"\n";
  const auto tight = only(again + "[links]\nreceive_budget_bytes = 4194303\n");
  BOOST_TEST(tight.key == "links.receive_budget_bytes");
  BOOST_TEST(tight.message.find("expected at least 4194304") != std::string::npos, tight.message);
  // Beside what comes and goes, the inputs of 3 of 4 blocks: 64 samples x 1024 tokens x 8 floats each.
  good(kMinimal + again + "[stage_server]\nresident_bytes = 20971520\n");
  BOOST_TEST(only(again + "[stage_server]\nresident_bytes = 20971519\n").key ==
             "stage_server.resident_bytes");
  // With the graph kept: 4 blocks of 64 samples x 1024 tokens x (8 * 8 + 2 * 8) floats.
  const auto kept = only(wide + "[stage_server]\nresident_bytes = 100000000\n");
  BOOST_TEST(kept.key == "stage_server.resident_bytes");
  BOOST_TEST(kept.message.find("expected at least 176160768") != std::string::npos, kept.message);
}

// Neither a split of its own nor the versions of parameters counted.
BOOST_AUTO_TEST_CASE(the_stage_that_keeps_most_must_have_room) {
  const std::string sizes =
      "[model]\nsequence = 1024\nheads = 1\nwidth = 8\nffn = 8\nlayers_per_stage = [1, 5, 2]\n"
      "[training]\nmicrobatch = 64\nbatch = 64\nvalidation_samples = 64\n[pipeline]\nstages = 3\n";
  const auto split = only(sizes + "[stage_server]\nresident_bytes = 200000000\n");
  BOOST_TEST(split.key == "stage_server.resident_bytes");
  // 2 x (2 x 2 MiB + 5 blocks of 64 samples x 1024 tokens x 80 floats)
  BOOST_TEST(contains(split.message, "expected at least 218103808"), split.message);
  const std::string large =  // parameters of a stage without embeddings: about 12 x 1024^2 x 4
      "[model]\nsequence = 16\nheads = 1\nwidth = 1024\nffn = 4096\nlayers = 8\n"
      "[training]\nmicrobatch = 1\nbatch = 4\nvalidation_samples = 4\nmode = \"async\"\n";
  const std::string room = "[pipeline]\nstages = 2\n[stage_server]\nresident_bytes = 300000000\n";
  const auto versions = only(large + room);
  BOOST_TEST(versions.key == "stage_server.resident_bytes");
  good(kMinimal + large + "local_update_every = 2\n" + room);
}

// A newcomer would have learned for years.
BOOST_AUTO_TEST_CASE(a_state_must_get_through_its_cap_in_a_day) {
  const std::string wide =  // a stage of about 12 x 1024^2 parameters
      "[model]\nsequence = 16\nheads = 1\nwidth = 1024\nffn = 4096\nlayers = 2\n"
      "[pipeline]\nstages = 2\n[state_transfer]\nstate_bytes_per_s = ";
  const auto slow = only(wide + "1\n");
  BOOST_TEST(slow.key == "state_transfer.state_bytes_per_s");
  BOOST_TEST(contains(slow.message, "expected at least 59"), slow.message);
  BOOST_TEST(contains(slow.message, "within a day"), slow.message);
  good(kMinimal + wide + "0\n");
  good(kMinimal + wide + "10000\n");
}

BOOST_AUTO_TEST_CASE(a_node_has_links_for_its_neighbours) {
  BOOST_TEST(only("[links]\nmax_links = 7\n").key == "links.max_links");
  good(kMinimal + "[links]\nmax_links = 8\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::config

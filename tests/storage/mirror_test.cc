// The mirror's files: which are written, pruned and taken; what is read is what was written.
#include <fstream>
#include <iterator>

#include "storage/mirror_folder.h"
#include "storage/mirror_plan.h"
#include "tests/storage/storage_fixtures.h"

namespace swarm::storage {

std::ostream& operator<<(std::ostream& out, const MirrorFile& file) {
  return out << mirror_name(file);
}

namespace {

namespace fs = std::filesystem;

MirrorFile at(uint64_t step, uint32_t stage, uint64_t history = 7) {
  return {step, stage, history};
}

/// Of both stages, in one history.
MirrorFiles both(const std::vector<uint64_t>& steps) {
  MirrorFiles out;
  for (const uint64_t step : steps)
    for (const uint32_t stage : {0u, 1u}) out.push_back(at(step, stage));
  return out;
}

MirrorFiles with(MirrorFiles files, const MirrorFiles& more) {
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

struct Mirror : testing::TemporaryDirectory {
  MirrorFolder of(const std::string& node, const std::string& fingerprint = "f00d") const {
    return MirrorFolder({path(), "run-1", fingerprint, node});
  }
  std::string path_of(const MirrorFile& file) const {
    return path() + "/run-1/" + mirror_name(file);
  }
  void overwrite(const MirrorFile& file, const std::string& bytes) const {
    std::ofstream(path_of(file), std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string bytes_of(const MirrorFile& file) const {
    std::ifstream in(path_of(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(MirrorPlanTest)

BOOST_AUTO_TEST_CASE(a_name_says_step_stage_and_history) {
  const MirrorFile file{120, 2, 0xa1b2c3d4e5f607};
  BOOST_TEST(mirror_name(file) == "step-000000000120.stage-2.00a1b2c3d4e5f607.snapshot");
  BOOST_TEST((parse_mirror_name(mirror_name(file)) == file));
  for (const char* other :
       {"", "step-120.stage-2.00a1b2c3d4e5f607.snapshot", "step-000000000120.stage-2.snapshot",
        "step-000000000120.stage-2.00a1b2c3d4e5f607.snapshot.part-a",
        "step-000000000120.stage-2.00a1b2c3d4e5f607.snapshot.damaged"})
    BOOST_TEST(!parse_mirror_name(other), other);
}

BOOST_AUTO_TEST_CASE(a_step_is_complete_with_every_stage_in_one_history) {
  BOOST_TEST(complete_files({at(20, 0)}, 0, 2).empty());
  BOOST_TEST(complete_files({at(20, 0), at(20, 1, 8)}, 0, 2).empty());
  BOOST_TEST(complete_files(both({20, 40}), 1, 2) == (MirrorFiles{at(40, 1), at(20, 1)}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_newest_is_written_or_what_completes_a_step) {
  const MirrorFiles own = {at(60, 0), at(40, 0), at(20, 0)};
  BOOST_TEST((to_write(own, {}, 0, 2) == at(60, 0)));
  BOOST_TEST((to_write(own, {at(40, 1)}, 0, 2) == at(40, 0)));
  BOOST_TEST((to_write(own, {at(20, 1), at(40, 1)}, 0, 2) == at(40, 0)));
  // What is older than a complete step is not written any more.
  BOOST_TEST((to_write(own, with(both({40}), {at(20, 1)}), 0, 2) == at(60, 0)));
  BOOST_TEST(!to_write(own, {at(60, 0)}, 0, 2));
  BOOST_TEST(!to_write(own, both({60}), 0, 2));
  BOOST_TEST(!to_write({}, both({60}), 0, 2));
}

BOOST_AUTO_TEST_CASE(a_step_that_was_given_up_is_written_in_the_history_that_stays) {
  BOOST_TEST((to_write({at(60, 0, 8)}, both({60}), 0, 2) == at(60, 0, 8)));
  const auto halfway = with(both({60}), {at(60, 0, 8)});
  BOOST_TEST(to_prune(at(60, 0, 8), halfway, 2, 3).empty());  // the old one is the complete one
  BOOST_TEST(to_prune(at(60, 1, 8), with(halfway, {at(60, 1, 8)}), 2, 3) == both({60}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_newest_complete_steps_are_kept) {
  BOOST_TEST(to_prune(at(60, 0), both({40, 60}), 2, 2).empty());
  BOOST_TEST(to_prune(at(60, 1), with(both({20, 40, 60}), {at(30, 0)}), 2, 2) ==
                 with(both({20}), {at(30, 0)}),
             boost::test_tools::per_element());
  // However many are newer, in one stage.
  MirrorFiles files = both({20});
  for (uint64_t step = 40; step <= 120; step += 20) files.push_back(at(step, 0));
  BOOST_TEST(to_prune(at(120, 0), files, 2, 2) == (MirrorFiles{at(40, 0), at(60, 0)}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_taken_is_complete_and_not_there) {
  const auto files = with(both({20, 40}), {at(60, 0)});
  BOOST_TEST((to_take(files, 0, 2, {}, {}) == at(40, 0)));
  BOOST_TEST((to_take(files, 1, 2, {20}, {}) == at(40, 1)));
  BOOST_TEST(!to_take(files, 0, 2, {40}, {}));
  BOOST_TEST(!to_take(files, 0, 2, {80, 60}, {}));
  BOOST_TEST((to_take(files, 0, 2, {80, 40}, {false, {}}) == at(20, 0)));
  BOOST_TEST((to_take(files, 0, 2, {80}, {false, 40}) == at(20, 0)));
  BOOST_TEST(!to_take(files, 0, 2, {80}, {false, 20}));
}

BOOST_AUTO_TEST_CASE(what_was_given_up_is_withdrawn_unless_it_was_taken_back) {
  const MirrorFiles aside = {at(60, 0, 8), at(40, 0), at(20, 0, 0)};
  BOOST_TEST(to_withdraw(aside, aside, {at(40, 0), at(60, 0)}) == MirrorFiles{at(60, 0, 8)},
             boost::test_tools::per_element());
  BOOST_TEST(to_withdraw({at(40, 0)}, aside, {at(40, 0), at(60, 0)}).empty());  // it is not there
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(MirrorFolderTest, Mirror)

BOOST_AUTO_TEST_CASE(what_was_written_is_listed_and_read_back) {
  const auto folder = of("a");
  BOOST_TEST(folder.list().value().empty());
  for (const size_t size : {0, 1, 300'000}) {
    const auto file = at(size, 1);
    const auto state = testing::content(size, size);
    BOOST_REQUIRE(folder.write(file, state).ok());
    const auto read = of("b").read(file);
    BOOST_REQUIRE(read.ok());
    BOOST_TEST((read->view() == state.view()));
  }
  BOOST_TEST(folder.list().value().size() == 3u);
  BOOST_TEST((of("b").write(at(1, 1), testing::content(2, 2)).code() == ErrorCode::kAlreadyExists));
  BOOST_REQUIRE(folder.remove(at(1, 1)).ok());
  BOOST_REQUIRE(folder.remove(at(1, 1)).ok());
  BOOST_TEST((folder.read(at(1, 1)).code() == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_short_or_has_another_byte_is_damaged) {
  const auto file = at(20, 0);
  BOOST_REQUIRE(of("a").write(file, testing::content(1, 40)).ok());
  const std::string whole = bytes_of(file);
  for (size_t i = 0; i < whole.size(); ++i) {
    overwrite(file, whole.substr(0, i));
    BOOST_TEST((of("a").read(file).code() == ErrorCode::kCorruptCheckpoint), i);
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ 1);
    overwrite(file, other);
    BOOST_TEST((of("a").read(file).code() == ErrorCode::kCorruptCheckpoint), i);
  }
  overwrite(file, whole + "x");
  BOOST_TEST((of("a").read(file).code() == ErrorCode::kCorruptCheckpoint));
  of("a").set_aside(file);
  BOOST_TEST(of("a").list().value().empty());
  BOOST_TEST(of("a").write(file, testing::content(1, 40)).ok());
}

BOOST_AUTO_TEST_CASE(a_file_under_another_name_or_of_another_run_is_not_taken) {
  BOOST_REQUIRE(of("a").write(at(20, 0), testing::content(1, 40)).ok());
  for (const auto& other : {at(40, 0), at(20, 1), at(20, 0, 8)}) {
    overwrite(other, bytes_of(at(20, 0)));
    BOOST_TEST((of("a").read(other).code() == ErrorCode::kCorruptCheckpoint), other);
  }
  fs::rename(path() + "/run-1", path() + "/run-2");
  const MirrorFolder other_run({path(), "run-2", "f00d", "a"});
  BOOST_TEST((other_run.read(at(20, 0)).code() == ErrorCode::kCorruptCheckpoint));
  fs::rename(path() + "/run-2", path() + "/run-1");
  BOOST_TEST((of("a", "beef").read(at(20, 0)).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(of("a").read(at(20, 0)).ok());
}

BOOST_AUTO_TEST_CASE(one_of_several_writes) {
  const auto file = at(20, 0);
  const std::string part = path_of(file) + ".part-b";
  fs::create_directory(path() + "/run-1");
  std::ofstream(part) << "half";
  BOOST_TEST((of("a").write(file, testing::content(1, 40)).code() == ErrorCode::kOverloaded));
  BOOST_TEST(of("a").list().value().empty());
  of("a").remove_parts(20);
  BOOST_TEST(fs::exists(part));  // its writer may be at it
  fs::last_write_time(part, fs::file_time_type::clock::now() - std::chrono::hours(1));
  BOOST_TEST(of("a").write(file, testing::content(1, 40)).ok());
  of("a").remove_parts(19);
  BOOST_TEST(fs::exists(part));
  of("a").remove_parts(20);
  BOOST_TEST(!fs::exists(part));
  BOOST_TEST(of("a").read(file).ok());
}

BOOST_AUTO_TEST_CASE(a_mirror_that_is_not_there_or_takes_nothing_says_so) {
  const MirrorFolder none({path() + "/none", "run-1", "f00d", "a"});
  BOOST_TEST((none.list().code() == ErrorCode::kIo));
  BOOST_TEST((none.write(at(20, 0), testing::content(1, 4)).code() == ErrorCode::kIo));
  BOOST_TEST(!fs::exists(path() + "/none"));
  BOOST_TEST((list_mirror(path() + "/none", "run-1").code() == ErrorCode::kIo));
  BOOST_TEST(list_mirror(path(), "run-1").value().empty());  // of a run that has none yet
  fs::create_directories(path_of(at(20, 0)) + ".part-a");    // nothing can be written there
  BOOST_TEST((of("a").write(at(20, 0), testing::content(1, 4)).code() == ErrorCode::kIo));
  BOOST_TEST(of("a").list().value().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::storage

// RUN/links.toml: what the launcher writes, nodes read.
#include "apps/launch/links_file.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace swarm::launch {
namespace {

struct Fixture {
  Fixture() { BOOST_REQUIRE(::mkdtemp(folder) != nullptr); }
  ~Fixture() { std::filesystem::remove_all(folder); }

  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string path() const { return links_file(folder); }
  LinksFileReader reader(const std::string& node) const { return {path(), node, before}; }

  char folder[32] = "/tmp/swarm-test-XXXXXX";
  actors::ShapeOptions before{{1e6, 0, 0.1, 0}, {}};
};

actors::ShapeChange rate(const std::string& node, double bytes_per_s) {
  actors::ShapeChange change;
  change.node = node;
  change.send_bytes_per_s = bytes_per_s;
  return change;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(LinksFiles, Fixture)

BOOST_AUTO_TEST_CASE(each_change_is_read_once_and_by_those_it_is_about) {
  LinksFileWriter writer(path());
  auto a = reader("a"), b = reader("b");
  BOOST_TEST(!a.poll().has_value());  // no file: as the experiment says
  BOOST_REQUIRE(writer.append(rate("a", 5e4)).ok());
  auto news = a.poll();
  BOOST_REQUIRE((news && news->ok()));
  BOOST_TEST((*news)->node.send_bytes_per_s == 5e4);
  BOOST_TEST((*news)->node.link_delay_s == 0.1);
  BOOST_TEST(!a.poll().has_value());
  BOOST_TEST((**b.poll()).node.send_bytes_per_s == 1e6);
  actors::ShapeChange way;
  way.node = "b";
  way.to = "*";
  way.delay_s = 0.3;
  BOOST_REQUIRE(writer.append(way).ok());
  news = a.poll();
  BOOST_REQUIRE((news && news->ok()));
  BOOST_TEST((*news)->node.send_bytes_per_s == 5e4);  // the first change still counts
  BOOST_TEST(actors::link_shape(**news, "a", "b").delay_s == 0.4);
}

BOOST_AUTO_TEST_CASE(a_spoilt_file_is_an_error_once_and_is_not_written_over) {
  LinksFileWriter writer(path());
  auto a = reader("a");
  write("[[change]]\nnode=\"a\"\nlink_delay=1\n");
  const auto news = a.poll();
  BOOST_REQUIRE((news && !news->ok()));
  BOOST_TEST(news->error().detail == path() + ":3:1: link_delay: unknown key");
  BOOST_TEST(!a.poll().has_value());
  BOOST_TEST((writer.append(rate("a", 5e4)).code() == ErrorCode::kInvalidArgument));
  write("[[change]]\nnode=\"a\"\nlink_delay_s=1\n");
  BOOST_TEST((**a.poll()).node.link_delay_s == 1);
  std::filesystem::remove(path());
  BOOST_TEST((**a.poll()).node.link_delay_s == 0.1);  // nothing is changed any more
}

BOOST_AUTO_TEST_CASE(a_cut_is_a_path_to_all_others_and_its_healing_overrules_it) {
  LinksFileWriter writer(path());
  LinksFileReader reader(path(), "b", {});
  BOOST_TEST(writer.cut("a", true).ok());
  BOOST_TEST(actors::link_shape(**reader.poll(), "b", "a").cut);
  BOOST_TEST(!actors::link_shape(**LinksFileReader(path(), "b", {}).poll(), "b", "c").cut);
  BOOST_TEST(writer.cut("a", false).ok());
  BOOST_TEST(!actors::link_shape(**reader.poll(), "b", "a").cut);
}

BOOST_AUTO_TEST_CASE(who_is_healed_does_not_reach_one_that_is_still_cut) {
  LinksFileWriter writer(path());
  LinksFileReader reader(path(), "b", {});
  BOOST_TEST(writer.cut("a", true).ok());
  BOOST_TEST(writer.cut("b", true).ok());
  BOOST_TEST(writer.cut("a", false).ok());
  auto shape = **reader.poll();
  BOOST_TEST(actors::link_shape(shape, "a", "b").cut);
  BOOST_TEST(actors::link_shape(shape, "b", "c").cut);
  BOOST_TEST(!actors::link_shape(shape, "a", "c").cut);
  BOOST_TEST(writer.cut("*", false).ok());
  BOOST_TEST(writer.cut("c", true).ok());
  BOOST_TEST(writer.cut("c", false).ok());
  shape = **reader.poll();
  BOOST_TEST(!actors::link_shape(shape, "a", "b").cut);
}

BOOST_AUTO_TEST_CASE(nodes_follow_where_links_may_change_only) {
  const LinksFileWriter writer(path());
  config::Experiment kills, links, cuts, storm;
  kills.timeline.resize(1);
  links.timeline.resize(2);
  links.timeline[1].action = config::TimelineAction::kLink;
  cuts.timeline.resize(1);
  cuts.timeline[0].action = config::TimelineAction::kCut;
  storm.chaos.every_s = 20;
  BOOST_TEST(!writer.wanted({}));
  BOOST_TEST(!writer.wanted(kills));
  for (const auto& experiment : {links, cuts, storm}) BOOST_TEST(writer.wanted(experiment));
  storm.chaos.kinds = {"kill", "full_disk"};
  BOOST_TEST(!writer.wanted(storm));
  write("");
  BOOST_TEST(writer.wanted({}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch

/// Keys that make links worse than they are, and the file that changes them while a swarm runs.
#include <boost/test/unit_test.hpp>

#include "config/experiment.h"
#include "config/shape_changes.h"

namespace swarm::config {
namespace {

const std::string kNodes =
    "[data]\ntrain = [\"text\"]\n"
    "[[nodes]]\nname=\"a\"\ncount=2\nstages=[0]\n[[nodes]]\nname=\"t\"\ntrainer=true\n";

Experiment good(const std::string& text) {
  auto result = parse_experiment(text, "x.toml");
  BOOST_REQUIRE_MESSAGE(result.ok(), result.text());
  return *result.experiment;
}

/// The only error of `text` behind kNodes, which has 9 lines.
ConfigError only(const std::string& text) {
  auto result = parse_experiment(kNodes + text, "x.toml");
  BOOST_TEST_INFO(result.text());
  BOOST_REQUIRE_EQUAL(result.errors.size(), 1u);
  return result.errors[0];
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ShapedLinksConfig)

BOOST_AUTO_TEST_CASE(rates_and_delays_reach_the_links_of_their_node) {
  const auto e = good(kNodes +
                      "send_bytes_per_s=5e4\nreceive_bytes_per_s=1e5\nlink_delay_s=0.05\n"
                      "link_jitter_s=0.01\n"
                      "[[paths]]\nfrom=\"a-*\"\nto=\"t\"\nbytes_per_s=1e6\ndelay_s=0.2\n"
                      "[[paths]]\nfrom=\"*\"\nto=\"*\"\njitter_s=0.1\n");
  const auto t = to_node_options(e, "t", "").links.shape;
  BOOST_TEST(t.node.send_bytes_per_s == 5e4);
  BOOST_TEST(t.node.receive_bytes_per_s == 1e5);
  BOOST_TEST(t.node.link_delay_s == 0.05);
  BOOST_TEST(t.node.link_jitter_s == 0.01);
  const auto from_a = actors::link_shape(t, "t", "a-1"), from_t = actors::link_shape(t, "t", "t");
  BOOST_TEST(from_a.delay_s == 0.25);
  BOOST_TEST(from_t.delay_s == 0.05);
  const auto a = to_node_options(e, "a-0", "").links.shape;
  BOOST_TEST(a.node.send_bytes_per_s == 0);
  BOOST_TEST(actors::link_shape(a, "a-0", "t").send_bytes_per_s == 1e6);
  BOOST_TEST(e.base.config_fingerprint == good(kNodes).base.config_fingerprint);
}

BOOST_AUTO_TEST_CASE(paths_are_checked) {
  BOOST_TEST(only("[[paths]]\nfrom=\"a-2\"\nto=\"t\"\ndelay_s=1\n").text() ==
             "x.toml:11:1: paths.from: there is no node \"a-2\"; did you mean \"a-0\"?");
  BOOST_TEST(only("[[paths]]\nfrom=\"t\"\nto=\"b*\"\ndelay_s=1\n").key == "paths.to");
  BOOST_TEST(contains(only("[[paths]]\nfrom=\"t\"\nto=\"t\"\ndelay_s=1\n").message, "to itself"));
  BOOST_TEST(only("link_delay_s=4\n").key == "nodes.link_delay_s");  // no hello arrives in time
  BOOST_TEST(contains(only("[[paths]]\nto=\"t\"\ndelay_s=1\n").message, "missing"));
  BOOST_TEST(contains(only("[[paths]]\nfrom=\"t\"\nto=\"*\"\n").message, "it says nothing"));
  BOOST_TEST(only("[[paths]]\nfrom=\"t\"\nto=\"*\"\nbytes_per_s=-1\n").key == "paths.bytes_per_s");
  BOOST_TEST(contains(only("[[paths]]\nfrom=\"t\"\nto=\"*\"\nbytes_per_s=100\n").message,
                      "expected 0 or at least 4096.0"));
  BOOST_TEST(only("[[paths]]\nfrom=\"t\"\nto=\"*\"\ndelay_s=11\n").key == "paths.delay_s");
  BOOST_TEST(only("[[paths]]\nfrom=\"t\"\nto=\"*\"\ndelay_s=1\ndelays=1\n").suggestion ==
             "delay_s");
  BOOST_TEST(only("receive_bytes_per_s=100\n").key == "nodes.receive_bytes_per_s");
  BOOST_TEST(only("link_delay_s=-0.1\n").key == "nodes.link_delay_s");
  // Nodes that no file lists may be meant.
  good("[data]\ntrain=[\"x\"]\n[[paths]]\nfrom=\"x\"\nto=\"y\"\ndelay_s=0\n");
}

BOOST_AUTO_TEST_CASE(a_timeline_may_change_links_and_is_checked) {
  const std::string link = "[[timeline]]\nat_step=1\naction=\"link\"\n";
  const auto e = good(kNodes + link + "node=\"a-*\"\nto=\"t\"\nbytes_per_s=1e5\n" + link +
                      "node=\"t\"\nsend_bytes_per_s=0\n");
  BOOST_TEST((e.timeline[0].action == TimelineAction::kLink));
  BOOST_TEST(e.timeline[0].link.node == "a-*");
  BOOST_TEST(*e.timeline[0].link.bytes_per_s == 1e5);
  BOOST_TEST(!e.timeline[0].link.delay_s);
  BOOST_TEST(*e.timeline[1].link.send_bytes_per_s == 0);

  BOOST_TEST(only(link + "node=\"u\"\nlink_delay_s=1\n").key == "timeline.node");
  BOOST_TEST(only(link + "node=\"t\"\nto=\"u\"\ndelay_s=1\n").key == "timeline.to");
  BOOST_TEST(contains(only(link + "link_delay_s=1\n").message, "node: missing"));
  BOOST_TEST(contains(only(link + "node=\"t\"\n").message, "it changes nothing"));
  BOOST_TEST(contains(only(link + "node=\"t\"\ndelay_s=1\n").message, "give `to` as well"));
  BOOST_TEST(
      contains(only(link + "node=\"t\"\nto=\"a-0\"\nlink_delay_s=1\n").message, "leave `to`"));
  BOOST_TEST(contains(only(link + "node=\"t\"\nsend_bytes_per_s=5\n").message, "at least"));
  BOOST_TEST(contains(
      only("[[timeline]]\nat_step=1\naction=\"kill\"\nnode=\"t\"\nlink_delay_s=1\n").message,
      "only action = \"link\""));
}

BOOST_AUTO_TEST_CASE(a_path_a_timeline_and_a_storm_may_cut) {
  const auto e =
      good(kNodes +
           "[[paths]]\nfrom=\"a-0\"\nto=\"*\"\ncut=true\n"
           "[[timeline]]\nat_step=1\naction=\"link\"\nnode=\"a-0\"\nto=\"t\"\ncut=false\n"
           "[[timeline]]\nat_step=2\naction=\"cut\"\nnode=\"t\"\n"
           "[[timeline]]\nat_step=3\naction=\"free_disk\"\nnode=\"a-1\"\n"
           "[chaos]\nevery_s=20\nkinds=[\"cut\", \"stop\"]\n");
  BOOST_TEST(actors::link_shape(to_node_options(e, "t", "").links.shape, "t", "a-0").cut);
  BOOST_TEST(*e.timeline[0].link.cut == false);
  BOOST_TEST((e.timeline[1].action == TimelineAction::kCut));
  BOOST_TEST((e.timeline[2].action == TimelineAction::kFreeDisk));
  const std::string text = to_toml(e);
  BOOST_TEST(to_toml(good(text)) == text);
  BOOST_TEST(only("[[timeline]]\nat_step=1\naction=\"cut\"\nnode=\"a-*\"\n").key ==
             "timeline.node");
  BOOST_TEST(only("[chaos]\nevery_s=20\nkinds=[]\n").key == "chaos.kinds");
  BOOST_TEST(only("[chaos]\nevery_s=20\nkinds=[\"link\"]\n").key == "chaos.kinds");
  BOOST_TEST(only("[chaos]\nevery_s=0.01\n").key == "chaos.every_s");
}

BOOST_AUTO_TEST_CASE(what_was_written_reads_back_equal) {
  const auto e = good(kNodes +
                      "link_delay_s=0.05\n[[paths]]\nfrom=\"a-*\"\nto=\"t\"\nbytes_per_s=0\n"
                      "[[timeline]]\nat_second=1.5\naction=\"link\"\nnode=\"*\"\nto=\"*\"\n"
                      "jitter_s=0.5\n");
  const std::string text = to_toml(e);
  const auto again = good(text);
  BOOST_TEST(to_toml(again) == text);
  BOOST_REQUIRE(again.paths.size() == 1u);
  BOOST_TEST(again.paths[0].bytes_per_s.has_value());
  BOOST_TEST(!again.paths[0].delay_s.has_value());
  const auto result = parse_experiment(kNodes, "x.toml", {"paths.from=x"});
  BOOST_TEST(contains(result.text(), "edit the file"));
  size_t rows = 0;
  for (const auto& setting : settings_of(e))
    rows += setting.path == "paths.0" || setting.path == "timeline.0";
  BOOST_TEST(rows == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(LinksToml)

BOOST_AUTO_TEST_CASE(changes_read_back_as_they_were_written) {
  actors::ShapeChange own, way;
  own.node = "a-*";
  own.send_bytes_per_s = 1e5;
  own.link_jitter_s = 0;
  way.node = "a-0";
  way.to = "t";
  way.delay_s = 0.2;
  way.cut = true;
  const auto back = parse_links_toml(to_links_toml({own, way}), "links.toml");
  BOOST_REQUIRE(back.ok());
  BOOST_REQUIRE(back->size() == 2u);
  BOOST_TEST((*back)[0].node == "a-*");
  BOOST_TEST(*(*back)[0].send_bytes_per_s == 1e5);
  BOOST_TEST(*(*back)[0].link_jitter_s == 0);
  BOOST_TEST(!(*back)[0].link_delay_s);
  BOOST_TEST((*back)[1].to == "t");
  BOOST_TEST(*(*back)[1].delay_s == 0.2);
  BOOST_TEST(*(*back)[1].cut);
  BOOST_TEST(parse_links_toml("", "links.toml")->empty());
}

BOOST_AUTO_TEST_CASE(each_fault_is_named_with_its_place) {
  auto fault = [](const std::string& text) {
    const auto result = parse_links_toml(text, "links.toml");
    return result.ok() ? std::string("no fault") : result.error().detail;
  };
  const std::string entry = "[[change]]\nnode=\"a\"\n";
  BOOST_TEST(fault(entry + "delay=1\n") == "links.toml:3:1: delay: unknown key");
  BOOST_TEST(
      contains(fault(entry + "link_delay_s=-1\n"), "links.toml:3:14: link_delay_s: expected"));
  BOOST_TEST(contains(fault(entry + "link_delay_s=\"x\"\n"), "the string \"x\""));
  BOOST_TEST(contains(fault(entry), "it changes nothing"));
  BOOST_TEST(contains(fault("[[change]]\nlink_delay_s=1\n"), "node: missing"));
  BOOST_TEST(contains(fault(entry + "send_bytes_per_s=1\n"), "at least 4096.0"));
  BOOST_TEST(contains(fault("change=3\n"), "expected [[change]] only"));
  BOOST_TEST(contains(fault("change=[3]\n"), "expected [[change]], found"));
  BOOST_TEST(contains(fault("[[changes]]\n"), "expected [[change]] only"));
  BOOST_TEST(contains(fault("x = \n"), "not TOML"));
  BOOST_TEST(contains(fault(std::string(5 << 20, '#')), "larger than"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::config

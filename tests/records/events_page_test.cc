// docs/events.md, printed from the catalogue. SWARM_UPDATE_DOCS=1 writes it anew.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

#include "records/catalogue.h"
#include "records/files.h"

using namespace swarm;
using namespace swarm::records;

namespace {

struct Chapter {
  const char *writer, *title, *words;
};
const Chapter kChapters[] = {
    {"launcher", "Written by `swarm run`",
     "`node` names the node that the event is about, or is `run`."},
    {"node", "Written by every node", "About its process."},
    {"coordinator", "Written by the coordinator",
     "`stage` stands where the event is about a stage."},
    {"peer", "Written by peers and senders",
     "`stage` is the peer's own; for `rerouted`, `rerouted_served` and `slow_way` it is the stage "
     "that the microbatch is sent to, for `copy_made` and `copy_failed` the one that is copied."},
};

const char* place_name(Place place) {
  switch (place) {
    case Place::kNone:
      return "";
    case Place::kByAction:
      return "kills or pauses";
    default:
      return to_string(static_cast<Lane>(static_cast<uint8_t>(place) - 1));
  }
}

std::string fields_of(const CatalogueRow& row) {
  std::string out;
  for (const FieldInfo& field : row.fields)
    out += (out.empty() ? "" : "<br>") + std::string("`") + field.key + "` (" + field.type +
           (field.optional ? ", may be missing" : "") + "): " + field.meaning;
  return out;
}

std::string row_of(const CatalogueRow& row) {
  return std::string("| `") + row.info.name + "` | " + to_string(row.info.level) + " | " +
         (row.info.remarkable() ? "yes" : "") + " | " + place_name(row.info.place) + " | " +
         row.info.meaning + " | " + fields_of(row) + " |\n";
}

std::string events_page() {
  std::string out =
      "# Events\n\n"
      "Every event that a line of `events.jsonl` can name ([run_folder.md](run_folder.md)). This "
      "page "
      "is printed\n"
      "from the catalogue, `records/catalogue.h`; a test keeps the two equal.\n\n"
      "A line is `{\"time\": 1795230649.123, \"node\": \"seed\", \"event\": \"lost\", \"level\": "
      "\"warn\",\n\"stage\": 1, \"step\": 133, \"peer\": \"stage1-a\", \"reason\": \"the link is "
      "lost\"}`: `time` is unix seconds,\n"
      "`node` its writer, `level` `info`, `warn` or `error`; `stage` and `step` are missing where "
      "they do not\napply; the event's own fields follow. Durations are milliseconds and their "
      "names "
      "end with `_ms`, peers\nare named by their nodes, an `error` is one of the "
      "[error codes](errors.md).\n\n"
      "*Shown*: `swarm run` prints it while the run goes on. *Row*: where `swarm report` draws "
      "it.\n";
  for (const Chapter& chapter : kChapters) {
    out += std::string("\n## ") + chapter.title + "\n\n" + chapter.words +
           "\n\n| event | level | shown | row | what has happened | fields |\n"
           "|---|---|---|---|---|---|\n";
    for (const CatalogueRow& row : catalogue())
      if (row.writer == std::string(chapter.writer)) out += row_of(row);
  }
  return out;
}

const std::string kRoot = SWARM_SOURCE_DIR;

void check_page(const std::string& path, const std::string& right) {
  if (std::getenv("SWARM_UPDATE_DOCS") != nullptr)
    BOOST_REQUIRE(write_atomically(kRoot + "/" + path, right).ok());
  const auto found = read_file(kRoot + "/" + path);
  BOOST_REQUIRE_MESSAGE(found.ok(), path);
  BOOST_TEST((*found == right), path << " is out of date: run this test with SWARM_UPDATE_DOCS=1");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(records_events_page)

BOOST_AUTO_TEST_CASE(the_page_of_events_is_the_catalogue) {
  check_page("docs/events.md", events_page());
}

BOOST_AUTO_TEST_SUITE_END()

/// The table of mail kinds, and whether the actors' headers and handlers say the same.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "actors/net/mail.h"

using namespace swarm::actors;
namespace fs = std::filesystem;
namespace proto = swarm::proto;

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

const MailKind& row_of(proto::MessageKind kind) {
  for (const MailKind& row : mail_kinds())
    if (row.kind == kind) return row;
  throw std::out_of_range(proto::MessageKind_Name(kind));
}

/// What a table says that an actor takes: the message's type and its reply's, "-" for none.
using Rows = std::map<std::string, std::string>;

/// Header (its name without .h) -> its rows, as the table of kinds has them.
std::map<std::string, Rows> rows_by_table() {
  std::map<std::string, Rows> out;
  for (const MailKind& row : mail_kinds())
    for (const auto& taker : words_of(row.takers))
      out[taker][row.type] = row.reply == proto::KIND_UNSPECIFIED ? "-" : row_of(row.reply).type;
  return out;
}

/// The same as the header's own "///   [Mail] TYPE ... REPLY ..." lines have it.
Rows rows_in_header(const fs::path& path) {
  std::map<std::string, const MailKind*> by_type;
  for (const MailKind& row : mail_kinds())
    if (*row.takers != 0) by_type[row.type] = &row;
  Rows out;
  std::istringstream lines(read(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("///   ", 0) != 0) continue;
    auto words = words_of(line.substr(3));
    if (!words.empty() && words.front() == "Mail") words.erase(words.begin());
    auto row = words.empty() ? by_type.end() : by_type.find(words.front());
    if (row == by_type.end() || words.size() < 2) continue;
    const bool no_reply = row->second->reply == proto::KIND_UNSPECIFIED;
    const std::string wanted = no_reply ? "-" : row_of(row->second->reply).type;
    std::string found = "(another)";
    for (size_t i = 1; i < words.size(); ++i)
      if (words[i] == wanted || words[i] == wanted + ",") found = wanted;
    out[words.front()] = found;
  }
  return out;
}

/// Every header of an actor, by its name without .h.
std::map<std::string, fs::path> headers() {
  std::map<std::string, fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SWARM_SOURCE) / "actors"))
    if (entry.path().extension() == ".h") out[entry.path().stem()] = entry.path();
  return out;
}

std::string text(const Rows& rows) {
  std::string out;
  for (const auto& [type, reply] : rows) out += type + " -> " + reply + "\n";
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(MailKinds)

BOOST_AUTO_TEST_CASE(every_kind_of_the_protocol_has_one_row) {
  std::set<proto::MessageKind> seen;
  std::set<std::string> names;
  for (const MailKind& row : mail_kinds()) {
    BOOST_TEST(seen.insert(row.kind).second, row.name);
    BOOST_TEST(names.insert(row.name).second, row.name);
    auto head = new_head(row.kind);
    BOOST_REQUIRE_MESSAGE(head, row.name);
    BOOST_TEST(head->GetDescriptor()->name() == row.type);
    BOOST_TEST(kind_name(row.kind) == std::string(row.name));
  }
  for (int kind = proto::MessageKind_MIN; kind <= proto::MessageKind_MAX; ++kind)
    if (proto::MessageKind_IsValid(kind) && kind != proto::KIND_UNSPECIFIED)
      BOOST_TEST(seen.count(static_cast<proto::MessageKind>(kind)) == 1u, kind);
}

BOOST_AUTO_TEST_CASE(a_kind_that_nobody_knows_has_no_head_no_reply_and_no_priority) {
  for (int number : {0, 9, 35, 999, -1}) {
    const auto kind = static_cast<proto::MessageKind>(number);
    BOOST_TEST(!new_head(kind));
    BOOST_TEST(kind_name(kind) == std::string("unknown"));
    BOOST_TEST((reply_kind(kind) == proto::KIND_UNSPECIFIED));
    BOOST_TEST((traffic_class(kind) == TrafficClass::kControl));
  }
}

BOOST_AUTO_TEST_CASE(replies_answer_and_ask_nothing) {
  for (const MailKind& row : mail_kinds()) {
    if (row.reply == proto::KIND_UNSPECIFIED || row.reply == row.kind) continue;
    BOOST_TEST((row_of(row.reply).reply == proto::KIND_UNSPECIFIED), row.name);
    BOOST_TEST(*row.takers != 0, row.name);
  }
}

BOOST_AUTO_TEST_CASE(the_header_of_every_actor_lists_the_mail_that_it_takes) {
  const auto all = headers();
  auto table = rows_by_table();
  for (const auto& [name, rows] : table)
    BOOST_TEST(all.count(name) == 1u, "no header " + name + ".h in actors/");
  for (const auto& [name, path] : all)
    BOOST_TEST(text(rows_in_header(path)) == text(table[name]), path.string());
}

BOOST_AUTO_TEST_CASE(the_handlers_of_a_folder_take_what_its_headers_list) {
  std::map<fs::path, std::set<std::string>> listed, handled;
  const auto all = headers();
  for (const auto& [name, rows] : rows_by_table())
    for (const auto& row : rows)
      if (all.count(name) > 0) listed[all.at(name).parent_path()].insert(row.first);
  const std::regex use("proto::(KIND_[A-Z_]+)");
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SWARM_SOURCE) / "actors")) {
    const fs::path folder = entry.path().parent_path();
    if (entry.path().extension() != ".cc" || folder.filename() == "links") continue;
    const std::string source = read(entry.path());
    for (std::sregex_iterator it(source.begin(), source.end(), use), end; it != end; ++it) {
      proto::MessageKind kind{};
      if (proto::MessageKind_Parse((*it)[1], &kind) && kind != proto::KIND_UNSPECIFIED &&
          *row_of(kind).takers != 0)
        handled[folder].insert(row_of(kind).type);
    }
  }
  for (const auto& [folder, kinds] : listed)
    BOOST_TEST(handled[folder] == kinds, boost::test_tools::per_element());
  for (const auto& [folder, kinds] : handled)
    BOOST_TEST(listed.count(folder) == 1u, folder.string());
}

BOOST_AUTO_TEST_SUITE_END()

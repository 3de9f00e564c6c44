#include <histedit.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <vector>

#include "apps/commands/commands.h"
#include "apps/commands/tool_link.h"
#include "apps/launch/key_file.h"
#include "common/names.h"
#include "swarm/console.pb.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string node, key_file;
  std::vector<std::string> commands;
};

/// A node's console, and whether this side has proven the run's key there.
struct Remote {
  ToolLink link;
  caf::actor actor;
  bool orders = false;
};

template <class Message>
actors::Mail mail_of(const std::string& line) {
  Message message;
  message.set_line(line);
  return actors::make_mail(std::move(message), {}, std::chrono::seconds(30));
}

Result<proto::ConsoleReply> ask(Remote& console, const std::string& line) {
  Result<actors::Mail> reply = Error{ErrorCode::kRefused, ""};
  if (console.orders) reply = console.link.ask(console.actor, mail_of<proto::ConsoleOrder>(line));
  if (!reply &&
      reply.code() == ErrorCode::kRefused)  // a node without a key still lets anybody read
    reply = console.link.ask(console.actor, mail_of<proto::ConsoleRequest>(line));
  if (!reply) return reply.error();
  if (reply->kind != actors::KindOf<proto::ConsoleReply>::value)
    return Error{ErrorCode::kInternal, "unexpected answer"};
  return reply->as<proto::ConsoleReply>();
}

/// What the node's console takes: the first words of its help.
std::vector<std::string> command_names(Remote& console) {
  std::vector<std::string> names;
  const auto help = ask(console, "help");
  if (!help) return names;
  std::istringstream lines(help->text());
  for (std::string line; std::getline(lines, line);)
    names.push_back(line.substr(0, line.find(' ')));
  return names;
}

/// Prints the answer; false when the command failed or the node is gone.
bool execute(Remote& console, const std::string& line) {
  const auto reply = ask(console, line);
  if (!reply) {
    std::fprintf(stderr, "%s\n", to_string(reply.error()).c_str());
    return false;
  }
  const auto& answer = *reply;
  std::FILE* stream = answer.failed() ? stderr : stdout;
  std::fputs(answer.text().c_str(), stream);
  if (answer.text().empty() || answer.text().back() != '\n') std::fputc('\n', stream);
  std::fflush(stream);
  return !answer.failed();
}

char* prompt(EditLine*) {
  static char text[] = "swarm> ";
  return text;
}

/// Completes the first word from the names that stand behind EL_CLIENTDATA.
unsigned char complete(EditLine* editor, int) {
  void* data = nullptr;
  el_get(editor, EL_CLIENTDATA, &data);
  const auto& names = *static_cast<const std::vector<std::string>*>(data);
  const LineInfo* info = el_line(editor);
  const std::string typed(info->buffer, info->cursor);
  if (typed.find(' ') != std::string::npos) return CC_ERROR;
  const std::string* match = nullptr;
  for (const auto& name : names) {
    if (name.rfind(typed, 0) != 0) continue;
    if (match != nullptr) return CC_REFRESH_BEEP;
    match = &name;
  }
  if (match == nullptr) return CC_ERROR;
  const std::string rest = match->substr(typed.size()) + " ";
  return el_insertstr(editor, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

/// On a terminal: line editing with history and completion.
void edit_lines(Remote& console) {
  auto names = command_names(console);
  EditLine* editor = el_init("swarm", stdin, stdout, stderr);
  History* past = ::history_init();
  HistEvent event;
  ::history(past, &event, H_SETSIZE, 500);
  el_set(editor, EL_PROMPT, prompt);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_HIST, ::history, past);
  el_set(editor, EL_SIGNAL, 1);
  el_set(editor, EL_CLIENTDATA, &names);
  el_set(editor, EL_ADDFN, "swarm-complete", "completes commands", complete);
  el_set(editor, EL_BIND, "^I", "swarm-complete", nullptr);
  int count = 0;
  while (const char* raw = el_gets(editor, &count)) {
    const std::string line = trimmed(raw);
    if (line == "quit" || line == "exit") break;
    if (line.empty()) continue;
    ::history(past, &event, H_ENTER, line.c_str());
    execute(console, line);
  }
  ::history_end(past);
  el_end(editor);
}

int read_lines(Remote& console) {
  bool good = true;
  std::string line;
  while (std::getline(std::cin, line)) {
    line = trimmed(line);
    if (line == "quit" || line == "exit") break;
    if (!line.empty()) good = execute(console, line) && good;
  }
  return good ? 0 : 1;
}

int talk(const Arguments& a) {
  const auto endpoint = Endpoint::parse(a.node);
  if (!endpoint) {
    std::fprintf(stderr, "swarm console: %s\n", endpoint.error().detail.c_str());
    return kBadConfig;
  }
  std::string key;
  if (!a.key_file.empty()) {
    auto read = launch::read_key_file(a.key_file);
    if (!read) {
      std::fprintf(stderr, "swarm console: %s\n", read.error().detail.c_str());
      return kBadConfig;
    }
    key = std::move(*read);
  }
  Remote remote;
  Status opened = remote.link.open(key);
  auto console =
      opened ? remote.link.resolve(*endpoint, kConsoleName) : Result<caf::actor>(opened.error());
  if (!console) {
    std::fprintf(stderr, "swarm console: cannot reach %s: %s\n", a.node.c_str(),
                 to_string(console.error()).c_str());
    return 1;
  }
  remote.actor = *console;
  remote.orders = !key.empty();
  bool good = true;
  for (const auto& command : a.commands) good = execute(remote, command) && good;
  if (!a.commands.empty()) return good ? 0 : 1;
  if (::isatty(STDIN_FILENO) != 1) return read_lines(remote);
  edit_lines(remote);
  return 0;
}

}  // namespace

void add_console(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("console", "Looks into a running node");
  auto a = std::make_shared<Arguments>();
  command->add_option("NODE", a->node, "HOST:PORT of any node of the swarm")->required();
  command->add_option("-c,--command", a->commands, "Runs this command and ends; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--key", a->key_file,
                      "FILE with the run's key, for commands that act: the nodes' operator.key");
  command->callback([a, &exit_code] { exit_code = talk(*a); });
}

}  // namespace swarm::apps

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
#include "common/names.h"
#include "swarm/console.pb.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string node;
  std::vector<std::string> commands;
};

Result<proto::ConsoleReply> ask(ToolLink& link, const caf::actor& console,
                                const std::string& line) {
  proto::ConsoleRequest request;
  request.set_line(line);
  auto reply = link.ask(console, actors::make_mail(request, {}, std::chrono::seconds(30)));
  if (!reply) return reply.error();
  if (reply->kind != actors::KindOf<proto::ConsoleReply>::value)
    return Error{ErrorCode::kInternal, "unexpected answer"};
  return reply->as<proto::ConsoleReply>();
}

/// What the node's console takes: the first words of its help.
std::vector<std::string> command_names(ToolLink& link, const caf::actor& console) {
  std::vector<std::string> names;
  const auto help = ask(link, console, "help");
  if (!help) return names;
  std::istringstream lines(help->text());
  for (std::string line; std::getline(lines, line);)
    names.push_back(line.substr(0, line.find(' ')));
  return names;
}

/// Prints the answer; false when the command failed or the node is gone.
bool execute(ToolLink& link, const caf::actor& console, const std::string& line) {
  const auto reply = ask(link, console, line);
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
void edit_lines(ToolLink& link, const caf::actor& console) {
  auto names = command_names(link, console);
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
    execute(link, console, line);
  }
  ::history_end(past);
  el_end(editor);
}

int read_lines(ToolLink& link, const caf::actor& console) {
  bool good = true;
  std::string line;
  while (std::getline(std::cin, line)) {
    line = trimmed(line);
    if (line == "quit" || line == "exit") break;
    if (!line.empty()) good = execute(link, console, line) && good;
  }
  return good ? 0 : 1;
}

int talk(const Arguments& a) {
  const auto endpoint = Endpoint::parse(a.node);
  if (!endpoint) {
    std::fprintf(stderr, "swarm console: %s\n", endpoint.error().detail.c_str());
    return kBadConfig;
  }
  ToolLink link;
  Status opened = link.open();
  auto console =
      opened ? link.resolve(*endpoint, kConsoleName) : Result<caf::actor>(opened.error());
  if (!console) {
    std::fprintf(stderr, "swarm console: cannot reach %s: %s\n", a.node.c_str(),
                 to_string(console.error()).c_str());
    return 1;
  }
  bool good = true;
  for (const auto& command : a.commands) good = execute(link, *console, command) && good;
  if (!a.commands.empty()) return good ? 0 : 1;
  if (::isatty(STDIN_FILENO) != 1) return read_lines(link, *console);
  edit_lines(link, *console);
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
  command->callback([a, &exit_code] { exit_code = talk(*a); });
}

}  // namespace swarm::apps

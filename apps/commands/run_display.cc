#include "apps/commands/run_display.h"

#include <unistd.h>

#include <cstdio>

namespace swarm::apps {

RunDisplay::RunDisplay(bool quiet) : quiet_(quiet), terminal_(::isatty(STDOUT_FILENO) == 1) {}

void RunDisplay::progress(const std::string& line) {
  if (quiet_ || line == line_) return;
  line_ = line;
  if (terminal_) {
    std::printf("\r\033[K%s", line.c_str());
    std::fflush(stdout);
  } else {
    print(line);
  }
}

void RunDisplay::event(const records::Event& event) {
  if (quiet_) return;
  if (terminal_) std::printf("\r\033[K");
  print("  " + text(event));
  if (terminal_) {
    std::printf("%s", line_.c_str());
    std::fflush(stdout);
  }
}

void RunDisplay::finish() {
  if (!quiet_ && terminal_ && !line_.empty()) print("");
}

void RunDisplay::print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace swarm::apps

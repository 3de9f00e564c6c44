/// What a person sees of a run: one updating line on a terminal, one line per change elsewhere.
#pragma once

#include <string>

#include "records/event.h"

namespace swarm::apps {

class RunDisplay {
 public:
  explicit RunDisplay(bool quiet);
  void progress(const std::string& line);
  void event(const records::Event& event);
  /// Ends the updating line.
  void finish();

 private:
  void print(const std::string& line);
  bool quiet_, terminal_;
  std::string line_;
};

}  // namespace swarm::apps

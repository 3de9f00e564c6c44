/// Columns of text, aligned for people (console, verify, bench).
#pragma once

#include <string>
#include <vector>

namespace swarm {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  /// Requires as many cells as the header has.
  void add(std::vector<std::string> cells);
  /// Header, rows; columns two spaces apart; no trailing blanks.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace swarm

#include "actors/node/node_log.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "common/repeats.h"
#include "records/files.h"

namespace swarm::actors {
namespace {

class NodeLog {
 public:
  NodeLog(std::unique_ptr<records::SegmentedFile> file, records::LostLines lost)
      : file_(std::move(file)), all_lost_(std::move(lost)) {}
  ~NodeLog() { tell_repeated(0, true); }

  void take(const std::string& said, const std::string& line) {
    const double now_s = records::unix_now_s();
    tell_repeated(now_s, false);
    if (repeats_.take(said, said, now_s)) append(line);
  }

 private:
  void append(const std::string& line) {
    if (!file_->append(line)) {
      ++lost_;
      records::add_lost_line(all_lost_);
    } else if (lost_ > 0 && file_->append(fmt::format("lines_lost lines={}", lost_))) {
      lost_ = 0;
    }
  }
  void tell_repeated(double now_s, bool all) {
    for (const auto& held : repeats_.told(now_s, all))
      append(fmt::format("repeated times={} line=\"{}\"", held.times, held.label));
  }

  const std::unique_ptr<records::SegmentedFile> file_;
  const records::LostLines all_lost_;
  Repeats repeats_;
  uint64_t lost_ = 0;  // lines, not told yet
};

}  // namespace

Result<TakeLogLine> open_node_log(const std::string& path, const records::SegmentLimits& limits,
                                  records::LostLines lost) {
  auto file = records::SegmentedFile::open(path, limits);
  if (!file) return file.error();
  return TakeLogLine(
      [log = std::make_shared<NodeLog>(std::move(*file), std::move(lost))](
          const std::string& said, const std::string& line) { log->take(said, line); });
}

}  // namespace swarm::actors

#include "records/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace swarm::records {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompressed = ".zst";
constexpr size_t kDigits = 6, kMostDigits = 15;

bool cut_front(std::string_view& text, std::string_view front) {
  if (text.substr(0, front.size()) != front) return false;
  text.remove_prefix(front.size());
  return true;
}

bool cut_back(std::string_view& text, std::string_view back) {
  if (text.size() < back.size() || text.substr(text.size() - back.size()) != back) return false;
  text.remove_suffix(back.size());
  return true;
}

/// "events.jsonl" at its dot.
size_t dot_of(std::string_view file) { return std::min(file.rfind('.'), file.size()); }

}  // namespace

std::string segment_name(const std::string& file, uint64_t index, bool compressed) {
  const size_t dot = dot_of(file);
  return fmt::format("{}-{:06}{}{}", file.substr(0, dot), index, file.substr(dot),
                     compressed ? kCompressed : "");
}

std::optional<Segment> segment_of(std::string_view file, std::string_view name) {
  Segment out;
  const size_t dot = dot_of(file);
  out.compressed = cut_back(name, kCompressed);
  if (!cut_front(name, file.substr(0, dot)) || !cut_front(name, "-") ||
      !cut_back(name, file.substr(dot)) || name.size() < kDigits || name.size() > kMostDigits)
    return std::nullopt;
  for (const char digit : name) {
    if (digit < '0' || digit > '9') return std::nullopt;
    out.index = out.index * 10 + static_cast<uint64_t>(digit - '0');
  }
  if (out.index == 0 || (name.size() > kDigits && name.front() == '0')) return std::nullopt;
  return out;
}

std::vector<Segment> segments_of(const std::string& path) {
  const fs::path live(path);
  const std::string file = live.filename().string();
  std::vector<Segment> out;
  std::error_code error;
  for (fs::directory_iterator at(live.parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    auto one = segment_of(file, at->path().filename().string());
    if (!one) continue;
    one->path = at->path().string();
    out.push_back(std::move(*one));
  }
  std::sort(out.begin(), out.end(), [](const Segment& a, const Segment& b) {
    return a.index != b.index ? a.index < b.index : a.compressed > b.compressed;
  });
  const auto same = [](const Segment& a, const Segment& b) { return a.index == b.index; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

bool lost_its_beginning(const std::string& path) {
  const auto pieces = segments_of(path);
  return !pieces.empty() && pieces.front().index > 1;
}

bool has_lines(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) || !segments_of(path).empty();
}

}  // namespace swarm::records

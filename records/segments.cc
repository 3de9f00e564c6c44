#include "records/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "records/files.h"
#include "records/value.h"

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

/// Both forms of a piece, the compressed one first.
std::vector<Segment> all_pieces_of(const std::string& path) {
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
  return out;
}

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

std::string folded_name(const std::string& file) {
  const size_t dot = dot_of(file);
  return file.substr(0, dot) + "-folded" + file.substr(dot);
}

Result<std::optional<Folded>> read_folded(const std::string& path) {
  const fs::path live(path);
  const std::string name = live.parent_path() / folded_name(live.filename().string());
  auto text = read_file(name);
  if (text.code() == ErrorCode::kNotFound) return std::optional<Folded>();
  if (!text) return text.error();
  while (!text->empty() && text->back() == '\n') text->pop_back();
  const auto object = parse_object(*text);
  const Value* through = object ? find(*object, "through") : nullptr;
  if (through == nullptr || !through->whole())
    return Error{ErrorCode::kCorruptCheckpoint, name + " is damaged"};
  return std::optional<Folded>({*through->whole(), std::move(*text)});
}

std::vector<Segment> segments_of(const std::string& path, std::optional<Folded>* folded) {
  auto out = all_pieces_of(path);
  auto first = read_folded(path);
  const uint64_t through = first && *first ? (*first)->through : 0;
  if (folded != nullptr) *folded = first ? std::move(*first) : std::nullopt;
  const auto same = [](const Segment& a, const Segment& b) { return a.index == b.index; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  out.erase(std::remove_if(out.begin(), out.end(),
                           [&](const Segment& one) { return one.index <= through; }),
            out.end());
  return out;
}

std::vector<std::string> void_pieces_of(const std::string& path) {
  std::vector<std::string> out;
  const auto folded = read_folded(path);
  if (!folded || !*folded) return out;
  for (const auto& piece : all_pieces_of(path))
    if (piece.index <= (*folded)->through) out.push_back(piece.path);
  return out;
}

bool lost_its_beginning(const std::string& path) {
  std::optional<Folded> folded;
  const auto pieces = segments_of(path, &folded);
  return !pieces.empty() && pieces.front().index > (folded ? folded->through : 0) + 1;
}

bool has_lines(const std::string& path) {
  std::error_code error;
  std::optional<Folded> folded;
  return fs::is_regular_file(path, error) || !segments_of(path, &folded).empty() || folded;
}

}  // namespace swarm::records

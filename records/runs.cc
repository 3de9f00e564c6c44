#include "records/runs.h"

#include <utility>

namespace swarm::records {
namespace {

/// What number `i` of a list is ahead of the one before, if it follows; modulo 2^64.
uint64_t stride(const std::vector<uint64_t>& beside, size_t i) {
  return i < beside.size() ? beside[i] - beside[i - 1] : 1;
}

}  // namespace

List pack_runs(const std::vector<uint64_t>& numbers, const std::vector<uint64_t>& beside) {
  List out;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] - numbers[end - 1] == stride(beside, end)) ++end;
    auto& item = out.emplace_back().data;
    if (end - i == 1)
      item = numbers[i];
    else
      item = List{{numbers[i]}, {uint64_t{end - i}}};
    i = end;
  }
  return out;
}

const char* unpack_runs(const Value& value, const std::vector<uint64_t>& beside,
                        std::vector<uint64_t>& numbers) {
  const char* const wrong = "is no whole number in its range";
  const List* list = value.list();
  if (list == nullptr) return "is no list";
  std::vector<uint64_t> out;
  for (const Value& item : *list) {
    const List* run = item.list();
    if (run != nullptr && run->size() != 2) return wrong;
    const auto first = run != nullptr ? run->front().whole() : item.whole();
    const auto count = run != nullptr ? run->back().whole() : 1;
    if (!first || !count || *count == 0 || *count > kMostInRuns - out.size()) return wrong;
    out.push_back(*first);
    for (uint64_t i = 1; i < *count; ++i) out.push_back(out.back() + stride(beside, out.size()));
  }
  numbers = std::move(out);
  return nullptr;
}

}  // namespace swarm::records

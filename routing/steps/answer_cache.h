/// The latest answers of a server, so that a repeated request is not worked on twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>

namespace swarm::routing {

/// At most so many answers and so many bytes; those unused for longest go first, but the latest
/// stays whatever its size. Pure; not thread-safe; one owner.
template <class Key, class Answer>
class AnswerCache {
 public:
  AnswerCache(size_t max_answers, uint64_t max_bytes)
      : max_answers_(max_answers), max_bytes_(max_bytes) {}

  /// Null: not known (any more). Valid until the next put() or clear(). Counts as a use.
  const Answer* find(const Key& key) {
    auto known = places_.find(key);
    if (known == places_.end()) return nullptr;
    entries_.splice(entries_.end(), entries_, known->second);
    return &known->second->answer;
  }

  /// `bytes`: what the answer counts as. Replaces an earlier answer under the key.
  void put(const Key& key, Answer answer, uint64_t bytes) {
    if (auto known = places_.find(key); known != places_.end()) drop(known->second);
    entries_.push_back({key, std::move(answer), bytes});
    places_[key] = std::prev(entries_.end());
    bytes_ += bytes;
    while (entries_.size() > max_answers_ || (bytes_ > max_bytes_ && entries_.size() > 1))
      drop(entries_.begin());
  }

  void clear() {
    entries_.clear();
    places_.clear();
    bytes_ = 0;
  }

  size_t size() const { return entries_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Key key;
    Answer answer;
    uint64_t bytes = 0;
  };
  using Place = typename std::list<Entry>::iterator;

  void drop(Place entry) {
    bytes_ -= entry->bytes;
    places_.erase(entry->key);
    entries_.erase(entry);
  }

  size_t max_answers_;
  uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  std::list<Entry> entries_;  // least recently used first
  std::map<Key, Place> places_;
};

}  // namespace swarm::routing

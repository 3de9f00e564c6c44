/// A line of events.jsonl: who says what about which stage and step, and the event's own fields.
/// Pure.
#pragma once

#include <optional>
#include <string>

#include "records/fields.h"

namespace swarm::records {

/// An event whose struct is one of the catalogue's (records/catalogue.h), or one of another version
/// of this program, of which only the fields are known.
struct Event {
  std::string name;
  double time_s = 0;   ///< Unix time.
  std::string node{};  ///< Its writer; what `swarm run` writes names the node it is about.
  int64_t stage = -1;  ///< -1: does not apply.
  int64_t step = -1;   ///< -1: does not apply.
  Object fields{};     ///< The struct's members.

  template <class T>
  bool is() const {
    return name == T::kInfo.name;
  }
  /// Its fields, if it is that event and has them all: nothing is guessed.
  template <class T>
  std::optional<T> as() const {
    std::string fault;
    std::optional<T> out;
    if (is<T>()) out = read_fields<T>(fields, &fault);
    if (!fault.empty()) out.reset();
    return out;
  }
  /// Why; empty for events that give no reason.
  std::string reason() const;
};

/// Time and node are for the log to fill in.
template <class T>
Event make_event(int64_t stage, int64_t step, const T& event) {
  return {T::kInfo.name, 0, {}, stage, step, write_fields(event)};
}

/// {"time": ..., "node": ..., "event": ..., "level": ..., "stage": ..., "step": ..., fields}.
std::string to_json(const Event& event);
/// Nothing for what is not such a line.
std::optional<Event> parse_event(const std::string& line);

/// "stage1-a: lost stage=1 step=133 peer=stage1-b reason=..." for people.
std::string text(const Event& event);
/// The same without the node: "lost stage=1 step=133 ..."
std::string what(const Event& event);
/// "peer=stage1-b reason=..."
std::string text(const Object& fields);

}  // namespace swarm::records

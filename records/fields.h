/// The two directions of a record. Its struct lists its members once, in
///
///     template <class Visitor>
///     void fields(Visitor& v) {
///       v("peer", peer, "who is gone");      // key, member, meaning for docs/events.md
///     }
///
/// and Writer, Reader and Lister visit that list. Types of members: whole numbers, double, bool,
/// text, Millis, Hex, PeerId, NodeId, Endpoint, Error, std::optional and std::vector of these, structs
/// with fields().
///
///   type       in JSON
///   double     a number; null when it is not finite
///   optional   missing when empty
///   Millis     a number of milliseconds, to the microsecond; keys end with _ms
///   Hex        16 hex digits
///   PeerId     "NODE_ID/ACTOR"
///   NodeId     32 hex digits
///   Endpoint   "HOST:PORT"
///   Error      two members: its key, with the code's name, and `reason`, with its detail
#pragma once

#include <chrono>
#include <limits>
#include <type_traits>

#include "common/ids.h"
#include "common/result.h"
#include "records/runs.h"
#include "records/value.h"

namespace swarm::records {

/// A duration; every std::chrono duration converts to it.
using Millis = std::chrono::duration<double, std::milli>;
inline Millis seconds_as_millis(double seconds) { return Millis(seconds * 1000); }

/// A checksum or digest.
struct Hex {
  uint64_t value = 0;
  friend bool operator==(Hex a, Hex b) { return a.value == b.value; }
  friend bool operator!=(Hex a, Hex b) { return a.value != b.value; }
  friend bool operator<(Hex a, Hex b) { return a.value < b.value; }
};

/// The code that to_string() calls so; nothing for other names.
std::optional<ErrorCode> error_code_of(const std::string& name);

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

/// A struct's members to JSON.
class Writer {
 public:
  template <class T>
  void operator()(const char* key, const T& member, const char* = "") {
    if constexpr (IsOptional<T>::value) {
      if (member) (*this)(key, *member);
    } else if constexpr (std::is_same_v<T, Error>) {
      out_.emplace_back(key, value(std::string(to_string(member.code))));
      out_.emplace_back("reason", value(member.detail));
    } else {
      out_.emplace_back(key, value(member));
    }
  }
  /// A checksum or digest that is kept as a bare number.
  void hex(const char* key, uint64_t member) { (*this)(key, Hex{member}); }
  /// Likewise; left out where it is 0.
  void known_hex(const char* key, uint64_t member) {
    if (member != 0) hex(key, member);
  }
  /// Run-length coded; see pack_runs().
  template <class T, class U = uint64_t>
  void runs(const char* key, const std::vector<T>& member, const std::vector<U>& beside = {}) {
    out_.emplace_back(
        key, Value{pack_runs({member.begin(), member.end()}, {beside.begin(), beside.end()})});
  }
  Object take() { return std::move(out_); }

 private:
  static Value value(bool member) { return {member}; }
  static Value value(double member) { return {member}; }
  static Value value(const std::string& member) { return {member}; }
  static Value value(Millis member);
  static Value value(Hex member);
  static Value value(const PeerId& member);
  static Value value(const NodeId& member) { return {member.hex()}; }
  static Value value(const Endpoint& member) { return {member.text()}; }
  template <class T>
  static Value value(const T& member) {
    if constexpr (IsOptional<T>::value) {
      return member ? value(*member) : Value{};
    } else if constexpr (IsVector<T>::value) {
      List list;
      for (const auto& item : member) list.push_back(value(item));
      return {std::move(list)};
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>)
        if (member < 0) return {static_cast<int64_t>(member)};
      return {static_cast<uint64_t>(member)};
    } else {
      Writer inner;
      const_cast<T&>(member).fields(inner);  // fields() serves readers too
      return {inner.take()};
    }
  }

  Object out_;
};

/// JSON to a struct's members. A member that is missing or not of its type stays as it is; the
/// first such fault is kept for readers that must not guess.
class Reader {
 public:
  /// `object` outlives this.
  explicit Reader(const Object& object) : object_(object) {}

  template <class T>
  void operator()(const char* key, T& member, const char* = "") {
    const Value* found = find(object_, key);
    if constexpr (IsOptional<T>::value) {
      if (found == nullptr || found->is_null()) return;
      typename T::value_type inner{};
      if (take(key, *found, inner)) member = std::move(inner);
    } else if constexpr (std::is_same_v<T, Error>) {
      read_error(key, found, member);
    } else if (found == nullptr) {
      note(std::string("has no `") + key + "`");
    } else {
      take(key, *found, member);
    }
  }

  void hex(const char* key, uint64_t& member) {
    Hex digits{member};
    (*this)(key, digits);
    member = digits.value;
  }

  void known_hex(const char* key, uint64_t& member) {
    if (find(object_, key) != nullptr) hex(key, member);
  }

  template <class T, class U = uint64_t>
  void runs(const char* key, std::vector<T>& member, const std::vector<U>& beside = {}) {
    const Value* found = find(object_, key);
    if (found == nullptr) return note(std::string("has no `") + key + "`");
    std::vector<uint64_t> numbers;
    const char* wrong = unpack_runs(*found, {beside.begin(), beside.end()}, numbers);
    for (const uint64_t number : numbers)
      if (number > std::numeric_limits<T>::max()) wrong = "is no whole number in its range";
    if (wrong != nullptr) return note(std::string("`") + key + "` " + wrong);
    member.assign(numbers.begin(), numbers.end());
  }

  /// "has no `step`"; empty when all went well.
  const std::string& fault() const { return fault_; }

 private:
  template <class T>
  bool take(const char* key, const Value& value, T& member) {
    const char* wrong = read(value, member);
    if (wrong == nullptr) return true;
    note(wrong == kInner ? inner_ : std::string("`") + key + "` " + wrong);
    return false;
  }
  void note(const std::string& fault) {
    if (fault_.empty()) fault_ = fault;
  }
  void read_error(const char* key, const Value* found, Error& member);

  // Null, or what the value is not.
  const char* read(const Value& value, bool& member);
  const char* read(const Value& value, double& member);
  const char* read(const Value& value, std::string& member);
  const char* read(const Value& value, Millis& member);
  const char* read(const Value& value, Hex& member);
  const char* read(const Value& value, PeerId& member);
  const char* read(const Value& value, NodeId& member);
  const char* read(const Value& value, Endpoint& member);
  const char* read_whole(const Value& value, int64_t least, uint64_t most, uint64_t& member);
  template <class T>
  const char* read(const Value& value, T& member) {
    if constexpr (IsOptional<T>::value) {
      if (value.is_null()) return nullptr;
      typename T::value_type inner{};
      const char* wrong = read(value, inner);
      if (wrong == nullptr) member = std::move(inner);
      return wrong;
    } else if constexpr (IsVector<T>::value) {
      return read_list(value, member);
    } else if constexpr (std::is_integral_v<T>) {
      uint64_t bits = 0;
      const auto least = static_cast<int64_t>(std::numeric_limits<T>::min());
      const char* wrong =
          read_whole(value, least, static_cast<uint64_t>(std::numeric_limits<T>::max()), bits);
      if (wrong == nullptr) member = static_cast<T>(bits);
      return wrong;
    } else {
      const Object* object = value.object();
      if (object == nullptr) return "is no object";
      Reader inner(*object);
      member.fields(inner);
      if (inner.fault().empty()) return nullptr;
      inner_ = inner.fault();
      return kInner;
    }
  }
  template <class T>
  const char* read_list(const Value& value, std::vector<T>& member) {
    const List* list = value.list();
    if (list == nullptr) return "is no list";
    std::vector<T> out;
    for (const Value& item : *list) {
      T one{};
      const char* wrong = read(item, one);
      if (wrong != nullptr && !IsOptional<T>::value) return wrong;  // an optional one stays empty
      out.push_back(std::move(one));
    }
    member = std::move(out);
    return nullptr;
  }

  static const char* const kInner;  ///< The fault is that of a member's member.
  const Object& object_;
  std::string fault_, inner_;
};

/// A member of a record, for documents and tests.
struct FieldInfo {
  std::string key, type, meaning;
  bool optional = false;
};

/// What members a struct has.
class Lister {
 public:
  template <class T>
  void operator()(const char* key, const T&, const char* meaning = "") {
    if constexpr (IsOptional<T>::value)
      fields_.push_back({key, type_of<typename T::value_type>(), meaning, true});
    else
      fields_.push_back({key, type_of<T>(), meaning, false});
    if constexpr (std::is_same_v<T, Error>)
      fields_.push_back({"reason", "text", "what happened, for people", false});
  }
  std::vector<FieldInfo> take() { return std::move(fields_); }

 private:
  template <class T>
  static std::string type_of() {
    if constexpr (IsVector<T>::value) return "list of " + type_of<typename T::value_type>();
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_integral_v<T>) return "whole number";
    if constexpr (std::is_same_v<T, double>) return "number";
    if constexpr (std::is_same_v<T, std::string>) return "text";
    if constexpr (std::is_same_v<T, Millis>) return "ms";
    if constexpr (std::is_same_v<T, Hex>) return "16 hex digits";
    if constexpr (std::is_same_v<T, PeerId>) return "NODE_ID/ACTOR";
    if constexpr (std::is_same_v<T, NodeId>) return "32 hex digits";
    if constexpr (std::is_same_v<T, Endpoint>) return "HOST:PORT";
    if constexpr (std::is_same_v<T, Error>) return "error code";
    return "object";
  }

  std::vector<FieldInfo> fields_;
};

template <class T>
Object write_fields(const T& record) {
  Writer writer;
  const_cast<T&>(record).fields(writer);  // fields() serves readers too
  return writer.take();
}

/// What is missing or wrong keeps its default; `fault`, if given, says what was.
template <class T>
T read_fields(const Object& object, std::string* fault = nullptr) {
  Reader reader(object);
  T record{};
  record.fields(reader);
  if (fault != nullptr) *fault = reader.fault();
  return record;
}

template <class T>
std::vector<FieldInfo> list_fields() {
  Lister lister;
  T{}.fields(lister);
  return lister.take();
}

}  // namespace swarm::records

/// How a table of keys is written: a section, then a key a line. Internal to config/ and apps/plan/.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/field.h"
#include "config/schema.h"

namespace swarm::config {

template <class T>
class Builder {
 public:
  void section(std::string name, bool shared) {
    section_ = std::move(name);
    shared_ = shared;
  }

  /// `ref` maps a (const) T& to a reference to the member.
  template <class F>
  Key<T>& add(const char* name, F ref, Limits limits, const char* help) {
    using M = std::decay_t<decltype(ref(std::declval<T&>()))>;
    Key<T> key;
    key.section = section_;
    key.name = name;
    key.help = help;
    key.expected = Field<M>::expected(limits);
    key.shared = shared_;
    key.is_text =
        std::is_same_v<M, std::string> || std::is_enum_v<M> || std::is_same_v<M, Endpoint>;
    key.is_array = IsVector<M>::value;
    key.choices = limits.choices;
    key.set = [ref, limits](T& target, const Value& value) {
      return Field<M>::set(ref(target), value, limits);
    };
    key.print = [ref, limits](const T& source) { return Field<M>::print(ref(source), limits); };
    keys_.push_back(std::move(key));
    return keys_.back();
  }

  std::vector<Key<T>> take() { return std::move(keys_); }

 private:
  std::string section_;
  bool shared_ = false;
  std::vector<Key<T>> keys_;
};

/// The member of a key's target, for Builder::add().
#define SWARM_CONFIG_AT(member) \
  [](auto& x) -> auto& { return x.member; }

}  // namespace swarm::config

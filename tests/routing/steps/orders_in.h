/// Looking for orders in tests.
#pragma once

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "routing/steps/orders.h"

namespace swarm::testing {

/// All orders of one kind, in their order.
template <class Kind>
std::vector<Kind> all_of(const routing::Orders& orders) {
  std::vector<Kind> found;
  for (const auto& one : orders)
    if (const auto* order = std::get_if<Kind>(&one)) found.push_back(*order);
  return found;
}

template <class Kind>
bool has(const routing::Orders& orders) {
  return !all_of<Kind>(orders).empty();
}

/// The notes of one kind of fact.
template <class Fact>
std::vector<Fact> noted(const routing::Orders& orders) {
  std::vector<Fact> found;
  for (const auto& note : all_of<routing::orders::Note>(orders))
    if (const auto* fact = std::get_if<Fact>(&note.fact)) found.push_back(*fact);
  return found;
}

/// Why the swarm is to gather; empty: it is not.
inline std::string gather_reason(const routing::Orders& orders) {
  const auto found = all_of<routing::orders::Gather>(orders);
  return found.empty() ? "" : found.front().reason;
}

/// The CloseStep of a stage. Requires one.
inline routing::orders::CloseStep close_of(const routing::Orders& orders, uint32_t stage) {
  for (const auto& close : all_of<routing::orders::CloseStep>(orders))
    if (close.stage == Stage(stage)) return close;
  BOOST_FAIL("no CloseStep of stage " << stage);
  return {};
}

}  // namespace swarm::testing

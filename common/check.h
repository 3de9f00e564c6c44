/// Broken invariants abort, in release builds too.
#pragma once

namespace swarm::detail {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}

/// Aborts with expression, file and line when `condition` is false. For bugs, never for input.
#define SWARM_CHECK(condition)        \
  ((condition) ? static_cast<void>(0) \
               : ::swarm::detail::check_failed(#condition, __FILE__, __LINE__))

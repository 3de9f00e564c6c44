#include "common/check.h"

#include <cstdio>
#include <cstdlib>

namespace swarm::detail {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "swarm: invariant broken: %s at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace swarm::detail

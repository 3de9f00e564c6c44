// `swarm`: one program for running, looking into and checking a swarm; without LibTorch.
#include <malloc.h>

#include "apps/commands/program.h"

int main(int argc, char** argv) {
  // Links fill and free buffers of up to a megabyte all the time. By default each goes back to the
  // system at once and is faulted in anew, a third of the time of a large transfer (`swarm bench
  // transport`). `swarm-compute` has limits of its own.
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
  return swarm::apps::run_program({argv, /*compute=*/nullptr}, argc);
}

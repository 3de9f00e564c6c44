// `swarm`: one program for running, looking into and checking a swarm; without LibTorch.
#include "apps/commands/program.h"

int main(int argc, char** argv) {
  return swarm::apps::run_program({argv, /*compute=*/nullptr}, argc);
}

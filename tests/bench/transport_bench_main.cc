/// Stand-alone form of `swarm bench transport`: bench_transport [--quick].
#include <cstdio>
#include <cstring>

#include "actors/links/transport_bench.h"

int main(int argc, char** argv) {
  using namespace swarm::actors;
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0) return run_transport_bench_child();
  TransportBenchOptions options;
  if (argc > 1 && std::strcmp(argv[1], "--quick") == 0) {
    options.large_rounds = 5;
    options.small_rounds = 300;
  }
  auto figures = run_transport_bench({"/proc/self/exe", "--child"}, options);
  if (!figures) {
    std::fprintf(stderr, "%s\n", to_string(figures.error()).c_str());
    return 1;
  }
  std::fputs(figures->text().c_str(), stdout);
  return 0;
}

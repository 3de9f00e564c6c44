/// The measurements of `swarm bench`. Each prints a table and returns the exit code; the limits of
/// docs/performance.md are judged there, not here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::apps {

/// [8, 512, 768] float32 there and back through actors and links between two processes, beside
/// raw TCP in the same run; the smallest request alone and while tensors stream.
int bench_transport();

/// A node's artificial rates and delays as a process on this machine meets them, or the link to a
/// node that is there already.
struct LinksBenchOptions {
  std::vector<double> rates{1e6, 12.5e6};  ///< [bytes/s]
  std::vector<double> delays_s{0.05, 0.2};
  std::string at;        ///< HOST:PORT of a node; empty: nodes of its own.
  double megabytes = 8;  ///< Sent there and back with `at`.
  double silence_s =
      0;  ///< With `at`: sent once more at once, and again after so much silence; 0: once only.
};
int bench_links(const LinksBenchOptions& options);

/// Resident memory of nodes without work, beside a process with LibTorch loaded and nothing else
/// (which `swarm bench memory --baseline` prints about its own process [MB]).
int bench_memory();

/// Every codec of the table: rates of one core, beside its memory's, and errors.
struct CodecBenchOptions {
  uint64_t values = 16u << 20;  ///< Encoded at a time; 64 MiB, more than caches hold.
  int rounds = 11;
  bool json = false;
};
int bench_codec(const CodecBenchOptions& options);

/// How long `swarm --help`, `--version` and one console command take from fork to exit, and the
/// resident memory of a seed and a trainer node without work.
struct StartupBenchOptions {
  int rounds = 20;
  bool json = false;
};
int bench_startup(const StartupBenchOptions& options);

/// Writes what a node writes that coordinates and serves a stage, for so many steps, and tells what is left
/// of it on the disk. Fails if a file was ever beyond its limit, or folded lines are not in order.
struct RecordsBenchOptions {
  uint64_t steps = 10'000'000;  ///< A week of 16 a second.
  int32_t records_mb = 256;     ///< node.records_mb
  int32_t audit_mb = 512;       ///< node.audit_mb
};
int bench_records(const RecordsBenchOptions& options);

/// Of `swarm bench overhead` and `swarm bench pipeline`, which stand in apps/compute/.
struct ThroughputBenchOptions {
  bool pipeline = false;  ///< Four stages; else one and two.
  int rounds = 3;
  bool json = false;
};

/// Of `swarm bench averaging`, which stands in apps/compute/.
struct AveragingBenchOptions {
  std::vector<uint64_t> elements{10'000'000, 100'000'000};
  std::vector<uint32_t> peers{2, 4};
  int rounds = 7;  ///< Measured; the first, which faults in memory, is told apart.
  bool json = false;
};

/// Of `swarm bench checkpoint`, which stands in apps/compute/.
struct CheckpointBenchOptions {
  uint64_t parameters = 100'000'000;  ///< About so many, in one stage.
  int rounds = 5;                     ///< Snapshots alone, and again while the stage trains.
  std::string folder = ".";           ///< On the disk that is to be measured.
  bool json = false;
};

/// Of `swarm bench device`, which stands in apps/compute/.
struct DeviceBenchOptions {
  std::string file;  ///< An experiment: its model, microbatch, node.device, threads, compute.
  std::vector<std::string> overrides;
};

/// DHT nodes in virtual time: stores, reads, traffic, and reads when many have vanished.
struct DhtBenchOptions {
  std::vector<int> nodes{10, 25, 100, 400};
  double min_delay_s = 0.01, max_delay_s = 0.05;  ///< One way.
  double killed = 0.3;                            ///< Of the nodes.
  int samples = 100;
  uint64_t seed = 1;
  bool json = false;
};
int bench_dht(const DhtBenchOptions& options);

/// Of `swarm bench square-cube`, which stands in apps/compute/.
struct SquareCubeBenchOptions {
  std::vector<int> widths{128, 256, 512, 1024, 2048};  ///< Multiples of 64, the size of a head.
  int microbatch = 4;                                  ///< Samples of 128 tokens.
  std::string compute = "fp32";
  double bytes_per_s = 62.5e6;  ///< Of the link, in each direction.
  double round_trip_s = 0.05;
  int rounds = 3;
  bool json = false;
};

/// Trains FILE's swarm (its timeline left out) while stage peers are killed and paused one after
/// the other; apps/bench/figures/bench_failover_figures.h says what is measured. Takes 14 s a blow.
struct FailoverBenchOptions {
  std::string file;
  std::vector<std::string> overrides;
  int kills = 10;
  int pauses = 10;
  uint64_t seed = 1;
  bool json = false;
};
int bench_failover(const FailoverBenchOptions& options);

}  // namespace swarm::apps

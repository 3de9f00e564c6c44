/// What a node's actors are told. Defaults live here; config/ fills these in from a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/averaging/options.h"
#include "actors/net/options.h"
#include "actors/state/options.h"
#include "common/ids.h"
#include "common/result.h"
#include "routing/membership/placement.h"
#include "routing/wiring/occupancy.h"
#include "routing/wiring/peer_estimates.h"
#include "storage/options.h"
#include "tensor/core/options.h"

namespace swarm::actors {

struct DhtOptions {
  uint32_t k = 8;      ///< Contacts per bucket, replicas per record.
  uint32_t alpha = 3;  ///< Questions in flight per lookup.
  std::chrono::milliseconds request_timeout{1'000};
  /// How often routing buckets and the node's own place are looked up again.
  std::chrono::milliseconds refresh_every{15'000};
  /// How often peers and coordinators announce themselves. Shorter: newcomers are used sooner, more
  /// traffic.
  std::chrono::milliseconds announce_every{1'000};
  std::chrono::milliseconds announce_ttl{4'000};  ///< A silent peer's record vanishes after this.

  /// Who has not announced itself for this long has no record anywhere: it is forgotten.
  std::chrono::milliseconds silent_after() const { return 3 * (announce_every + announce_ttl); }
};

struct StageServerOptions {
  /// Microbatches held at once (queued, computed or waiting for their gradient); more are refused
  /// with kOverloaded, however small.
  uint32_t max_resident = 256;
  /// Memory that they may take together: what each brought and what it sends on, as they travel, and
  /// with `keep` what the stage keeps of each for backward (estimated). The first is always taken.
  uint64_t resident_bytes = 2ull << 30;
  /// How often an overloaded or missing successor is tried again.
  std::chrono::milliseconds retry_every{50};
  routing::PeerEstimatesOptions estimates;
  routing::WiringOptions wiring;
  uint32_t max_samples = 4'096;  ///< Largest microbatch accepted.
  // A neighbour in the same node that says nothing for so long hangs.
  /// The disk, about one snapshot: beyond it the snapshot counts as failed.
  std::chrono::milliseconds disk_limit{120'000};
  /// The device, about one job and those before it: beyond it the peer ends and is started again.
  std::chrono::milliseconds device_limit{600'000};
  /// The averager, about one round or one state from neighbours, which have deadlines of their own.
  std::chrono::milliseconds transfer_limit{3'600'000};
  /// A gradient sum that has changed between two uses is not used. It costs two reads of the sum with
  /// each microbatch, 8 bytes a parameter: about 1 ns a parameter on a processor, which is 1 to 3 % of
  /// computing a microbatch of 1,000 tokens, and less of longer ones. Where every microbatch makes a local
  /// update no sum is at rest, and it costs nothing.
  bool check_gradient_sum = true;
};

struct CheckpointOptions {
  uint32_t every_steps = 20;  ///< 0: only at the end and on demand.
  uint32_t keep = 3;          ///< Newest snapshots kept per stage.
  storage::StoreKind store = storage::StoreKind::kRocksdb;
  std::string mirror{};  ///< A folder that outlives the machines; empty: none.
  uint32_t copies = 1;   ///< Of each stage's snapshots, on nodes of other stages.
};

enum class TrainingMode : uint8_t {
  kSync,   ///< A step's gradient is the exact mean over its samples.
  kAsync,  ///< Every peer updates its own parameters, replicas average their weights now and then
           ///< (docs/asynchronous.md).
};

/// What half of a divided swarm or less does (docs/one_history.md).
enum class PartitionPolicy : uint8_t {
  kWait,      ///< It waits for the rest, or for an operator's word.
  kContinue,  ///< It goes on without the rest after TrainingOptions::continue_after.
};

struct TrainingOptions {
  TrainingMode mode = TrainingMode::kSync;
  uint32_t steps = 100;              ///< Optimizer steps of the run.
  uint32_t batch = 64;               ///< Samples per step; a multiple of microbatch.
  uint32_t microbatch = 8;           ///< Samples that travel together.
  uint32_t validate_every = 0;       ///< Steps between validations; 0: only at the end.
  uint32_t validation_samples = 64;  ///< A multiple of microbatch.
  uint64_t seed = 1;                 ///< Seeds data order and initial weights.
  /// Peers that every stage needs before a fresh or resumed run starts.
  uint32_t min_peers_per_stage = 1;
  /// Peers of all stages together that a fresh run needs; 0: as many as every stage needs. More
  /// than half of those that there will be: then no two parts of a divided network can both begin.
  uint32_t min_peers = 0;
  PartitionPolicy partition = PartitionPolicy::kWait;
  /// kContinue only. Shorter: a cut that heals later costs the work of one part.
  std::chrono::milliseconds continue_after{60'000};
  /// A node that fails again and again takes no part for a while (routing/membership/strikes.h).
  bool rests = true;
  /// A step runs on the parameters of the update before last while the last one is averaged
  /// (paper, delayed parameter updates).
  bool delayed_updates = false;
  // -- async only
  uint32_t local_update_every = 1;  ///< Microbatches of one update of a peer.
  uint32_t sync_every = 0;  ///< Samples between two averagings, a multiple of batch; 0: batch.
  tensor::AveragedPart average = tensor::AveragedPart::kWeights;
  bool background_averaging = false;  ///< Train on during a round and add the difference.

  /// Asked where parts are chosen; whoever else wants to know asks for what follows from it.
  bool asynchronous() const { return mode == TrainingMode::kAsync; }
  /// Replicas have the same parameters after every step.
  bool replicas_equal() const { return !asynchronous(); }
  /// Parameters change between a microbatch's forward and its backward: a graph that waits keeps its
  /// version of them.
  bool keeps_versions(tensor::BackwardPolicy backward) const {
    return asynchronous() && backward == tensor::BackwardPolicy::kKeep;
  }
  bool averages_moments() const {
    return asynchronous() && average == tensor::AveragedPart::kWeightsAndMoments;
  }
  std::vector<Error> validate() const;
};

/// Asynchronous mode: periods that overlap, at most.
constexpr uint64_t kOpenPeriods = 8;

struct TrainerOptions {
  /// Microbatches under way per trainer; nothing: as many as keep stages busy and queues short, by
  /// what they tell of their waiting (routing/wiring/in_flight.h).
  std::optional<uint32_t> max_in_flight;
  std::chrono::milliseconds poll_every{100};  ///< When the coordinator has nothing to lease.
  routing::PeerEstimatesOptions estimates;
  routing::WiringOptions wiring;
};

struct CoordinatorOptions {
  std::chrono::milliseconds tick{100};
  /// A lease older than this returns even if its trainer lives.
  std::chrono::milliseconds lease_limit{120'000};
  /// Before the step to go on from is decided, no newcomer for this long: when no peer has state in
  /// memory (start, resume). Shorter: faster start, newer snapshots of late peers may be missed.
  std::chrono::milliseconds start_grace{1'000};
  /// The same after a takeover, when peers have state in memory. Shorter: faster failover.
  std::chrono::milliseconds takeover_grace{300};
  /// Which stage a peer should serve.
  routing::PlacementOptions placement;
};

/// Deliberate defects, to show that the checks would find them. Never set in real runs.
struct FaultOptions {
  /// "STEP:SLOT": every stage reports this slot as held but does not add its gradient.
  std::string drop_gradient;
  /// "STEP:SLOT:STAGE": every peer of this stage finds this slot not finite.
  std::string non_finite;
  /// "NODE:PART:STEP": a bit of this node's parameters, moments or gradient_sum turns as soon as it has
  /// added a gradient of that step or a later one.
  std::string flip_bit;
};

/// In NodeOptions.stages: whichever the coordinator says (docs/elastic.md).
constexpr int32_t kAnyStage = -1;

/// Everything one node needs.
struct NodeOptions {
  std::string name = "node";    ///< Unique within the run; 1 to 64 of [A-Za-z0-9_.-].
  std::string run_id;           ///< Equal on all nodes.
  std::string run_folder;       ///< Metrics and logs go to <run_folder>/nodes/<name>/.
  std::vector<Endpoint> join;   ///< Any nodes of the swarm; empty for the first.
  std::vector<int32_t> stages;  ///< A StageServer for each; may be empty, or kAnyStage alone.
  bool trainer = false;         ///< Hosts a Trainer and a Coordinator (active or standby).
  int32_t threads = 1;          ///< LibTorch compute threads of the process.
  std::string device = "cpu";   ///< Where its stages compute: tensor::parse_device().
  double linger_s = 120;        ///< Between the end of training and the node's own.
  double grace_s = 25;          ///< From the wish that it leaves to its end; see drain_times.h.
  bool stays = false;           ///< Whatever linger_s: ends when it is told to only.
  bool collects = false;        ///< It brings the run together at the end, and ends after that.
  /// Started by `swarm run`, which tells people how it goes and when to end.
  bool launched = false;
  /// The machine is about to go if this line for /bin/sh exits with 0, or if this file is there.
  std::string preemption_command, preemption_file;
  /// Between two looks at them.
  double preemption_poll_s = 5;
  std::string key_file;            ///< The run's key; empty: operator.key in run_folder.
  double delay_s = 0;              ///< Artificial, of each microbatch at each peer of the node.
  std::string log_level = "info";  ///< trace, debug, info, warn, error.
  int32_t records_mb = 256;  ///< MiB of events, of metrics and of the log, older pieces included.
  int32_t audit_mb = 512;    ///< MiB of the audit; older lines are folded. 0: all are kept.
  int32_t num_stages = 1;
  LinksOptions links;
  DhtOptions dht;
  tensor::ModelOptions model;
  tensor::OptimizerOptions optimizer;
  tensor::DataOptions data;
  tensor::BackwardPolicy backward = tensor::BackwardPolicy::kKeep;
  tensor::ComputeType compute = tensor::ComputeType::kFp32;
  tensor::Codec activation_codec = tensor::Codec::kNone;
  tensor::Codec gradient_codec = tensor::Codec::kNone;
  TrainingOptions training;
  StageServerOptions stage_server;
  AveragerOptions averager;
  StateTransferOptions state_transfer;
  CheckpointOptions checkpoint;
  TrainerOptions trainer_options;
  CoordinatorOptions coordinator;
  FaultOptions faults;
  std::string config_fingerprint;  ///< xxh128 of what all nodes must share, hex.
  std::string older_fingerprint;   ///< As snapshots of older runs have it; may be empty.

  std::string node_folder() const { return run_folder + "/nodes/" + name; }
};

/// What the nodes round and plain float32 in one process does not, as the file has it: "wire.averaging = int8"
/// and so on; "" if nothing. Such a swarm does not stay with the one process: each rounding is
/// carried on, and an optimizer that divides by a moment makes much of a small difference.
std::string what_rounds(const NodeOptions& options);

}  // namespace swarm::actors

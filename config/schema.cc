#include "config/schema.h"

#include "config/schema_builder.h"

namespace swarm::config {
namespace {

/// The largest integer that a double, and so every bound here, holds exactly.
constexpr double kHuge = 9e15;
constexpr double kHourMs = 3'600'000;

#define AT SWARM_CONFIG_AT
using ExperimentBuilder = Builder<Experiment>;
const std::vector<std::string> kLevels = {"trace", "debug", "info", "warn", "error"};

// rows: a key each
void add_run(ExperimentBuilder& b) {
  b.section("run", false);
  b.add("name", AT(run.name), {}, "1 to 64 of [A-Za-z0-9_.-]. Runs go to FOLDER/NAME/TIME/.");
  b.add("folder", AT(run.folder), {},
        "Where run folders are made; relative to the current directory.");
  b.add(
      "id", AT(run.id), {},
      "Equal on all nodes of a swarm; nodes of another run are refused. Empty: made from the name "
      "and the fingerprint of what nodes must share; `swarm run` adds the time.");
  b.add("stall_limit_s", AT(run.stall_limit_s), in(1, 1e6),
        "`swarm run` gives up after this many seconds without a finished step or microbatch; after "
        "ten times as many if bytes of the work still move or nodes still begin.");
  b.add("restarts", AT(run.restarts), in(0, 1000000),
        "So often in a row `swarm run` starts a node again whose process has ended unasked, after "
        "1 s, "
        "then 2, 4, ... 30. A process that has lived for 10 minutes counts as a good one.");
  b.add("tensorboard", AT(run.tensorboard), {},
        "`swarm run` writes event files for TensorBoard to RUN/tensorboard/.");
  b.section("run", true);
  b.add("seed", AT(run.seed), in(0, kHuge),
        "Seed of the initial weights, of the order of the data and of its windows.");
}

// rows: a key each
void add_model(ExperimentBuilder& b) {
  b.section("model", true);
  b.add("kind", AT(base.model.kind), one_of(tensor::model_names()),
        "The architecture. gpt: a decoder with pre-norm blocks and learned positions.")
      .later = true;
  b.add("layers", AT(base.model.layers), in(1, 4096), "Transformer blocks of the whole model.");
  b.add("repeats", AT(base.model.repeats), in(1, 4096),
        "Times that each block is applied in a row, always with the same parameters (layer "
        "sharing).")
      .later = true;
  b.add("width", AT(base.model.width), in(1, 1 << 16), "Hidden size; divisible by heads.");
  b.add("heads", AT(base.model.heads), in(1, 4096), "Attention heads.");
  b.add("ffn", AT(base.model.ffn), in(1, 1 << 20), "Hidden size of the feed-forward part.");
  b.add("sequence", AT(base.model.sequence), in(1, 1 << 17), "Tokens per sample.");
  b.add("vocabulary", AT(base.model.vocabulary), in(256, 1 << 20),
        "Number of different tokens; 256 for the byte tokenizer.");
  b.add("layers_per_stage", AT(base.model.layers_per_stage), in(1, 4096),
        "Blocks of each stage, first stage first. Empty: as even as possible, earlier stages get "
        "the remainder.");
  b.add(
       "boundary", AT(base.model.boundary), one_of({"none", "bottleneck", "maxout"}),
       "What a stage makes of its activations before it sends them: layer norm, then width becomes "
       "width / boundary_factor by a linear layer (bottleneck) or as the largest of each "
       "boundary_factor neighbours (maxout), layer norm; the next stage begins with a linear layer "
       "back to width. Another cut into stages is then another model.")
      .later = true;
  b.add("boundary_factor", AT(base.model.boundary_factor), in(2, 4),
        "By how much a boundary is narrower than the model: 2 or 4.")
      .later = true;
  b.section("pipeline", true);
  b.add("stages", AT(base.num_stages), in(1, 64), "Number of parts that the model is cut into.");
  b.add("backward", AT(base.backward), one_of({"keep", "recompute"}),
        "keep: the autograd graph stays in memory until the gradient is back (fast). recompute: "
        "only the inputs of the stage's blocks do, and the forward pass is done again, block by "
        "block (little memory).");
  b.add("compute", AT(base.compute), one_of({"fp32", "bf16"}),
        "Number format of forward and backward; parameters stay fp32.");
}

// rows: a key each
void add_training(ExperimentBuilder& b) {
  b.section("data", false);
  b.add("train", AT(base.data.train), {},
        "Text files or folders (read recursively, in sorted order), concatenated. Relative to the "
        "current directory. Must be set. Trainers read it; where it lies may differ, what it says "
        "may not.")
      .was_shared = true;
  b.add("validation", AT(base.data.validation), {},
        "Text files or folders for validation, as in train. Empty: the last part of every training "
        "file, see holdout.")
      .was_shared = true;
  b.section("data", true);
  b.add("holdout", AT(base.data.holdout), in(1e-6, 0.5),
        "Fraction of the training text held out when validation is empty.");
  b.section("training", true);
  b.add("mode", AT(base.training.mode), one_of({"sync", "async"}),
        "sync: every step's gradient is the exact mean over its samples. async: every peer updates "
        "its own parameters with what comes to it, replicas average their weights now and then; a "
        "step is then a period of batch samples.");
  b.add("steps", AT(base.training.steps), in(1, 4e9), "Optimizer steps of the run.");
  b.add("batch", AT(base.training.batch), in(1, 1 << 24),
        "Samples per step; a multiple of microbatch.");
  b.add("microbatch", AT(base.training.microbatch), in(1, 65536),
        "Samples that travel through the pipeline together.");
  b.add("validate_every", AT(base.training.validate_every), in(0, 4e9),
        "Steps between validations; 0: only at the end.");
  b.add("validation_samples", AT(base.training.validation_samples), in(1, 1 << 24),
        "Samples of one validation; a multiple of microbatch.");
  b.add("delayed_updates", AT(base.training.delayed_updates), {},
        "Compute a step on the parameters of the update before last while the last one is averaged "
        "(delayed parameter updates).");
  b.add("local_update_every", AT(base.training.local_update_every), in(1, 1 << 20),
        "async: microbatches that a peer computes between two updates of its parameters.")
      .later = true;
  b.add("sync_every", AT(base.training.sync_every), in(0, 1 << 30),
        "async: samples that a stage computes between two averagings of its weights, a multiple of "
        "batch; 0: as many as batch.")
      .later = true;
  b.add("average", AT(base.training.average), one_of({"weights", "weights_and_moments"}),
        "async: what replicas average: weights, or the optimizer's moments too; else each peer "
        "keeps its own moments.")
      .later = true;
  b.add("background_averaging", AT(base.training.background_averaging), {},
        "async: true: a stage trains on during an averaging and adds the difference when it is "
        "done. false: it stops until then.")
      .later = true;
  b.add("min_peers_per_stage", AT(base.training.min_peers_per_stage), in(1, 10000),
        "Peers that every stage needs before training starts.");
  b.add("min_peers", AT(base.training.min_peers), in(0, 1000000),
        "Peers of all stages together that a run without any history needs to begin; 0: more than "
        "half of those that the file lists, so that no two parts of a divided network can both "
        "begin.")
      .later = true;
  b.section("training", false);
  b.add("partition", AT(base.training.partition), one_of({"wait", "continue"}),
        "What half of a divided swarm or less does. wait: it waits for the rest, or for `go-on` at "
        "the console. continue: after continue_after_s it goes on without the rest, whose work "
        "since then may be given up. No part of the fingerprint, as nothing that was computed "
        "depends on it: a trainer's node that is started again may have another.");
  b.add("continue_after_s", AT(base.training.continue_after), in_seconds(0.001, 1e7),
        "How long a smaller part of a divided swarm waits for the rest before it goes on, with "
        "partition = "
        "\"continue\". No part of the fingerprint.");
  b.add("rests", AT(base.training.rests), {},
        "A node whose device hangs, whose link flaps or that fails rounds again and again takes no "
        "part "
        "for 1, 5, then 30 minutes, unless its stage has nobody else. No part of the fingerprint.");
  b.section("optimizer", true);
  b.add("kind", AT(base.optimizer.kind), one_of(tensor::optimizer_names()),
        "nag: Nesterov's look-ahead on Adam's preconditioner, made for the stale gradients of "
        "asynchronous training; give it beta1 = 0.99 and beta2 = 0.999. lamb: each matrix moves by "
        "a part of its own norm, made for large batches; give it beta2 = 0.999 and epsilon = 1e-6.")
      .later = true;
  b.add("learning_rate", AT(base.optimizer.learning_rate), in(1e-12, 1e3),
        "Learning rate after the warm-up.");
  b.add("min_learning_rate", AT(base.optimizer.min_learning_rate), in(0, 1e3),
        "Learning rate at the end of the cosine or linear schedule.");
  b.add("warmup_steps", AT(base.optimizer.warmup_steps), in(0, 1e12),
        "Steps over which the learning rate rises linearly.");
  b.add(
      "total_steps", AT(base.optimizer.total_steps), in(0, 1e12),
      "Step at which the cosine or linear schedule ends; 0: training.steps. Unused with a constant "
      "schedule.");
  b.add("schedule", AT(base.optimizer.schedule), one_of({"constant", "cosine", "linear"}),
        "Course of the learning rate after the warm-up.");
  b.add("beta1", AT(base.optimizer.beta1), in(0, 0.999999), "Decay of the first moment.");
  b.add("beta2", AT(base.optimizer.beta2), in(0, 0.99999999), "Decay of the second moment.");
  b.add("momentum_decay", AT(base.optimizer.momentum_decay), in(0, 1000),
        "nag: how soon its momentum rises; after t updates it is beta1 * (1 - 0.5 * 0.96^(t * "
        "momentum_decay)).")
      .later = true;
  b.add("epsilon", AT(base.optimizer.epsilon), in(1e-30, 1),
        "Added to the denominator of an update, which can be almost zero.");
  b.add("weight_decay", AT(base.optimizer.weight_decay), in(0, 100),
        "Weight decay, apart from the gradient; on matrices only.");
  b.add("clip_norm", AT(base.optimizer.clip_norm), in(0, 1e12),
        "Largest norm of the whole model's gradient; 0: off.");
  b.section("wire", true);
  b.add("activations", AT(base.activation_codec), one_of(tensor::codec_names()),
        "How activations travel between stages.");
  b.add("gradients", AT(base.gradient_codec), one_of(tensor::codec_names()),
        "How gradients of activations travel.");
  b.add("averaging", AT(base.averager.codec), one_of(tensor::codec_names()),
        "How parameter gradients (async: weights, moments) travel between the peers of a stage.");
}

// rows: a key each
void add_node(ExperimentBuilder& b) {
  b.section("node", false);
  b.add("threads", AT(base.threads), in(1, 1024), "LibTorch compute threads of a process.");
  b.add("device", AT(base.device), {},
        "Where stages compute: cpu, cuda (the first GPU) or cuda:N. Parameters, optimizer and "
        "averaging stay in the machine's memory.");
  b.add("listen", AT(base.links.listen), {},
        "HOST:PORT that a node listens on; port 0 picks a free one.");
  b.add("announce", AT(base.links.announce), {},
        "HOST:PORT that a node tells others; empty: the address that it listens on.");
  b.add("allow_plaintext", AT(base.links.allow_plaintext), {},
        "Links are not encrypted yet, so anything but loopback is refused unless this is true.");
  b.add(
      "key", AT(base.key_file), {},
      "File with the run's key, mode 600, the same on every machine (`swarm key FILE` makes one); "
      "empty: operator.key in the run's folder, made by a node that joins nobody.");
  b.add("open", AT(base.links.open), {},
        "Lets nodes and tools without the run's key in although the node listens beyond loopback.");
  b.add("log_level", AT(base.log_level), one_of(kLevels),
        "Least severe messages that go to the nodes' log files.");
  b.add("records_mb", AT(base.records_mb), in(1, 1 << 20),
        "Each of a node's events.jsonl, metrics.jsonl and log.txt takes at most so many MiB on the "
        "disk, older pieces (compressed) included; the oldest go. So do those of `swarm run`, "
        "what it writes for TensorBoard, and a node's output.txt.");
  b.add("audit_mb", AT(base.audit_mb), in(0, 1 << 20),
        "A node's audit.jsonl, and that of `swarm run`, takes at most so many MiB on the disk: its "
        "oldest lines are checked and folded into one. 0: all lines are kept.");
  b.add("linger_s", AT(base.linger_s), in(0, 1e9),
        "A node that `swarm node` started ends so many seconds after training is finished; until "
        "then others can fetch from it.");
  b.add(
      "grace_s", AT(base.grace_s), in(1, 3600),
      "A node that is told to leave (SIGTERM) takes no longer than so many seconds to finish what "
      "it has a part in, to write its snapshot and to send what others wait for; it leaves as soon "
      "as that is done. The snapshot is left 10 s of it and eight times what its bytes need on "
      "this disk, at most half.");
  b.add(
      "preemption_command", AT(base.preemption_command), {},
      "Line for /bin/sh that asks whether this machine is about to go: exit code 0 means yes, and "
      "the node leaves as by SIGTERM; any other, or more than 5 s, means no. Empty: nothing asks.");
  b.add("preemption_file", AT(base.preemption_file), {},
        "File that means the same as soon as it is there. It is not removed. Empty: none.");
  b.add("preemption_poll_s", AT(base.preemption_poll_s), in(0.1, 3600),
        "Seconds from one look at preemption_command and preemption_file to the next.");
  b.add("join", AT(base.join), {},
        "Nodes of a running swarm, each \"HOST:PORT\", that a new node asks to be let in; empty "
        "for the first.");
}

// rows: a key each
void add_network(ExperimentBuilder& b) {
  b.section("links", false);
  b.add("dial_timeout_ms", AT(base.links.dial_timeout), in(1, kHourMs),
        "Deadline of one connection attempt, hello included.");
  b.add("min_backoff_ms", AT(base.links.min_backoff), in(1, kHourMs),
        "First pause after a failed attempt; doubles up to max_backoff_ms.");
  b.add("max_backoff_ms", AT(base.links.max_backoff), in(1, kHourMs),
        "Longest pause after a failed attempt.");
  b.add("heartbeat_every_ms", AT(base.links.heartbeat_every), in(1, kHourMs),
        "A node that has sent nothing on a link for this long sends a heartbeat; less than half of "
        "silence_limit_ms.");
  b.add("silence_limit_ms", AT(base.links.silence_limit), in(250, kHourMs),
        "A link silent for longer is cut. Shorter: frozen peers are noticed sooner, more false "
        "alarms.");
  b.add("max_chunk_bytes", AT(base.links.max_chunk_bytes), in(1024, 1 << 26),
        "Size of the pieces that tensors are sent in; a control message waits for one piece at "
        "most.");
  b.add("max_head_bytes", AT(base.links.max_head_bytes), in(1024, 1 << 30),
        "Larger frame heads are refused.");
  b.add("max_body_bytes", AT(base.links.max_body_bytes), in(1024, 1e12),
        "Larger frame bodies are refused.");
  b.add("receive_budget_bytes", AT(base.links.receive_budget_bytes), in(1 << 20, 1e12),
        "Memory of a node for tensors that arrive; when it is full the node stops reading.");
  b.add("send_budget_bytes", AT(base.links.send_budget_bytes), in(1 << 20, 1e12),
        "Bytes that may wait to be sent on one link; beyond this tensors are refused.");
  b.add("idle_close_s", AT(base.links.idle_close_s), in(1, 1e6),
        "A link without mail for so long that neither node has a use for is closed; new mail dials "
        "anew.");
  b.add("join_share", AT(base.links.join_share), in(0, 0.95),
        "Of what a node sends while the state of a newcomer waits besides other things, the part "
        "that "
        "is state.");
  b.add("max_links", AT(base.links.max_links), in(8, 100000),
        "Links that a node keeps. Beyond it those that nobody has a use for are closed after a "
        "second; 4 times as many connections are the most.");
  b.add("max_pending_hellos", AT(base.links.max_pending_hellos), in(1, 100000),
        "Largest number of connections that have not introduced themselves yet.");
  b.section("dht", false);
  b.add("k", AT(base.dht.k), in(1, 256), "Contacts in a bucket, and replicas of a record.");
  b.add("alpha", AT(base.dht.alpha), in(1, 64),
        "Questions that one lookup has under way at a time.");
  b.add("request_timeout_ms", AT(base.dht.request_timeout), in(1, kHourMs),
        "Longest wait for the answer to one question.");
  b.add("refresh_every_ms", AT(base.dht.refresh_every), in(1, 24 * kHourMs),
        "How often a node refreshes its routing buckets and announces where it is.");
  b.add("announce_every_ms", AT(base.dht.announce_every), in(1, kHourMs),
        "How often peers and coordinators announce themselves. Shorter: newcomers are used sooner, "
        "more traffic.");
  b.add("announce_ttl_ms", AT(base.dht.announce_ttl), in(1, kHourMs),
        "A silent peer's record vanishes after this; more than announce_every_ms.");
}

// rows: a key each
void add_roles(ExperimentBuilder& b) {
  b.section("stage_server", false);
  b.add("max_resident", AT(base.stage_server.max_resident), in(1, 100000),
        "Microbatches a peer holds at once, however small; more are refused as overload.");
  b.add("resident_bytes", AT(base.stage_server.resident_bytes), in(1 << 20, 1e15),
        "Memory that a peer's microbatches may take together: activations that came and that are "
        "sent on, as they "
        "travel, and with backward keep what the stage keeps of each (estimated).");
  b.add("retry_every_ms", AT(base.stage_server.retry_every), in(1, kHourMs),
        "How often an overloaded or missing successor is tried again.");
  b.add("max_samples", AT(base.stage_server.max_samples), in(1, 1 << 24),
        "Largest microbatch accepted.");
  b.add("disk_limit_ms", AT(base.stage_server.disk_limit), in(1, 24 * kHourMs),
        "A disk that says nothing about a snapshot for so long hangs: the snapshot has failed.");
  b.add("device_limit_ms", AT(base.stage_server.device_limit), in(1, 24 * kHourMs),
        "A device that is busy with one job for so long hangs: the peer ends and starts again.");
  b.add("transfer_limit_ms", AT(base.stage_server.transfer_limit), in(1, 24 * kHourMs),
        "An averaging round or a download of state that takes longer has failed.");
  b.add("check_gradient_sum", AT(base.stage_server.check_gradient_sum), {},
        "Do not use a gradient sum that has changed by itself (a broken memory). Each microbatch "
        "reads the sum twice, as fast as memory allows; asynchronous: if local_update_every > 1.");
  b.section("averager", false);
  // Members make the plan of a round each by itself: these must be equal, so they count as well.
  auto& topology =
      b.add("topology", AT(base.averager.topology),
            one_of({std::begin(actors::kTopologyNames), std::end(actors::kTopologyNames)}),
            "Who sends what to whom: in a butterfly all members to all, in two_level in groups and "
            "then across them; auto: in two levels beyond 16 members. Equal on all nodes.");
  topology.shared = topology.later = true;
  topology.earlier = "\"butterfly\"";
  auto& chunk = b.add("chunk_elements", AT(base.averager.chunk_elements), in(256, 1 << 28),
                      "Values per message of an all-reduce. Equal on all nodes.");
  chunk.shared = chunk.later = true;
  auto& part = b.add("min_part_elements", AT(base.averager.min_part_elements), in(1, 1 << 28),
                     "Numbers that a member reduces at least: of many members with a short vector "
                     "only some do, in each round others. Equal on all nodes.");
  part.shared = part.later = true;
  b.add("chunks_in_flight", AT(base.averager.chunks_in_flight), in(1, 4096),
        "Chunks of an average under way to each member of a round.");
  b.add("error_feedback", AT(base.averager.error_feedback), {},
        "What a codec of wire.averaging takes from a peer's numbers is added to those of the next "
        "round. Costs two vectors of memory. Never where moments are averaged.");
  b.add("min_deadline_ms", AT(base.averager.min_deadline), in(1, kHourMs),
        "A round is given at least this long; a quarter of it once three rounds are known.");
  b.section("state_transfer", false);
  b.add("ttl_ms", AT(base.state_transfer.ttl), in(1, kHourMs),
        "A frozen state that nobody downloads is dropped after this.");
  b.add("chunk_bytes", AT(base.state_transfer.chunk_bytes), in(1024, 1 << 28),
        "Bytes that one request of a download asks for; at most 4 MiB are used.");
  b.add("chunks_in_flight", AT(base.state_transfer.chunks_in_flight), in(1, 4096),
        "Requests under way to each source of a download.");
  b.add("state_bytes_per_s", AT(base.state_transfer.state_bytes_per_s), in(0, 1e12),
        "Rate of a state that is learned or fetched while the others train, without the updates "
        "that they make; 0: no limit. Lower: others notice less, and the peer serves later.");
  b.add("keep_bytes_per_s", AT(base.state_transfer.keep_bytes_per_s), in(0, 1e12),
        "Rate at which a state that is learned is written to the peer's own disk, so that the "
        "download goes on after a "
        "restart of its process; at most twice what comes over its links. 0: it begins anew.");
  b.section("checkpoint", false);
  b.add("every_steps", AT(base.checkpoint.every_steps), in(0, 4e9),
        "Steps between snapshots; 0: only at the end and on demand.");
  b.add("keep", AT(base.checkpoint.keep), in(1, 100000),
        "Newest snapshots kept per stage; the newest that every stage has is kept besides.");
  b.add("store", AT(base.checkpoint.store), one_of(storage::store_names()),
        "What keeps the snapshots in a node's folder.");
  b.add("mirror", AT(base.checkpoint.mirror), {},
        "A folder, such as a mounted bucket, to which each stage's snapshots are copied, for "
        "machines "
        "that are lost with their disks; it must exist. Empty: none.");
  b.add("copies", AT(base.checkpoint.copies), in(0, 8),
        "Nodes of other stages that have a copy of a stage's newest snapshot, for the day when all "
        "its "
        "own are lost with their disks; as far as there are nodes.");
  b.section("trainer", false);
  b.add(
      "max_in_flight", AT(base.trainer_options.max_in_flight), in(1, 100000),
      "Microbatches that a trainer has under way at a time. auto: as many as keep the stages busy "
      "and their queues short.");
  b.add("poll_every_ms", AT(base.trainer_options.poll_every), in(1, kHourMs),
        "Pause after a failed lease or microbatch, and while no peer of the first stage is known.");
  b.section("coordinator", false);
  b.add("tick_ms", AT(base.coordinator.tick), in(1, kHourMs),
        "How often the coordinator looks at the open step.");
  b.add("lease_limit_ms", AT(base.coordinator.lease_limit), in(1, 24 * kHourMs),
        "A microbatch whose trainer has not said for so long that it still carries it is given to "
        "another one.");
  b.add("start_grace_ms", AT(base.coordinator.start_grace), in(0, kHourMs),
        "At a start or resume, the swarm decides which step to go on from when no peer has come "
        "for this long.");
  b.add("takeover_grace_ms", AT(base.coordinator.takeover_grace), in(0, kHourMs),
        "As start_grace_ms, after another coordinator took over: peers then have state in memory.");
  b.section("placement", false);
  b.add(
      "moves", AT(base.coordinator.placement.moves), {},
      "Peers are moved to stages that have more work for each of theirs. false: only newcomers are "
      "placed, and `move` at the console is obeyed.");
  b.add("period_s", AT(base.coordinator.placement.period), in(0.1, 86'400),
        "How often stages are compared.");
  b.add("floor", AT(base.coordinator.placement.floor), in(1, 1000),
        "A stage with no more peers than that gives none, and one with fewer gets one at once. "
        "Less in "
        "swarms with fewer peers; the last one of a stage never moves.");
  b.add("hysteresis", AT(base.coordinator.placement.hysteresis), in(0, 10),
        "After a move the giver's load has to be below what the taker's was by this share times "
        "sqrt(1/n + 1/m), with n and m peers.");
  b.add("pays_within_s", AT(base.coordinator.placement.pays_within), in(1, 1e7),
        "Time within which a move has to pay: how long a peer is likely to live.");
  b.add("warm_up_s", AT(base.coordinator.placement.warm_up), in(0, 86'400),
        "What a move costs besides the download of the stage's state.");
  b.add("gone_after_s", AT(base.coordinator.placement.gone_after), in(0, 1e7),
        "A stage of whose peers none has been here for this long is taken over by peers of others, "
        "from the newest copies, if more than half of the swarm are here. What comes back sooner "
        "serves as before. 0: nobody takes it over; the swarm waits.");
}

// rows: a key each
void add_estimates(ExperimentBuilder& b) {
  b.section("estimates", false);
  b.add("smoothing", AT(estimates.smoothing), in(0.001, 1),
        "Weight of a new observation in a running mean.");
  b.add("initial_seconds_per_sample", AT(estimates.initial_seconds_per_sample), in(1e-9, 1e6),
        "Speed assumed of a peer while none has been measured.");
  b.add("deadline_spread", AT(estimates.deadline_spread), in(0, 1000),
        "The deadline of a request is its mean duration plus this many mean deviations.");
  b.add("deadline_factor", AT(estimates.deadline_factor), in(1, 1000),
        "The deadline of a request is at least this many times its mean duration.");
  b.add("min_deadline_s", AT(estimates.min_deadline_s), in(0.001, 1e6),
        "No deadline is shorter than this many seconds.");
  b.add("max_deadline_s", AT(estimates.max_deadline_s), in(0.001, 1e6),
        "No deadline is longer than this many seconds, unless bytes that are under way need more: "
        "how long silence is borne.");
  b.add("first_deadline_s", AT(estimates.first_deadline_s), in(0.001, 1e6),
        "Deadline in seconds while nothing has been measured.");
  b.section("wiring", false);
  b.add(
      "cost", AT(wiring.cost), one_of(routing::wiring_cost_names()),
      "What a peer's share of the work follows: how long a microbatch occupies its computer or its "
      "links, the sender's whole wait for the reply (the paper's), or its compute alone; random "
      "and "
      "fixed (always the same way for a microbatch's number) are to compare with.");
  b.section("faults", false);
  b.add("drop_gradient", AT(base.faults.drop_gradient), {},
        "\"STEP:SLOT\": this microbatch's gradient is not added, to show that `swarm verify` sees "
        "it. Never in real runs.");
  b.add("non_finite", AT(base.faults.non_finite), {},
        "\"STEP:SLOT:STAGE\": every peer of that stage finds this microbatch not finite, to show "
        "that it is skipped. Never in real runs.");
  b.add(
      "flip_bit", AT(base.faults.flip_bit), {},
      "\"NODE:PART:STEP\": a bit of that node's parameters, moments or gradient_sum turns in that "
      "step, or its contribution is no number, to show that it is repaired. Never in real runs.");
}

// rows: a key each
void add_chaos(ExperimentBuilder& b) {
  b.section("chaos", false);
  b.add("seed", AT(chaos.seed), in(0, kHuge),
        "Seed of the schedule: the same seed, the same faults.");
  b.add("kill_every_s", AT(chaos.kill_every_s), in(0, 1e6),
        "One node is killed (SIGKILL) at a random moment of each such window, 0.05 or longer; 0: "
        "none.");
  b.add("restart_after_s", AT(chaos.restart_after_s), in(0, 1e6),
        "Time from the kill or SIGTERM to the node's next start.");
  b.add("pause_every_s", AT(chaos.pause_every_s), in(0, 1e6),
        "One node is stopped (SIGSTOP) at a random moment of each such window, 0.05 or longer; 0: "
        "none.");
  b.add("pause_for_s", AT(chaos.pause_for_s), in(0, 1e6), "Time from SIGSTOP to SIGCONT.");
  b.add("every_s", AT(chaos.every_s), in(0, 1e6),
        "One fault, its kind and node drawn, at a random moment of the first half of each such "
        "window, 0.05 or longer; 0: none.");
  b.add("kinds", AT(chaos.kinds), one_of({"kill", "stop", "pause", "cut", "full_disk"}),
        "Of every_s, each as often as the others: SIGKILL, SIGTERM, SIGSTOP; nothing passes "
        "between the node and all others; none of its writes but its records succeeds (nodes with "
        "a stage only).");
  b.add("cut_for_s", AT(chaos.cut_for_s), in(0, 1e6), "Time from a cut to its healing.");
  b.add("full_disk_for_s", AT(chaos.full_disk_for_s), in(0, 1e6), "How long a disk stays full.");
  b.add("start_after_s", AT(chaos.start_after_s), in(0, 1e9),
        "Time from the first finished step to the first window.");
  b.add("end_after_s", AT(chaos.end_after_s), in(0, 1e6),
        "Time from the first finished step after which nothing new is done; what is down then "
        "comes back.");
  b.add("settle_s", AT(chaos.settle_s), in(0, 1e6),
        "A node that comes back counts as missing for this long, for spare_last.");
  b.add("targets", AT(chaos.targets), one_of({"peer", "trainer", "coordinator", "seed"}),
        "Who may be hit. coordinator: whichever trainer it is then. seed: nodes without a role.");
  b.add(
      "spare_last", AT(chaos.spare_last), {},
      "Whether the last peer of a stage and the last trainer are spared, and cuts that would leave "
      "others without a majority.");
}

}  // namespace

const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"run", "The run as a whole."},
      {"model", "The model: a language model made of blocks, which can be cut between any two."},
      {"pipeline", "How the model is cut and computed."},
      {"data", "Text to learn from and to validate on."},
      {"training", "What a step is and how many there are."},
      {"optimizer", "How gradients change parameters; weight decay is decoupled, warm-up linear."},
      {"wire", "How tensors travel."},
      {"node", "Every node's process; [[nodes]] can overrule some keys."},
      {"links", "Connections between nodes."},
      {"dht", "The distributed table in which nodes find one another."},
      {"stage_server", "Peers that compute."},
      {"averager", "All-reduce between the peers of a stage."},
      {"state_transfer", "Downloads of a stage's state from its other peers."},
      {"checkpoint", "Snapshots on disk."},
      {"trainer", "Nodes that feed data."},
      {"coordinator", "The one actor that opens and closes steps."},
      {"placement", "Which stage a peer serves."},
      {"estimates", "How trainers and peers judge other peers' speed and set deadlines."},
      {"wiring", "Who gets the next microbatch."},
      {"faults", "Deliberate defects."},
      {"chaos", "Random faults by `swarm run`, on a seeded schedule."},
  };
  return all;
}

const std::vector<Key<Experiment>>& experiment_keys() {
  static const std::vector<Key<Experiment>> keys = [] {
    ExperimentBuilder b;
    add_run(b);
    add_model(b);
    add_training(b);
    add_node(b);
    add_network(b);
    add_roles(b);
    add_estimates(b);
    add_chaos(b);
    return b.take();
  }();
  return keys;
}

}  // namespace swarm::config

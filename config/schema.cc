#include "config/schema.h"

#include <algorithm>
#include <utility>

#include "config/field.h"

namespace swarm::config {
namespace {

/// The largest integer that a double, and so every bound here, holds exactly.
constexpr double kHuge = 9e15;
constexpr double kHourMs = 3'600'000;

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

#define AT(member) \
  [](auto& x) -> auto& { return x.member; }

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
        "`swarm run` gives up after this many seconds without a finished step.");
  b.add("tensorboard", AT(run.tensorboard), {},
        "`swarm run` writes event files for TensorBoard to RUN/tensorboard/.");
  b.section("run", true);
  b.add("seed", AT(run.seed), in(0, kHuge),
        "Of the initial weights, the order of the data and the windows.");
}

// rows: a key each
void add_model(ExperimentBuilder& b) {
  b.section("model", true);
  b.add("kind", AT(base.model.kind), one_of(tensor::model_names()),
        "The architecture. gpt: a decoder with pre-norm blocks and learned positions.")
      .later = true;
  b.add("layers", AT(base.model.layers), in(1, 4096), "Transformer blocks of the whole model.");
  b.add("width", AT(base.model.width), in(1, 1 << 16), "Hidden size; divisible by heads.");
  b.add("heads", AT(base.model.heads), in(1, 4096), "Attention heads.");
  b.add("ffn", AT(base.model.ffn), in(1, 1 << 20), "Hidden size of the feed-forward part.");
  b.add("sequence", AT(base.model.sequence), in(1, 1 << 17), "Tokens per sample.");
  b.add("vocabulary", AT(base.model.vocabulary), in(256, 1 << 20),
        "Tokens known; 256 for the byte tokenizer.");
  b.add("layers_per_stage", AT(base.model.layers_per_stage), in(1, 4096),
        "Blocks of each stage, first stage first. Empty: as even as possible, earlier stages get "
        "the remainder.");
  b.section("pipeline", true);
  b.add("stages", AT(base.num_stages), in(1, 64), "Parts the model is cut into.");
  b.add("backward", AT(base.backward), one_of({"keep", "recompute"}),
        "keep: the autograd graph is kept until the gradient is back (fast). recompute: only the "
        "stage's input is (little memory).");
  b.add("compute", AT(base.compute), one_of({"fp32", "bf16"}),
        "Number format of forward and backward; parameters stay fp32.");
}

// rows: a key each
void add_training(ExperimentBuilder& b) {
  b.section("data", true);
  b.add("train", AT(base.data.train), {},
        "Text files or folders (read recursively, in sorted order), concatenated. Relative to the "
        "current directory. Must be set.");
  b.add("validation", AT(base.data.validation), {},
        "As train. Empty: the last part of every training file, see holdout.");
  b.add("holdout", AT(base.data.holdout), in(1e-6, 0.5),
        "Fraction of the training text held out when validation is empty.");
  b.section("training", true);
  b.add("mode", AT(base.training.mode), one_of({"sync", "async"}),
        "sync: every step's gradient is the exact mean over its samples. async: every peer updates "
        "its "
        "own parameters with what comes to it, replicas average their weights now and then; a step "
        "is "
        "then a period of batch samples.");
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
        "async: microbatches of one update of a peer.")
      .later = true;
  b.add("sync_every", AT(base.training.sync_every), in(0, 1 << 30),
        "async: samples of a stage between two averagings of its weights, a multiple of batch; 0: "
        "batch.")
      .later = true;
  b.add("average", AT(base.training.average), one_of({"weights", "weights_and_moments"}),
        "async: what is averaged; the optimizer's moments too, or each peer keeps its own.")
      .later = true;
  b.add("background_averaging", AT(base.training.background_averaging), {},
        "async: train on during an averaging and add the difference when it is done; false: stop "
        "that stage until then.")
      .later = true;
  b.add("min_peers_per_stage", AT(base.training.min_peers_per_stage), in(1, 10000),
        "Peers that every stage needs before training starts.");
  b.add("min_peers", AT(base.training.min_peers), in(0, 1000000),
        "Peers of all stages together that a run without any history needs to begin; 0: more than "
        "half of those that the file lists, so that no two parts of a divided network can both "
        "begin.")
      .later = true;
  b.section("optimizer", true);
  b.add("kind", AT(base.optimizer.kind), one_of(tensor::optimizer_names()),
        "nag: Nesterov's look-ahead on Adam's preconditioner, made for the stale gradients of "
        "asynchronous training; give it beta1 = 0.99 and beta2 = 0.999.")
      .later = true;
  b.add("learning_rate", AT(base.optimizer.learning_rate), in(1e-12, 1e3), "After the warm-up.");
  b.add("min_learning_rate", AT(base.optimizer.min_learning_rate), in(0, 1e3),
        "At the end of the cosine.");
  b.add("warmup_steps", AT(base.optimizer.warmup_steps), in(0, 1e12),
        "Steps over which the learning rate rises linearly.");
  b.add("total_steps", AT(base.optimizer.total_steps), in(0, 1e12),
        "Length of the cosine in steps; 0: training.steps. Unused with a constant schedule.");
  b.add("schedule", AT(base.optimizer.schedule), one_of({"constant", "cosine"}),
        "Of the learning rate after the warm-up.");
  b.add("beta1", AT(base.optimizer.beta1), in(0, 0.999999), "Decay of the first moment.");
  b.add("beta2", AT(base.optimizer.beta2), in(0, 0.99999999), "Decay of the second moment.");
  b.add("momentum_decay", AT(base.optimizer.momentum_decay), in(0, 1000),
        "Of nag alone: after t updates its momentum is beta1 * (1 - 0.5 * 0.96^(t * "
        "momentum_decay)). Larger: it rises sooner.")
      .later = true;
  b.add("epsilon", AT(base.optimizer.epsilon), in(1e-30, 1), "Added to the denominator.");
  b.add("weight_decay", AT(base.optimizer.weight_decay), in(0, 100),
        "Decoupled, on matrices only.");
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
  b.add("listen", AT(base.links.listen), {}, "HOST:PORT; port 0 picks a free one.");
  b.add("announce", AT(base.links.announce), {},
        "HOST:PORT told to others; empty: the address listened on.");
  b.add("allow_plaintext", AT(base.links.allow_plaintext), {},
        "Links are not encrypted yet, so anything but loopback is refused unless this is true.");
  b.add("log_level", AT(base.log_level), one_of(kLevels), "Of the nodes' log files.");
  b.add("join", AT(base.join), {},
        "Any nodes of a running swarm, each \"HOST:PORT\"; empty for the first.");
}

// rows: a key each
void add_network(ExperimentBuilder& b) {
  b.section("links", false);
  b.add("dial_timeout_ms", AT(base.links.dial_timeout), in(1, kHourMs),
        "Deadline of one connection attempt, hello included.");
  b.add("min_backoff_ms", AT(base.links.min_backoff), in(1, kHourMs),
        "First pause after a failed attempt; doubles up to max_backoff_ms.");
  b.add("max_backoff_ms", AT(base.links.max_backoff), in(1, kHourMs), "Longest such pause.");
  b.add("heartbeat_every_ms", AT(base.links.heartbeat_every), in(1, kHourMs),
        "After this time without other frames; less than half of silence_limit_ms.");
  b.add("silence_limit_ms", AT(base.links.silence_limit), in(250, kHourMs),
        "A link silent for longer is cut. Shorter: frozen peers are noticed sooner, more false "
        "alarms.");
  b.add("max_chunk_bytes", AT(base.links.max_chunk_bytes), in(1024, 1 << 26),
        "A control message waits for one chunk of a tensor at most.");
  b.add("max_head_bytes", AT(base.links.max_head_bytes), in(1024, 1 << 30),
        "Larger frame heads are refused.");
  b.add("max_body_bytes", AT(base.links.max_body_bytes), in(1024, 1e12),
        "Larger frame bodies are refused.");
  b.add("receive_budget_bytes", AT(base.links.receive_budget_bytes), in(1 << 20, 1e12),
        "Bodies in memory per node before reading stops.");
  b.add("send_budget_bytes", AT(base.links.send_budget_bytes), in(1 << 20, 1e12),
        "Queued per link before tensors are refused.");
  b.add("max_links", AT(base.links.max_links), in(1, 100000), "Connections of one node.");
  b.add("max_pending_hellos", AT(base.links.max_pending_hellos), in(1, 100000),
        "Connections that have not introduced themselves yet.");
  b.section("dht", false);
  b.add("k", AT(base.dht.k), in(1, 256), "Contacts per bucket and replicas per record.");
  b.add("alpha", AT(base.dht.alpha), in(1, 64), "Questions in flight per lookup.");
  b.add("request_timeout_ms", AT(base.dht.request_timeout), in(1, kHourMs), "Of one question.");
  b.add("refresh_every_ms", AT(base.dht.refresh_every), in(1, 24 * kHourMs),
        "Of routing buckets and of the node's own place.");
  b.add("announce_every_ms", AT(base.dht.announce_every), in(1, kHourMs),
        "Of peers and coordinators. Shorter: newcomers are used sooner, more traffic.");
  b.add("announce_ttl_ms", AT(base.dht.announce_ttl), in(1, kHourMs),
        "A silent peer's record vanishes after this; more than announce_every_ms.");
}

// rows: a key each
void add_roles(ExperimentBuilder& b) {
  b.section("stage_server", false);
  b.add("max_resident", AT(base.stage_server.max_resident), in(1, 100000),
        "Microbatches a peer holds at once; more are refused as overload.");
  b.add("retry_every_ms", AT(base.stage_server.retry_every), in(1, kHourMs),
        "How often an overloaded or missing successor is tried again.");
  b.add("max_samples", AT(base.stage_server.max_samples), in(1, 1 << 24),
        "Largest microbatch accepted.");
  b.section("averager", false);
  b.add("chunk_elements", AT(base.averager.chunk_elements), in(256, 1 << 28),
        "Values per message of an all-reduce.");
  b.add("chunks_in_flight", AT(base.averager.chunks_in_flight), in(1, 4096), "Per member.");
  b.add("min_deadline_ms", AT(base.averager.min_deadline), in(1, kHourMs),
        "A round is given at least this long; a quarter of it once three rounds are known.");
  b.add("state_ttl_ms", AT(base.averager.state_ttl), in(1, kHourMs),
        "A frozen state that nobody downloads is dropped after this.");
  b.add("state_chunk_bytes", AT(base.averager.state_chunk_bytes), in(1024, 1 << 28),
        "Of a state download; at most 4 MiB are used.");
  b.add("state_chunks_in_flight", AT(base.averager.state_chunks_in_flight), in(1, 4096),
        "Per source.");
  b.section("checkpoint", false);
  b.add("every_steps", AT(base.checkpoint.every_steps), in(0, 4e9),
        "Steps between snapshots; 0: only at the end and on demand.");
  b.add("keep", AT(base.checkpoint.keep), in(1, 100000), "Newest snapshots kept per stage.");
  b.add("store", AT(base.checkpoint.store), one_of(storage::store_names()),
        "What keeps the snapshots in a node's folder.");
  b.section("trainer", false);
  b.add("max_in_flight", AT(base.trainer_options.max_in_flight), in(1, 100000),
        "Microbatches under way per trainer.");
  b.add("poll_every_ms", AT(base.trainer_options.poll_every), in(1, kHourMs),
        "Pause after a failed lease or microbatch, and while no peer of the first stage is known.");
  b.section("coordinator", false);
  b.add("tick_ms", AT(base.coordinator.tick), in(1, kHourMs), "Between looks at the open step.");
  b.add("lease_limit_ms", AT(base.coordinator.lease_limit), in(1, 24 * kHourMs),
        "A microbatch older than this is given to another trainer.");
  b.add(
      "start_grace_ms", AT(base.coordinator.start_grace), in(0, kHourMs),
      "At a start or resume: no newcomer for this long before the step to go on from is decided.");
  b.add("takeover_grace_ms", AT(base.coordinator.takeover_grace), in(0, kHourMs),
        "The same after a takeover, when peers have state in memory.");
}

// rows: a key each
void add_estimates(ExperimentBuilder& b) {
  b.section("estimates", false);
  b.add("smoothing", AT(estimates.smoothing), in(0.001, 1), "Weight of a new observation.");
  b.add("initial_seconds_per_sample", AT(estimates.initial_seconds_per_sample), in(1e-9, 1e6),
        "Assumed while no peer was measured.");
  b.add("deadline_spread", AT(estimates.deadline_spread), in(0, 1000),
        "Deadline: the mean plus this many mean deviations, ...");
  b.add("deadline_factor", AT(estimates.deadline_factor), in(1, 1000),
        "... but at least this many means, ...");
  b.add("min_deadline_s", AT(estimates.min_deadline_s), in(0.001, 1e6),
        "... never less than this many seconds ...");
  b.add("max_deadline_s", AT(estimates.max_deadline_s), in(0.001, 1e6), "... nor more than this.");
  b.add("first_deadline_s", AT(estimates.first_deadline_s), in(0.001, 1e6),
        "Deadline in seconds when nothing was measured yet.");
  b.section("faults", false);
  b.add("drop_gradient", AT(base.faults.drop_gradient), {},
        "\"STEP:SLOT\": this microbatch's gradient is not added, to show that `swarm verify` sees "
        "it. Never in real runs.");
  b.add("non_finite", AT(base.faults.non_finite), {},
        "\"STEP:SLOT:STAGE\": every peer of that stage finds this microbatch not finite, to show "
        "that it is skipped. Never in real runs.");
}

// rows: a key each
void add_chaos(ExperimentBuilder& b) {
  b.section("chaos", false);
  b.add("seed", AT(chaos.seed), in(0, kHuge), "Of the schedule: the same seed, the same faults.");
  b.add("kill_every_s", AT(chaos.kill_every_s), in(0, 1e6),
        "One node is killed (SIGKILL) at a random moment of each such window, 0.05 or longer; 0: "
        "none.");
  b.add("restart_after_s", AT(chaos.restart_after_s), in(0, 1e6),
        "From the kill to the node's next start.");
  b.add("pause_every_s", AT(chaos.pause_every_s), in(0, 1e6),
        "One node is stopped (SIGSTOP) at a random moment of each such window, 0.05 or longer; 0: "
        "none.");
  b.add("pause_for_s", AT(chaos.pause_for_s), in(0, 1e6), "From SIGSTOP to SIGCONT.");
  b.add("start_after_s", AT(chaos.start_after_s), in(0, 1e9),
        "From the first finished step to the first window.");
  b.add("end_after_s", AT(chaos.end_after_s), in(0, 1e6),
        "From the first finished step; what is down then comes back, nothing new is done.");
  b.add("settle_s", AT(chaos.settle_s), in(0, 1e6),
        "A node that comes back counts as missing for this long, for spare_last.");
  b.add("targets", AT(chaos.targets), one_of({"peer", "trainer", "coordinator", "seed"}),
        "What may be hit. coordinator: whichever trainer it is then. seed: nodes without a role.");
  b.add("spare_last", AT(chaos.spare_last), {},
        "Never hits the last peer of a stage or the last trainer.");
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
      {"averager", "All-reduce between the peers of a stage, and transfers of their state."},
      {"checkpoint", "Snapshots on disk."},
      {"trainer", "Nodes that feed data."},
      {"coordinator", "The one actor that opens and closes steps."},
      {"estimates", "How trainers and peers judge other peers' speed and set deadlines."},
      {"faults", "Deliberate defects."},
      {"chaos", "Random kills and pauses by `swarm run`, on a seeded schedule."},
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

const std::vector<Key<NodeSpec>>& node_keys() {
  static const std::vector<Key<NodeSpec>> keys = [] {
    Builder<NodeSpec> b;
    b.section("nodes", false);
    b.add("name", AT(name), {}, "Unique; 1 to 64 of [A-Za-z0-9_.-]. Must be set.");
    b.add("count", AT(count), in(1, 10000), "More than 1: nodes NAME-0, NAME-1, ...");
    b.add("stages", AT(stages), in(0, 63), "Stages it serves; none: it only helps the DHT.");
    b.add("trainer", AT(trainer), {}, "Feeds data; a coordinator or its stand-by.");
    b.add("threads", AT(threads), in(0, 1024), "0: as node.threads.");
    b.add("device", AT(device), {}, "\"\": as node.device.");
    b.add("log_level", AT(log_level), one_of({"", "trace", "debug", "info", "warn", "error"}),
          "\"\": as node.log_level.");
    b.add("listen", AT(listen), {}, "\"\": as node.listen.");
    b.add("announce", AT(announce), {}, "\"\": as node.announce.");
    b.add(
        "delay_s", AT(delay_s), in(0, 3600),
        "Artificial: every microbatch takes each of the node's peers this much longer, half of it "
        "in the forward and half in the backward pass.");
    b.add(
        "send_bytes_per_s", AT(send_bytes_per_s), in(0, 1e12),
        "Artificial: the node sends no more than this on all its links together, 4096 or more; 0: "
        "no limit.");
    b.add(
        "preempt", AT(preempt), {},
        "When the node is taken away and for how long, in seconds since the start of `swarm run`.");
    b.add("preempt_every_s", AT(preempt_every_s), in(0, 1e6),
          "One more preemption at a random moment of each such window, drawn from chaos.seed and "
          "the node's name, from chaos.start_after_s to chaos.end_after_s; 0: none.");
    b.add("preempt_for_s", AT(preempt_for_s), in(0.05, 1e6), "How long such a one lasts.");
    b.add("preempt_by", AT(preempt_by), one_of({"kill", "stop"}),
          "kill is SIGKILL. stop is SIGTERM: the node leaves in order.");
    return b.take();
  }();
  return keys;
}

const std::vector<Key<TimelineEvent>>& timeline_keys() {
  static const std::vector<Key<TimelineEvent>> keys = [] {
    Builder<TimelineEvent> b;
    b.section("timeline", false);
    b.add("at_step", AT(at_step), in(0, 4e9), "When this many steps are finished; or ...");
    b.add("at_second", AT(at_second), in(0, 1e9), "... this many seconds after the start.");
    b.add("action", AT(action), one_of({"kill", "start", "pause", "resume", "stop"}),
          "kill is SIGKILL, pause SIGSTOP, resume SIGCONT, stop SIGTERM. Must be set.");
    b.add("node", AT(node), {}, "A name of [[nodes]]. Must be set.");
    return b.take();
  }();
  return keys;
}

#undef AT

}  // namespace swarm::config

#include "apps/plan/plan_keys.h"

#include "config/schema_builder.h"

namespace swarm::plan {
namespace {

#define AT SWARM_CONFIG_AT
using config::in;
using config::one_of;

// rows: a key each
std::vector<config::Key<Draft>> make_draft_keys() {
  config::Builder<Draft> b;
  b.section("plan", false);
  b.add("experiment", AT(experiment), {},
        "An experiment file: its model, mode, batch, codecs and way back are the defaults.");
  b.add("tokens", AT(job.tokens), in(0, 1e18), "To be trained on; 0: nobody asks.");
  b.add("mode", AT(job.mode), one_of(mode_names()), "Who waits for averages.");
  b.add("batch", AT(job.batch), in(1, 1 << 24), "Samples of a step, or between two averagings.");
  b.add("backward", AT(job.backward), one_of({"keep", "recompute"}), "As pipeline.backward.");
  b.add("compute", AT(job.compute), one_of({"fp32", "bf16"}), "As pipeline.compute.");
  b.add("averaging", AT(job.averaging), one_of(tensor::codec_names()), "As wire.averaging.");
  b.add("overlap", AT(job.overlap), {},
        "false: one microbatch at a time, as in the paper's table.");
  b.section("search", false);
  b.add("best", AT(search.best), one_of({"tokens", "money"}),
        "What the best settings are best at: tokens per second, or money per token.");
  b.add("stages", AT(search.stages), in(1, 64),
        "Numbers of stages to try; empty: all that there can be.");
  b.add("microbatch", AT(search.microbatch), in(1, 65536),
        "Sizes of microbatches to try [samples].");
  b.add("in_flight", AT(search.in_flight), in(1, 1e6),
        "Microbatches under way per peer of a stage to try; empty: what trainers find out by "
        "themselves.");
  b.add("codecs", AT(search.codecs), one_of(tensor::codec_names()),
        "Codecs of activations and their gradients to try.");
  b.section("reference", false);
  b.add("name", AT(reference.name), {},
        "Name of the machine beside which the swarm is put, for people.");
  b.add("count", AT(reference.count), in(1, 1e6), "How many devices the reference has.");
  b.add("flops_per_s", AT(reference.flops_per_s), in(1e3, 1e20),
        "Operations per second that one device of the reference does in practice.");
  b.add("price_per_hour", AT(reference.price_per_hour), in(0, 1e9),
        "Price of one device of the reference.");
  return b.take();
}

// rows: a key each
std::vector<config::Key<Device>> make_device_keys() {
  config::Builder<Device> b;
  b.section("devices", false);
  b.add("name", AT(name), {}, "Name of this kind of device, unique.");
  b.add("count", AT(count), in(1, 10'000), "How many machines of this kind there are.");
  b.add("flops_per_s", AT(flops_per_s), in(1e3, 1e20),
        "Operations per second of one machine, as `swarm bench device` measures them.");
  b.add("microbatch_s", AT(microbatch_s), in(0, 1e4),
        "Seconds that each microbatch costs at a stage besides its operations.");
  b.add("memory_bytes", AT(memory_bytes), in(1e6, 1e15),
        "Memory that a peer may take on one machine.");
  b.add("up_bytes_per_s", AT(up_bytes_per_s), in(1, 1e15), "Rate of the machine's uplink.");
  b.add("down_bytes_per_s", AT(down_bytes_per_s), in(1, 1e15), "Rate of the machine's downlink.");
  b.add("rtt_s", AT(rtt_s), in(0, 100), "Round trip to another peer.");
  b.add("price_per_hour", AT(price_per_hour), in(0, 1e9), "Price of one machine.");
  b.add("price_per_gb_sent", AT(price_per_gb_sent), in(0, 1e9),
        "Price of 10^9 bytes that a machine sends.");
  b.add("preemptions_per_hour", AT(preemptions_per_hour), in(0, 1e4),
        "How often one machine is preempted in an hour.");
  b.add("restart_s", AT(restart_s), in(0, 1e9), "From a preemption until a process listens again.");
  return b.take();
}
#undef AT

}  // namespace

const std::vector<config::Key<Draft>>& draft_keys() {
  static const auto keys = make_draft_keys();
  return keys;
}

const std::vector<config::Key<Device>>& device_keys() {
  static const auto keys = make_device_keys();
  return keys;
}

std::vector<config::Key<config::Experiment>> model_keys() {
  std::vector<config::Key<config::Experiment>> keys;
  for (const auto& key : config::experiment_keys())
    if (key.section == "model" && key.name != "layers_per_stage") keys.push_back(key);
  return keys;
}

}  // namespace swarm::plan

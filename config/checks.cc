#include "config/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "config/memory_checks.h"
#include "config/nearest.h"
#include "config/schema.h"
#include "config/shape_changes.h"
#include "tensor/core/bit_fault_options.h"

namespace swarm::config {
namespace {

bool word_at(const std::string& text, size_t at, size_t size) {
  auto letter = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
  };
  return (at == 0 || !letter(at - 1)) && !letter(at + size);
}

constexpr uint64_t kHeadOfForward = 8192;  // of a ForwardRequest without its tokens, at most

class Checker {
 public:
  explicit Checker(Draft& draft) : draft_(draft), e_(draft.experiment) {}

  void run() {
    check_run();
    validate("model", e_.base.model.validate());
    validate("optimizer", e_.base.optimizer.validate());
    validate("data", e_.base.data.validate());
    validate("training", e_.base.training.validate());
    check_pipeline();
    check_microbatch();
    check_network();
    check_faults();
    check_chaos();
    check_nodes();
    check_coverage();
    check_paths();
    check_timeline();
  }

 private:
  bool usable(const char* section) const { return draft_.failed_sections.count(section) == 0; }

  void error(const std::string& path, const std::string& message) {
    draft_.errors.push_back({draft_.places.of(path), path, message, {}});
  }
  void error(const Places::Table& table, const std::string& path, const std::string& message,
             const std::string& suggestion = {}) {
    const auto found = table.keys.find(path);
    draft_.errors.push_back(
        {found == table.keys.end() ? table.self : found->second, path, message, suggestion});
  }

  /// The key that a validate() message names first, longest name first at the same place.
  std::string key_named_in(const std::string& section, const std::string& text) const {
    std::string best;
    size_t best_at = std::string::npos;
    for (const auto& key : experiment_keys()) {
      if (key.section != section) continue;
      for (size_t at = text.find(key.name); at != std::string::npos;
           at = text.find(key.name, at + 1)) {
        if (!word_at(text, at, key.name.size())) continue;
        if (at < best_at) {
          best = key.name;
          best_at = at;
        }
        break;
      }
    }
    return best.empty() ? section : section + "." + best;
  }

  void validate(const char* section, const std::vector<Error>& found) {
    if (!usable(section)) return;
    for (const auto& item : found) {
      const std::string path = key_named_in(section, item.detail);
      const bool repeated = item.detail.rfind(path + ": ", 0) == 0;
      error(path, repeated ? item.detail.substr(path.size() + 2) : item.detail);
    }
  }

  void check_run() {
    if (!is_name(e_.run.name))
      error("run.name", "expected 1 to 64 of [A-Za-z0-9_.-], found " + quote(e_.run.name));
    if (e_.run.folder.empty()) error("run.folder", "expected a folder, found \"\"");
    if (e_.run.id.size() > actors::kMaxRunIdBytes)
      error("run.id", fmt::format("expected at most {} characters", actors::kMaxRunIdBytes));
  }

  void check_pipeline() {
    if (!usable("model") || !usable("pipeline")) return;
    const auto& model = e_.base.model;
    const int32_t stages = e_.base.num_stages;
    if (stages > model.layers)
      error("pipeline.stages",
            fmt::format("expected at most model.layers = {} (a block for every stage), found {}",
                        model.layers, stages));
    const auto& split = model.layers_per_stage;
    if (!split.empty() && split.size() != static_cast<size_t>(stages))
      error("model.layers_per_stage",
            fmt::format("expected a number for each of the {} stages (pipeline.stages), found {}",
                        stages, split.size()));
    if (usable("training") && usable("stage_server") &&
        e_.base.stage_server.max_samples < e_.base.training.microbatch)
      error("stage_server.max_samples",
            fmt::format("expected at least training.microbatch = {}, found {}",
                        e_.base.training.microbatch, e_.base.stage_server.max_samples));
  }

  /// Every tensor of a microbatch fits into memory's and the wire's limits.
  void check_microbatch() {
    if (!usable("model") || !usable("pipeline") || !usable("training") || !usable("links")) return;
    const auto& model = e_.base.model;
    const uint64_t samples = e_.base.training.microbatch;
    const auto sequence = static_cast<uint64_t>(model.sequence);
    const auto width = static_cast<uint64_t>(tensor::boundary_width(model));
    const uint64_t most = tensor::most_samples(model, sequence);
    if (samples > most)
      error("training.microbatch",
            fmt::format("expected at most {}, found {}: a tensor of it would take more than 1 GiB",
                        most, samples));
    const uint64_t head = samples * (sequence + 1) * sizeof(int32_t) + kHeadOfForward;
    if (head > e_.base.links.max_head_bytes)
      error("links.max_head_bytes",
            fmt::format("expected at least {}, for the tokens of a microbatch; found {}", head,
                        e_.base.links.max_head_bytes));
    const uint64_t body = samples * sequence * width * sizeof(float);
    if (e_.base.num_stages > 1 && body > e_.base.links.max_body_bytes)
      error("links.max_body_bytes",
            fmt::format("expected at least {}, for the activations of a microbatch; found {}", body,
                        e_.base.links.max_body_bytes));
    if (usable("averager") && usable("state_transfer")) name(too_small_bodies(e_.base));
    const size_t stages = e_.base.num_stages, split = model.layers_per_stage.size();
    if (!model.validate().empty() || stages > static_cast<size_t>(model.layers)) return;
    if (split != 0 && split != stages) return;
    if (stages > 1) name(too_little_memory(e_.base));
    if (usable("state_transfer")) name(too_slow_states(e_.base));
  }

  void name(const std::vector<TooSmall>& items) {
    for (const TooSmall& item : items)
      if (usable(item.key.substr(0, item.key.find('.')).c_str())) error(item.key, item.message);
  }

  void check_network() {
    const auto& links = e_.base.links;
    if (usable("links")) {
      if (links.max_backoff < links.min_backoff)
        error("links.max_backoff_ms", fmt::format("expected at least links.min_backoff_ms = {}",
                                                  links.min_backoff.count()));
      if (links.silence_limit <= 2 * links.heartbeat_every)
        error("links.silence_limit_ms",
              fmt::format("expected more than twice links.heartbeat_every_ms = {}",
                          links.heartbeat_every.count()));
    }
    if (usable("dht") && e_.base.dht.announce_ttl <= e_.base.dht.announce_every)
      error("dht.announce_ttl_ms", fmt::format("expected more than dht.announce_every_ms = {}",
                                               e_.base.dht.announce_every.count()));
    if (usable("estimates") && e_.estimates.max_deadline_s < e_.estimates.min_deadline_s)
      error("estimates.max_deadline_s", "expected at least estimates.min_deadline_s = " +
                                            print_float(e_.estimates.min_deadline_s));
    if (!usable("node")) return;
    if (const std::string why = not_a_device(e_.base.device); !why.empty())
      error("node.device", why);
    if (const auto may = links.may_listen(links.listen); !may && !links.listen.host.empty())
      error("node.listen", may.error().detail);
    if (links.listen.host.empty())
      error("node.listen", "expected HOST:PORT; \"127.0.0.1:0\" takes any free port");
    for (const auto& endpoint : e_.base.join)
      if (endpoint.port == 0 || endpoint.host.empty())
        error("node.join", "expected HOST:PORT with a port other than 0");
  }

  /// Whether it is there is for the node to see, on its machine.
  static std::string not_a_device(const std::string& name) {
    const auto device = tensor::parse_device(name);
    return device ? std::string() : device.error().detail.substr(std::strlen("device: "));
  }

  void check_faults() {
    check_numbers("faults.drop_gradient", e_.base.faults.drop_gradient, "STEP:SLOT", 2);
    check_numbers("faults.non_finite", e_.base.faults.non_finite, "STEP:SLOT:STAGE", 3);
    const std::string& flip = e_.base.faults.flip_bit;
    if (!flip.empty() && !tensor::parse_bit_fault(flip))
      error("faults.flip_bit",
            "expected \"NODE:PART:STEP\", PART being parameters, moments, gradient_sum or "
            "contribution, found " +
                quote(flip));
  }

  /// `text` is empty or `count` short numbers with colons between.
  void check_numbers(const char* key, const std::string& text, const char* form, int count) {
    if (text.empty()) return;
    std::string rest = text + ":";
    int found = 0;
    bool good = true;
    for (size_t colon; (colon = rest.find(':')) != std::string::npos; ++found) {
      const std::string digits = rest.substr(0, colon);
      good &= !digits.empty() && digits.size() < 10 &&
              digits.find_first_not_of("0123456789") == std::string::npos;
      rest = rest.substr(colon + 1);
    }
    if (!good || found != count)
      error(key, "expected \"" + std::string(form) + "\", found " + quote(text));
  }

  /// Windows shorter than what happens in them would leave nobody alive to hit.
  void check_chaos() {
    if (!usable("chaos")) return;
    const auto& chaos = e_.chaos;
    for (const auto& [key, every] : {std::make_pair("chaos.kill_every_s", chaos.kill_every_s),
                                     std::make_pair("chaos.pause_every_s", chaos.pause_every_s),
                                     std::make_pair("chaos.every_s", chaos.every_s)})
      if (every != 0 && every < 0.05)
        error(key, "expected 0 or at least 0.05 s, found " + print_float(every));
    const bool drawn = chaos.kill_every_s > 0 || chaos.pause_every_s > 0 || chaos.every_s > 0;
    if (drawn && chaos.targets.empty())
      error("chaos.targets", "expected at least one of peer, trainer, coordinator, seed");
    if (chaos.every_s > 0 && chaos.kinds.empty())
      error("chaos.kinds", "expected at least one of kill, stop, pause, cut, full_disk");
  }

  void check_nodes() {
    std::set<std::string> names;
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      const NodeSpec& node = e_.nodes[i];
      const Places::Table& place = draft_.places.nodes[i];
      if (place.failed) continue;
      if (place.keys.count("nodes.name") == 0) {
        error(place, "nodes.name", "missing: every [[nodes]] has a name");
      } else if (!is_name(node.name)) {
        error(place, "nodes.name", "expected 1 to 64 of [A-Za-z0-9_.-], found " + quote(node.name));
      } else if (!names.insert(node.name).second) {
        error(place, "nodes.name", "there is another node " + quote(node.name));
      }
      check_stages(node, place);
      check_preemptions(node, place);
      if (const std::string why = not_a_device(node.device); !node.device.empty() && !why.empty())
        error(place, "nodes.device", why);
      check_rate(place, "nodes.send_bytes_per_s", node.shape.send_bytes_per_s);
      check_rate(place, "nodes.receive_bytes_per_s", node.shape.receive_bytes_per_s);
      if (const auto ms = e_.base.links.dial_timeout.count(); node.shape.link_delay_s * 1e3 >= ms)
        error(place, "nodes.link_delay_s",
              fmt::format("no link comes up: links.dial_timeout_ms = {}", ms));
      const bool own = !node.listen.host.empty();
      if (const auto may = e_.base.links.may_listen(node.listen); own && !may)
        error(place, "nodes.listen", may.error().detail);
    }
  }

  /// Taken away while it is away would mean two answers to when it comes back.
  void check_preemptions(const NodeSpec& node, const Places::Table& place) {
    auto list = node.preempt;
    std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.at_s < b.at_s; });
    for (size_t i = 1; i < list.size(); ++i)
      if (list[i].at_s <= list[i - 1].at_s + list[i - 1].for_s)
        error(place, "nodes.preempt",
              "the preemption at " + print_float(list[i].at_s) + " s begins before the one at " +
                  print_float(list[i - 1].at_s) + " s ends");
    if (node.preempt_every_s > 0 && node.preempt_every_s <= node.preempt_for_s)
      error(place, "nodes.preempt_every_s",
            "expected 0 or more than preempt_for_s = " + print_float(node.preempt_for_s) +
                ", found " + print_float(node.preempt_every_s));
  }

  void check_stages(const NodeSpec& node, const Places::Table& place) {
    std::set<int32_t> seen;
    for (const int32_t stage : node.stages) {
      if (stage >= e_.base.num_stages && usable("pipeline"))
        error(place, "nodes.stages",
              fmt::format("expected stages 0 to {} (pipeline.stages), found {}",
                          e_.base.num_stages - 1, stage));
      if (!seen.insert(stage).second)
        error(place, "nodes.stages", fmt::format("stage {} is listed twice", stage));
    }
  }

  /// An experiment that lists nodes lists enough of them.
  void check_coverage() {
    if (e_.nodes.empty() || !usable("nodes") || !usable("pipeline") || !usable("training")) return;
    std::vector<uint32_t> peers(static_cast<size_t>(e_.base.num_stages));
    bool trainer = false;
    uint32_t anywhere = 0;
    for (const auto& node : e_.nodes) {
      trainer = trainer || node.trainer;
      for (const int32_t stage : node.stages)
        if (stage == actors::kAnyStage)
          ++anywhere;
        else if (stage < e_.base.num_stages)
          ++peers[static_cast<size_t>(stage)];
    }
    const uint32_t needed = e_.base.training.min_peers_per_stage;
    const uint32_t all = std::accumulate(peers.begin(), peers.end(), anywhere);
    for (size_t stage = 0; stage < peers.size(); ++stage) {
      for (; peers[stage] < needed && anywhere > 0; --anywhere) ++peers[stage];
      if (peers[stage] < needed)
        error(draft_.places.nodes[0], "nodes.stages",
              fmt::format("stage {} is served by {} nodes, training needs {} "
                          "(training.min_peers_per_stage)",
                          stage, peers[stage], needed));
    }
    if (!trainer)
      error(draft_.places.nodes[0], "nodes.trainer", "no node is a trainer; one must be");
    if (e_.base.training.min_peers > all)
      error("training.min_peers",
            fmt::format("expected at most {}, the stages that [[nodes]] serve together; training "
                        "would never begin",
                        all));
  }

  void check_rate(const Places::Table& place, const char* key, double bytes_per_s) {
    if (const std::string why = fault_of_rate(bytes_per_s); !why.empty()) error(place, key, why);
  }

  /// A pattern means one of the listed nodes at least; where none are listed, nobody can tell.
  void check_pattern(const Places::Table& place, const char* key, const std::string& pattern) {
    std::vector<std::string> names;
    for (const auto& node : e_.nodes) {
      if (actors::is_meant(pattern, node.name)) return;
      names.push_back(node.name);
    }
    if (!names.empty())
      error(place, key, "there is no node " + quote(pattern), nearest(pattern, names));
  }

  void check_paths() {
    for (size_t i = 0; i < e_.paths.size(); ++i) {
      const actors::PathShape& path = e_.paths[i];
      const Places::Table& place = draft_.places.paths[i];
      if (place.failed) continue;
      const std::pair<const char*, const std::string*> ends[] = {{"paths.from", &path.from},
                                                                 {"paths.to", &path.to}};
      for (const auto& [key, name] : ends) {
        if (name->empty())
          error(place, key, "missing: every [[paths]] has from and to; \"*\" means all nodes");
        else
          check_pattern(place, key, *name);
      }
      if (!path.from.empty() && path.from == path.to && path.from.find('*') == std::string::npos)
        error(place, "paths.to", "the way of " + quote(path.to) + " to itself is no link");
      if (path.says_nothing())
        error(place, "paths", "it says nothing: give bytes_per_s, delay_s, jitter_s or cut");
      check_rate(place, "paths.bytes_per_s", path.bytes_per_s.value_or(0));
    }
  }

  void check_link(const TimelineEvent& event, const Places::Table& place) {
    if (event.action != TimelineAction::kLink) {
      if (!event.link.to.empty() || event.link.names_own() || event.link.names_path())
        error(place, "timeline", "only action = \"link\" takes keys of links");
      return;
    }
    if (!event.node.empty()) check_pattern(place, "timeline.node", event.node);
    if (!event.link.to.empty()) check_pattern(place, "timeline.to", event.link.to);
    if (const std::string why = fault_of(event.link); !why.empty()) error(place, "timeline", why);
  }

  void check_timeline() {
    std::vector<std::string> names;
    for (const auto& node : e_.nodes) names.push_back(node.name);
    for (size_t i = 0; i < e_.timeline.size(); ++i) {
      const TimelineEvent& event = e_.timeline[i];
      const Places::Table& place = draft_.places.timeline[i];
      if (place.failed) continue;
      if ((event.at_step >= 0) == (event.at_second >= 0))
        error(place, "timeline", "expected either at_step or at_second");
      // A run cut short by --set keeps the file's timeline; what lies behind its end never comes.
      const bool cut_short = draft_.places.of("training.steps").line == 0;
      if (usable("training") && !cut_short && event.at_step > int64_t{e_.base.training.steps})
        error(place, "timeline.at_step",
              fmt::format("expected at most training.steps = {}, found {}", e_.base.training.steps,
                          event.at_step));
      if (place.keys.count("timeline.action") == 0)
        error(place, "timeline.action",
              "missing: one of kill, start, pause, resume, stop, link, cut, heal, full_disk, "
              "free_disk");
      check_link(event, place);
      if (event.action != TimelineAction::kLink && e_.find(event.node) == nullptr)
        error(place, "timeline.node", "there is no node " + quote(event.node),
              nearest(event.node, names));
    }
  }

  Draft& draft_;
  Experiment& e_;
};

}  // namespace

void check(Draft& draft) { Checker(draft).run(); }

}  // namespace swarm::config

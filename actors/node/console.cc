#include "actors/node/console.h"

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <cstdio>
#include <functional>
#include <sstream>
#include <vector>

#include "actors/coordinator/coordinator_client.h"
#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/node/node_supervisor.h"
#include "common/hex.h"
#include "common/names.h"
#include "common/numbers.h"
#include "common/text_table.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{3'000};

const char* const kHelp =
    "help          this text\n"
    "nodes         links of this node: name, address, round trip, traffic\n"
    "stages        peers of every stage: node, step, parameter checksum\n"
    "actors        actors of this node\n"
    "actor ID      what one of them is doing\n"
    "steps         the open step: phase, slots, loss, tokens per second\n"
    "dht KEY       records under a key, e.g. dht stage/0, dht coordinator\n"
    "checkpoint    every peer writes a snapshot now\n"
    "kill NODE     ends a node of the swarm at once (no hand-over)\n"
    "quit          leaves the console (also Ctrl-D)\n";

class ConsoleState {
 public:
  static constexpr const char* name = "console";
  using Self = caf::stateful_actor<ConsoleState>;

  void init(Self* self, ConsoleDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    coordinator_ = std::make_unique<CoordinatorClient>(
        CoordinatorClientDeps{self_, deps_.links, deps_.dht, milliseconds(500), [] {}});
    caf::actor me = caf::actor_cast<caf::actor>(self_);
    self_->send(deps_.links, register_atom::value, std::string(kConsoleName), me);
    self_->send(deps_.links, subscribe_atom::value, me);
    self_->send(self_, tick_atom::value);
  }

  caf::behavior make_behavior() {
    return {
        [this](const Mail& mail) { return on_mail(mail); },
        [this](tick_atom) {
          coordinator_->refresh();
          self_->delayed_send(self_, deps_.dht_options.announce_every, tick_atom::value);
        },
        [](run_later_atom, const LocalTask& task) { task(); },
        [](node_up_atom, const NodeInfo&) {},
        [this](node_down_atom, const NodeInfo& info, const std::string&) {
          coordinator_->node_down(info.id);
        },
    };
  }

 private:
  /// Answers one command, now or later, exactly once.
  class Answer {
   public:
    explicit Answer(caf::response_promise promise) : promise_(std::move(promise)) {}
    void text(std::string text, bool failed = false) {
      if (!text.empty() && text.back() != '\n') text += '\n';
      proto::ConsoleReply reply;
      reply.set_text(std::move(text));
      reply.set_failed(failed);
      promise_.deliver(make_mail(std::move(reply)));
    }
    void error(const std::string& why) { text("error: " + why, true); }

   private:
    caf::response_promise promise_;
  };

  caf::result<Mail> on_mail(const Mail& mail) {
    if (mail.kind != proto::KIND_CONSOLE)
      return to_caf(ErrorCode::kInvalidArgument, "the console takes command lines only");
    std::istringstream line(mail.as<proto::ConsoleRequest>().line());
    std::string command, argument;
    line >> command;
    std::getline(line >> std::ws, argument);
    auto promise = self_->make_response_promise();
    run(command, argument, Answer(promise));
    return promise;
  }

  void run(const std::string& command, const std::string& argument, Answer answer) {
    if (command.empty() || command == "help") return answer.text(kHelp);
    if (command == "nodes") return nodes(answer);
    if (command == "stages" || command == "steps") return swarm_status(command, answer);
    if (command == "actors") return actors(answer);
    if (command == "actor") return actor(argument, answer);
    if (command == "dht") return dht(argument, answer);
    if (command == "checkpoint") return checkpoint(answer);
    if (command == "kill") return kill(argument, answer);
    answer.error("unknown command '" + command + "'; help lists them");
  }

  void nodes(Answer answer) {
    self_->request(deps_.links, kPatience, stats_atom::value)
        .then(
            [this, answer](const LinksStats& stats) mutable {
              TextTable table({"node", "id", "address", "up s", "rtt ms", "sent MB", "received MB",
                               "pending", "queued KB"});
              table.add({deps_.node_name + " (this)", deps_.node.brief(), stats.listening.text(),
                         "", "", megabytes(stats.bytes_sent), megabytes(stats.bytes_received), "",
                         ""});
              for (const auto& link : stats.links)
                table.add({link.node.name + (link.node.is_tool ? " (tool)" : ""),
                           link.node.id.brief(), link.node.endpoint.text(), fixed(link.up_s, 0),
                           fixed(link.round_trip_s * 1000, 2), megabytes(link.bytes_sent),
                           megabytes(link.bytes_received), std::to_string(link.pending_requests),
                           std::to_string(link.queued_bytes / 1024)});
              answer.text(table.text());
            },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  static std::string megabytes(const std::array<uint64_t, kTrafficClasses>& bytes) {
    uint64_t sum = 0;
    for (uint64_t b : bytes) sum += b;
    return fixed(static_cast<double>(sum) / 1e6, 1);
  }

  void swarm_status(const std::string& command, Answer answer) {
    coordinator_->request(
        make_mail(proto::SwarmStatus(), {}, kPatience),
        [command, answer](Result<Mail> reply) mutable {
          if (!reply) return answer.error("the coordinator: " + to_string(reply.error()));
          const auto& status = reply->as<proto::SwarmStatusReply>();
          answer.text(command == "stages" ? stages_text(status) : steps_text(status));
        });
  }

  static std::string stages_text(const proto::SwarmStatusReply& status) {
    std::vector<proto::PeerStatus> peers(status.peers().begin(), status.peers().end());
    std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) {
      return std::make_pair(a.stage(), a.peer().node_name()) <
             std::make_pair(b.stage(), b.peer().node_name());
    });
    TextTable table({"stage", "node", "address", "step", "checksum", "of step"});
    for (const auto& peer : peers)
      table.add({std::to_string(peer.stage()), peer.peer().node_name(), peer.peer().endpoint(),
                 std::to_string(peer.step()), peer.checksum() == 0 ? "-" : hex(peer.checksum()),
                 std::to_string(peer.checksum_step())});
    return table.text();
  }

  static std::string steps_text(const proto::SwarmStatusReply& status) {
    std::ostringstream text;
    text << "step " << status.step() << " of " << status.max_steps() << ", " << status.phase()
         << "\nslots " << status.slots_done() << " done, " << status.slots_leased()
         << " leased, of " << status.slots_total() << "\nlast loss " << fixed(status.last_loss(), 4)
         << ", tokens/s " << fixed(status.tokens_per_s(), 0) << "\ncoordinator "
         << status.coordinator().node_name() << " " << status.coordinator().endpoint() << ", term "
         << status.term() << "\n";
    return text.str();
  }

  void actors(Answer answer) {
    self_->request(deps_.supervisor, kPatience, list_actors_atom::value)
        .then(
            [answer](const std::vector<std::string>& ids) mutable {
              TextTable table({"id", "what"});
              table.add({"links", "connections to other nodes"});
              table.add({kDhtName, "Kademlia node"});
              for (const auto& id : ids) table.add({id, id.substr(0, id.find('.'))});
              answer.text(table.text());
            },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  void actor(const std::string& id, Answer answer) {
    if (id == "links") return nodes(answer);
    if (id == kDhtName) return dht_status(answer);
    self_->request(deps_.supervisor, kPatience, describe_atom::value, id)
        .then([answer](const std::string& text) mutable { answer.text(text); },
              [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  void dht_status(Answer answer) {
    self_->request(deps_.dht, kPatience, dht_status_atom::value)
        .then(
            [answer](const DhtStatus& status) mutable {
              TextTable table({"contact", "address"});
              for (const auto& contact : status.contacts)
                table.add({contact.id.brief(), contact.endpoint.text()});
              answer.text("records " + std::to_string(status.records) + ", contacts " +
                          std::to_string(status.contacts.size()) + "\n" + table.text());
            },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  void dht(const std::string& key, Answer answer) {
    if (key.empty()) return dht_status(answer);
    if (key == kCoordinatorKey || is_stage_key(key)) return announcements(key, answer);
    self_->request(deps_.dht, kPatience, dht_lookup_text_atom::value, key)
        .then([answer](const std::string& text) mutable { answer.text(text); },
              [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  /// The records that this project writes, decoded.
  void announcements(const std::string& key, Answer answer) {
    self_->request(deps_.dht, kPatience, dht_get_atom::value, key)
        .then(
            [key, answer](const DhtRecords& records) mutable {
              TextTable table({"node", "address", "actor", "says", "version", "ttl ms"});
              for (const auto& record : records) add_announcement(key, record, table);
              answer.text(table.text());
            },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  static void add_announcement(const std::string& key, const DhtRecordLocal& record,
                               TextTable& table) {
    std::string version = std::to_string(record.version), ttl = std::to_string(record.ttl.count());
    proto::CoordinatorRecord coordinator;
    proto::PeerRecord peer;
    if (key == kCoordinatorKey && coordinator.ParseFromString(record.value))
      table.add({coordinator.node_name(), coordinator.endpoint(), coordinator.actor(),
                 (coordinator.active() ? "active, term " : "stands by, term ") +
                     std::to_string(coordinator.term()),
                 version, ttl});
    else if (key != kCoordinatorKey && peer.ParseFromString(record.value))
      table.add({peer.node_name(), peer.endpoint(), peer.actor(),
                 "step " + std::to_string(peer.step()) + ", load " + fixed(peer.load_s(), 3) + " s",
                 version, ttl});
    else
      table.add({record.subkey, "", "", "not readable", version, ttl});
  }

  void checkpoint(Answer answer) {
    coordinator_->request(make_mail(proto::SaveCheckpoint(), {}, milliseconds(60'000)),
                          [answer](Result<Mail> reply) mutable {
                            if (reply)
                              answer.text("every serving peer has written its snapshot");
                            else
                              answer.error(to_string(reply.error()));
                          });
  }

  /// Finds the node by name or id prefix among the links and tells its supervisor.
  void kill(const std::string& node, Answer answer) {
    if (node.empty()) return answer.error("kill NODE: name or id of a node; nodes lists them");
    if (node == deps_.node_name || node == deps_.node.brief())
      return stop({deps_.node, std::string(kSupervisorName)}, {}, node, answer);
    self_->request(deps_.links, kPatience, stats_atom::value)
        .then(
            [this, node, answer](const LinksStats& stats) mutable {
              for (const auto& link : stats.links)
                if (!link.node.is_tool && (link.node.name == node || link.node.id.brief() == node))
                  return stop({link.node.id, std::string(kSupervisorName)}, link.node.endpoint,
                              node, answer);
              answer.error("no link to a node '" + node + "'; nodes lists them");
            },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  void stop(const ActorId& supervisor, const Endpoint& endpoint, const std::string& node,
            Answer answer) {
    proto::StopNode message;
    message.set_at_once(true);
    message.set_reason("console of " + deps_.node_name);
    self_->request(deps_.links, kPatience, resolve_atom::value, supervisor, endpoint)
        .then(
            [this, message, node, answer](const caf::actor& proxy) mutable {
              request_mail(self_, proxy, make_mail(std::move(message), {}, kPatience),
                           [node, answer](Result<Mail> reply) mutable {
                             // The answer of a process that ends at once is a lost link.
                             if (reply || reply.code() == ErrorCode::kLinkLost)
                               answer.text("node " + node + " is killed");
                             else
                               answer.error(to_string(reply.error()));
                           });
            },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
  }

  Self* self_ = nullptr;
  ConsoleDeps deps_;
  std::unique_ptr<CoordinatorClient> coordinator_;
};

}  // namespace

caf::actor spawn_console(caf::actor_system& system, ConsoleDeps deps) {
  return system.spawn([deps = std::move(deps)](ConsoleState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors

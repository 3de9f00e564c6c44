#include "actors/node/console_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/requests.h"
#include "actors/node/node_supervisor.h"
#include "common/hex.h"
#include "common/names.h"
#include "common/numbers.h"
#include "common/printable.h"
#include "common/shorten_list.h"
#include "common/text_table.h"
#include "routing/membership/term.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

void ConsoleAnswer::text(std::string text, bool failed) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  proto::ConsoleReply reply;
  reply.set_text(std::move(text));
  reply.set_failed(failed);
  promise_.deliver(make_mail(std::move(reply)));
}

namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{3'000};

/// From the table itself: name and argument, then what it does.
void help(ConsoleContext&, const std::string&, ConsoleAnswer answer) {
  std::string text;
  for (const ConsoleCommand& command : console_commands()) {
    std::string typed = command.name;
    if (*command.argument != 0) typed += std::string(" ") + command.argument;
    typed.resize(std::max<size_t>(typed.size() + 1, 14), ' ');
    text += typed + command.help + "\n";
  }
  answer.text(text);
}

/// The client leaves by itself; whoever sends this to a node has no client.
void quit(ConsoleContext&, const std::string&, ConsoleAnswer answer) {
  answer.error("quit is for the console at your end");
}

/// What is wrong with this node's disk; "" if nothing.
std::string lost_text(const records::LostLines& lost) {
  if (!lost || lost->load() == 0) return "";
  return fmt::format("{} lines of this node's events, metrics, audit and log are lost\n",
                     lost->load());
}

std::string megabytes(const std::array<uint64_t, kTrafficClasses>& bytes) {
  uint64_t sum = 0;
  for (uint64_t b : bytes) sum += b;
  return fixed(static_cast<double>(sum) / 1e6, 3);
}

void nodes(ConsoleContext& context, const std::string&, ConsoleAnswer answer) {
  context.self->request(context.deps.links, kPatience, stats_atom::value)
      .then(
          [&context, answer](const LinksStats& stats) mutable {
            TextTable table({"node", "id", "address", "up s", "rtt ms", "sent MB", "received MB",
                             "messages sent", "received", "pending", "queued KB"});
            table.add({context.deps.node_name + " (this)", context.deps.node.brief(),
                       stats.listening.text(), "", "", megabytes(stats.bytes_sent),
                       megabytes(stats.bytes_received), std::to_string(stats.messages_sent),
                       std::to_string(stats.messages_received), "", ""});
            for (const auto& link : stats.links)
              table.add({link.node.name + (link.node.is_tool ? " (tool)" : ""),
                         link.node.id.brief(), link.node.endpoint.text(), fixed(link.up_s, 0),
                         fixed(link.round_trip_s * 1000, 2), megabytes(link.bytes_sent),
                         megabytes(link.bytes_received), std::to_string(link.messages_sent),
                         std::to_string(link.messages_received),
                         std::to_string(link.pending_requests),
                         std::to_string(link.queued_bytes / 1024)});
            answer.text(table.text() + lost_text(context.deps.lost_lines));
          },
          [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
}

/// Asks the coordinator; `show` makes a text of what it says.
void swarm_status(ConsoleContext& context, std::string (*show)(const proto::SwarmStatusReply&),
                  ConsoleAnswer answer) {
  context.coordinator->request(
      make_mail(proto::SwarmStatus(), {}, kPatience), [show, answer](Result<Mail> reply) mutable {
        if (!reply)
          return answer.error(
              "no coordinator answers: a node with `trainer = true` hosts it; `dht coordinator` "
              "lists those announced (" +
              to_string(reply.error()) + ")");
        answer.text(show(reply->as<proto::SwarmStatusReply>()));
      });
}

/// Of a peer that joins: how much of its state it has, and whether it can keep up.
std::string learned_text(const proto::PeerStatus& peer) {
  if (peer.state_bytes() == 0) return "";
  const double percent =
      100 * static_cast<double>(peer.learned_bytes()) / static_cast<double>(peer.state_bytes());
  if (peer.needs_bytes_per_s() <= 0 || peer.has_bytes_per_s() <= 0) return fixed(percent, 0) + " %";
  return fmt::format("{} %, needs {} MB/s, has {}", fixed(percent, 0),
                     fixed(peer.needs_bytes_per_s() / 1e6, 2),
                     fixed(peer.has_bytes_per_s() / 1e6, 2));
}

constexpr size_t kMaxShown = 96;  // of a name or an address that another node says
constexpr size_t kMaxPhase = 1'000;

/// A line for each peer whose last snapshot failed.
std::string failing_text(const proto::SwarmStatusReply& status) {
  std::string text;
  for (const auto& peer : status.peers())
    if (peer.failed_saves() > 0)
      text += fmt::format("{} (stage {}): the last {} snapshots failed: {}\n",
                          printable(peer.peer().node_name(), kMaxShown), peer.stage(),
                          peer.failed_saves(), printable(peer.save_error(), 256));
  return text;
}

std::string stages_text(const proto::SwarmStatusReply& status) {
  std::vector<proto::PeerStatus> peers(status.peers().begin(), status.peers().end());
  for (auto& peer : peers) {
    peer.mutable_peer()->set_node_name(printable(peer.peer().node_name(), kMaxShown));
    peer.mutable_peer()->set_endpoint(printable(peer.peer().endpoint(), kMaxShown));
  }
  std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a.stage(), a.peer().node_name()) <
           std::make_pair(b.stage(), b.peer().node_name());
  });
  TextTable table({"stage", "node", "address", "step", "checksum", "of step", "learned"});
  std::string readers = failing_text(status);
  for (const auto& peer : peers) {
    table.add({std::to_string(peer.stage()), peer.peer().node_name(), peer.peer().endpoint(),
               std::to_string(peer.step()), peer.checksum() == 0 ? "-" : hex(peer.checksum()),
               std::to_string(peer.checksum_step()), learned_text(peer)});
    if (peer.reads())
      readers += peer.peer().node_name() + " reads: it would cost the others " +
                 fixed(peer.costs_s(), 3) + " s a step and bring " +
                 fixed(peer.brings_samples(), 1) + " samples\n";
  }
  return table.text() + readers;
}

std::string steps_text(const proto::SwarmStatusReply& status) {
  std::ostringstream text;
  text << "step " << status.step() << " of " << status.max_steps() << ", "
       << shorten_list(printable(status.phase(), 1 << 16), kMaxPhase) << "\nslots "
       << status.slots_done() << " done, " << status.slots_leased() << " leased, of "
       << status.slots_total() << "\nlast loss "
       << (status.has_last_loss() ? fixed(status.last_loss(), 4) : "-") << ", tokens/s "
       << fixed(status.tokens_per_s(), 0) << "\ncoordinator "
       << printable(status.coordinator().node_name(), kMaxShown) << " "
       << status.coordinator().endpoint() << ", term " << routing::term_number(Term(status.term()))
       << "\ndurable in every stage: "
       << (status.has_durable_step() ? fmt::format("step {}", status.durable_step())
                                     : "no step yet")
       << "\n"
       << failing_text(status);
  return text.str();
}

void stages(ConsoleContext& context, const std::string&, ConsoleAnswer answer) {
  swarm_status(context, stages_text, std::move(answer));
}

void steps(ConsoleContext& context, const std::string&, ConsoleAnswer answer) {
  swarm_status(context, steps_text, std::move(answer));
}

void actors(ConsoleContext& context, const std::string&, ConsoleAnswer answer) {
  context.self->request(context.deps.supervisor, kPatience, list_actors_atom::value)
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

void dht_status(ConsoleContext& context, ConsoleAnswer answer) {
  context.self->request(context.deps.dht, kPatience, dht_status_atom::value)
      .then(
          [answer](const DhtStatus& status) mutable {
            TextTable table({"contact", "address"});
            for (const auto& contact : status.contacts)
              table.add({contact.id.brief(), contact.endpoint.text()});
            answer.text(fmt::format("records {}, contacts {}\n{}", status.records,
                                    status.contacts.size(), table.text()));
          },
          [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
}

void actor(ConsoleContext& context, const std::string& id, ConsoleAnswer answer) {
  if (id == "links") return nodes(context, {}, answer);
  if (id == kDhtName) return dht_status(context, answer);
  context.self->request(context.deps.supervisor, kPatience, describe_atom::value, id)
      .then([answer](const std::string& text) mutable { answer.text(text); },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
}

template <class Record>
bool fit_for_table(const Record& record) {
  return is_name(record.node_name()) && is_name(record.actor()) &&
         Endpoint::parse(record.endpoint()).ok();
}

void add_announcement(const std::string& key, const DhtRecordLocal& record, TextTable& table) {
  std::string version = std::to_string(record.version), ttl = std::to_string(record.ttl.count());
  proto::CoordinatorRecord coordinator;
  proto::PeerRecord peer;
  if (key == kCoordinatorKey && coordinator.ParseFromString(record.value) &&
      fit_for_table(coordinator))
    table.add({coordinator.node_name(), coordinator.endpoint(), coordinator.actor(),
               (coordinator.active() ? "active, term " : "stands by, term ") +
                   std::to_string(routing::term_number(Term(coordinator.term()))),
               version, ttl});
  else if (key != kCoordinatorKey && peer.ParseFromString(record.value) && fit_for_table(peer))
    table.add({peer.node_name(), peer.endpoint(), peer.actor(),
               fmt::format("step {}, load {} s", peer.step(), fixed(peer.load_s(), 3)), version,
               ttl});
  else
    table.add({printable(record.subkey, 64), "", "", "not readable", version, ttl});
}

/// The records that this project writes, decoded.
void announcements(ConsoleContext& context, const std::string& key, ConsoleAnswer answer) {
  context.self->request(context.deps.dht, kPatience, dht_get_atom::value, key)
      .then(
          [key, answer](const DhtRecords& records) mutable {
            TextTable table({"node", "address", "actor", "says", "version", "ttl ms"});
            for (const auto& record : records) add_announcement(key, record, table);
            answer.text(table.text());
          },
          [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
}

void dht(ConsoleContext& context, const std::string& key, ConsoleAnswer answer) {
  if (key.empty()) return dht_status(context, answer);
  if (key == kCoordinatorKey || is_stage_key(key)) return announcements(context, key, answer);
  context.self->request(context.deps.dht, kPatience, dht_lookup_text_atom::value, key)
      .then([answer](const std::string& text) mutable { answer.text(text); },
            [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
}

void checkpoint(ConsoleContext& context, const std::string&, ConsoleAnswer answer) {
  context.coordinator->request(make_mail(proto::SaveCheckpoint(), {}, milliseconds(60'000)),
                               [answer](Result<Mail> reply) mutable {
                                 if (reply)
                                   answer.text("every serving peer has written its snapshot");
                                 else
                                   answer.error(to_string(reply.error()));
                               });
}

void go_on(ConsoleContext& context, const std::string&, ConsoleAnswer answer) {
  context.coordinator->request(make_mail(proto::GoOn(), {}, kPatience),
                               [answer](Result<Mail> reply) mutable {
                                 if (reply)
                                   answer.text("this part goes on without the rest");
                                 else
                                   answer.error(to_string(reply.error()));
                               });
}

/// Asks the coordinator about placement, and shows what it says.
void ask_placement(ConsoleContext& context, const Mail& mail, ConsoleAnswer answer) {
  context.coordinator->request(mail, [answer](Result<Mail> reply) mutable {
    if (!reply) return answer.error(to_string(reply.error()));
    std::string text;
    for (const auto& line : reply->as<proto::PlacementReply>().lines())
      text += printable(line, 256) + "\n";
    answer.text(std::move(text));
  });
}

void rebalance(ConsoleContext& context, const std::string&, ConsoleAnswer answer) {
  ask_placement(context, make_mail(proto::Rebalance(), {}, kPatience), std::move(answer));
}

void move_peer(ConsoleContext& context, const std::string& argument, ConsoleAnswer answer) {
  std::istringstream words(argument);
  proto::MovePeer message;
  uint32_t stage = 0;
  std::string more;
  if (!(words >> *message.mutable_peer() >> stage) || words >> more)
    return answer.error("move PEER STAGE: name of a node, and which stage it is to serve");
  message.set_stage(stage);
  ask_placement(context, make_mail(std::move(message), {}, kPatience), std::move(answer));
}

/// Ends a node: at once, or in order.
void stop(ConsoleContext& context, const ActorId& supervisor, const Endpoint& endpoint,
          const std::string& node, bool at_once, ConsoleAnswer answer) {
  proto::StopNode message;
  message.set_at_once(at_once);
  message.set_reason("console of " + context.deps.node_name);
  context.self->request(context.deps.links, kPatience, resolve_atom::value, supervisor, endpoint)
      .then(
          [&context, message, node, at_once, answer](const caf::actor& proxy) mutable {
            request_mail(context.self, proxy, make_mail(std::move(message), {}, kPatience),
                         [node, at_once, answer](Result<Mail> reply) mutable {
                           // The answer of a process that ends at once is a lost link.
                           if (reply || (at_once && reply.code() == ErrorCode::kLinkLost))
                             answer.text("node " + node + (at_once ? " is killed" : " leaves"));
                           else
                             answer.error(to_string(reply.error()));
                         });
          },
          [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
}

/// Finds the node by name or id prefix among the links and tells its supervisor.
void find_and_stop(ConsoleContext& context, const std::string& node, bool at_once,
                   ConsoleAnswer answer) {
  if (node.empty())
    return answer.error(std::string(at_once ? "kill" : "drain") +
                        " NODE: name or id of a node; nodes lists them");
  if (node == context.deps.node_name || node == context.deps.node.brief())
    return stop(context, {context.deps.node, std::string(kSupervisorName)}, {}, node, at_once,
                answer);
  context.self->request(context.deps.links, kPatience, stats_atom::value)
      .then(
          [&context, node, at_once, answer](const LinksStats& stats) mutable {
            for (const auto& link : stats.links)
              if (!link.node.is_tool && (link.node.name == node || link.node.id.brief() == node))
                return stop(context, {link.node.id, std::string(kSupervisorName)},
                            link.node.endpoint, node, at_once, answer);
            answer.error("no link to a node '" + node + "'; nodes lists them");
          },
          [answer](const caf::error& e) mutable { answer.error(to_string(from_caf(e))); });
}

void drain(ConsoleContext& context, const std::string& node, ConsoleAnswer answer) {
  find_and_stop(context, node, /*at_once=*/false, std::move(answer));
}

void kill(ConsoleContext& context, const std::string& node, ConsoleAnswer answer) {
  find_and_stop(context, node, /*at_once=*/true, std::move(answer));
}

}  // namespace

const std::vector<ConsoleCommand>& console_commands() {
  static const std::vector<ConsoleCommand> rows{
      {"help", "", "this text", help},
      {"nodes", "", "links of this node: name, address, round trip, traffic", nodes},
      {"stages", "", "peers of every stage: node, step, parameter checksum", stages},
      {"actors", "", "actors of this node", actors},
      {"actor", "ID", "what one actor of the node is doing", actor},
      {"steps", "", "the open step: phase, slots, loss, tokens per second", steps},
      {"dht", "KEY", "records under a key, e.g. dht stage/0, dht coordinator; without: this node's",
       dht},
      {"checkpoint", "", "every peer writes a snapshot now (needs the key)", checkpoint, true},
      {"go-on", "",
       "lets this part of a divided swarm go on without the rest; the others' work since then is "
       "given up (needs the key)",
       go_on, true},
      {"rebalance", "", "looks now whether peers are to serve other stages (needs the key)",
       rebalance, true},
      {"move", "PEER STAGE",
       "a peer leaves its stage for another one, unless it is the last there (needs the key)",
       move_peer, true},
      {"drain", "NODE", "a node of the swarm leaves in order, as by SIGTERM (needs the key)", drain,
       true},
      {"kill", "NODE", "ends a node of the swarm at once, no hand-over (needs the key)", kill,
       true},
      {"quit", "", "leaves the console (also Ctrl-D)", quit},
  };
  return rows;
}

}  // namespace swarm::actors

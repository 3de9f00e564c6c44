#include "actors/node/entrance.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/links/socket.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "common/printable.h"
#include "routing/membership/name_claim.h"
#include "swarm/dht.pb.h"
#include "swarm/wire.pb.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{250};         // at the DHT, while joining
constexpr milliseconds kFirstTry{500};     // most nodes are in long before
constexpr milliseconds kFirstWord{1'000};  // after the start
constexpr milliseconds kNextWord{5'000};
constexpr milliseconds kAlive{5'000};
constexpr milliseconds kLocal{10'000};  // for an answer of this node's own DHT
constexpr milliseconds kDialBack{20'000};
constexpr size_t kTried = 4;    // addresses that are tried and named
constexpr size_t kClaims = 16;  // of the name, that are knocked at
constexpr int kDialBackTries = 10;
constexpr uint32_t kDialBackPause_ms = 1'000;
constexpr size_t kMaxReason = 600;
constexpr const char* kNoAnswer = "no answer yet";

class Entrance {
 public:
  static constexpr const char* name = "entrance";
  using Self = caf::stateful_actor<Entrance>;

  caf::behavior start(Self* self, EntranceDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    drop_own_address();
    self_->send(deps_.links, subscribe_atom::value, caf::actor_cast<caf::actor>(self_));
    next_word_ = self_->clock().now() + kFirstWord;
    started_at_ = self_->clock().now();
    self_->send(self_, tick_atom::value);
    return {
        [this](tick_atom) { on_tick(); },
        [this](node_up_atom, const NodeInfo&) { look(); },
        [](node_down_atom, const NodeInfo&, const std::string&) {},
        [](run_later_atom, const LocalTask& task) { task(); },
        [this](describe_atom) { return describe(); },
    };
  }

 private:
  enum class At { kJoining, kNaming, kIn, kOut };

  void on_tick() {
    if (at_ == At::kOut) return;
    if (at_ == At::kIn) publish(true, [this] { look_again(); });
    look();
    if (at_ == At::kJoining && !deps_.join.empty()) wait_on();
    const bool settled = at_ == At::kIn;
    self_->delayed_send(self_, settled ? deps_.dht_options.refresh_every : kLook, tick_atom::value);
  }

  // -- joining

  /// A node that joins itself would wait for ever; one of several addresses may be its own, as where
  /// all machines have the same list.
  void drop_own_address() {
    auto& join = deps_.join;
    const auto own = std::remove(join.begin(), join.end(), deps_.endpoint);
    const bool joins_itself = own != join.end();
    join.erase(own, join.end());
    if (!joins_itself || deps_.launched) return;
    const std::string at = deps_.endpoint.text();
    const std::string why =
        join.empty()
            ? "--join names this node itself: it goes on alone, as the first of its swarm; "
              "to join another, name that one's address"
            : "one --join names this node itself: left out";
    deps_.say(at + ": " + why);
    log_warn(fmt::format("event=waits_to_join endpoint={} reason=\"{}\"", at, why));
    deps_.events->record(-1, -1, records::WaitsToJoin{at, why});
  }

  void look() {
    if (at_ != At::kJoining) return;
    if (deps_.join.empty()) return find_name();
    self_->request(deps_.dht, kLocal, dht_status_atom::value)
        .then(
            [this](const DhtStatus& status) {
              if (at_ != At::kJoining) return;
              tell_alive();
              failures_ = status.join_failures;
              if (status.joined) return find_name();
              say_late_reasons();
            },
            [](const caf::error&) {});
  }

  void tell_alive() {
    const auto now = self_->clock().now();
    if (at_ == At::kIn || at_ == At::kOut || now < next_alive_) return;
    next_alive_ = now + kAlive;
    deps_.alive();
  }

  void wait_on() {
    if (self_->clock().now() < started_at_ + kFirstTry) return;
    for (size_t i = 0; i < std::min(kTried, deps_.join.size()); ++i) try_out(deps_.join[i]);
    if (self_->clock().now() < next_word_) return;
    next_word_ = self_->clock().now() + kNextWord;
    for (size_t i = 0; i < std::min(kTried, deps_.join.size()); ++i)
      say_waits(deps_.join[i].text());
  }

  /// Who looks why it does not come in is not made to wait for the next word.
  void say_late_reasons() {
    if (at_ != At::kJoining) return;
    for (const auto& [to, said] : std::map(said_))
      if (said == kNoAnswer && reason(to) != kNoAnswer) say_waits(to);
  }

  void say_waits(const std::string& to) {
    const auto waited =
        std::chrono::duration_cast<std::chrono::seconds>(self_->clock().now() - started_at_);
    const std::string why = reason(to);
    said_[to] = why;
    deps_.say(fmt::format("waits to join {}, {} s so far: {}", to, waited.count(), why));
    log_info(fmt::format("event=waits_to_join endpoint={} reason=\"{}\"", to, why));
    deps_.events->record(-1, -1, records::WaitsToJoin{to, why});
  }

  /// CAF keeps to itself why a dial fails; the same dial outside of the table of links does not.
  void try_out(const Endpoint& at) {
    const std::string to = at.text();
    if (!trying_.insert(to).second) return;
    knock_in_background(self_, deps_.knock, at, deps_.detached,
                        [this, to](const Result<NodeInfo>& found) {
                          found_[to] = found ? "" : found.error().detail;
                          say_late_reasons();
                          self_->delayed_send(self_, milliseconds(2'000), run_later_atom::value,
                                              LocalTask([this, to] { trying_.erase(to); }));
                        });
  }

  std::string reason(const std::string& to) const {
    std::string why;
    if (const auto it = found_.find(to); it != found_.end()) why = it->second;
    for (const auto& [endpoint, error] : failures_)
      if (why.empty() && endpoint.text() == to) why = error.detail;
    return why.empty() ? kNoAnswer : printable(why, kMaxReason);
  }

  // -- the name

  void find_name() {
    at_ = At::kNaming;
    if (deps_.launched) return admit();
    read_claims([this] { publish(false, [this] { read_claims([this] { admit(); }); }); });
  }

  /// Another came in at the same moment, perhaps: docs in routing/membership/name_claim.h.
  void look_again() {
    if (!deps_.launched && at_ == At::kIn) read_claims([] {});
  }

  /// Goes on with `free` when nobody else who lives has the name.
  void read_claims(std::function<void()> free) {
    self_->request(deps_.dht, kLocal, dht_get_atom::value, name_key(deps_.node_name))
        .then(
            [this, free](const DhtRecords& records) {
              tell_alive();
              judge(records, free);
            },
            [this, free](const caf::error&) {  // it looks again
              self_->delayed_send(self_, kLook, run_later_atom::value,
                                  LocalTask([this, free] { read_claims(free); }));
            });
  }

  struct Answers {
    size_t awaited = 0;
    std::vector<routing::NameClaim> living;
  };

  void judge(const DhtRecords& records, const std::function<void()>& free) {
    std::vector<routing::NameClaim> claims;
    for (const auto& record : records) {
      proto::NameRecord one;
      if (!one.ParseFromString(record.value)) continue;
      auto node = NodeId::from_bytes(one.node_id());
      auto endpoint = links::told_endpoint(one.endpoint());
      if (!node || !endpoint || !writes(*node, record.subkey)) continue;
      // Who was at this node's own address is gone.
      if (*node == deps_.self || *endpoint == deps_.endpoint) continue;
      claims.push_back({*node, *endpoint, one.holds()});
    }
    auto answers = std::make_shared<Answers>();
    // Those that decide first: who holds the name, then by id.
    std::sort(claims.begin(), claims.end(), [](const auto& a, const auto& b) {
      return std::tie(b.holds, a.node) < std::tie(a.holds, b.node);
    });
    claims.resize(std::min(claims.size(), kClaims));
    answers->awaited = claims.size() + 1;
    for (const auto& claim : claims)
      knock_in_background(self_, deps_.knock, claim.endpoint, deps_.detached,
                          [this, claim, answers, free](const Result<NodeInfo>& found) {
                            if (found && found->id == claim.node) answers->living.push_back(claim);
                            answered(*answers, free);
                          });
    answered(*answers, free);
  }

  void answered(Answers& answers, const std::function<void()>& free) {
    if (--answers.awaited > 0 || (at_ != At::kNaming && at_ != At::kIn)) return;
    const auto* owner = at_ == At::kIn ? routing::rightful_holder(deps_.self, answers.living)
                                       : routing::owner_of_name(deps_.self, answers.living);
    if (owner == nullptr) return free();
    at_ = At::kOut;
    const std::string where = printable(owner->endpoint.text(), kMaxReason);
    log_error(
        fmt::format("event=name_taken a node named '{}' runs at {}; give this one another "
                    "--name, or stop that one",
                    deps_.node_name, where));
    deps_.events->record(-1, -1, records::NameTaken{where});
    deps_.turned_away();
  }

  void publish(
      bool holds, std::function<void()> done = [] {}) {
    proto::NameRecord record;
    record.set_node_id(deps_.self.raw());
    record.set_endpoint(deps_.endpoint.text());
    record.set_holds(holds);
    DhtRecordLocal local;
    local.subkey = subkey_of(deps_.self);
    local.value = record.SerializeAsString();
    local.version = ++version_;
    local.ttl = std::min<milliseconds>(deps_.dht_options.refresh_every * 5 / 2, kLongestTtl);
    self_->request(deps_.dht, kLocal, dht_store_atom::value, name_key(deps_.node_name), local)
        .then(done, [done](const caf::error&) { done(); });
  }

  void admit() {
    at_ = At::kIn;
    publish(true);
    if (deps_.join.empty()) say_how_to_join();
    if (!deps_.launched)
      deps_.say(deps_.join.empty() ? "has begun a swarm; it waits for the others"
                                   : "has joined the swarm as '" + deps_.node_name + "'");
    deps_.admitted();
    if (!deps_.launched && !deps_.join.empty() && deps_.endpoint.port != 0) ask_to_dial_back();
  }

  // -- the address

  /// Of the node that it joined through; else of any that it knows.
  void ask_to_dial_back() {
    self_->request(deps_.dht, kLocal, dht_status_atom::value)
        .then(
            [this](const DhtStatus& status) {
              const auto& join = deps_.join;
              const auto joined = [&](const routing::Contact& contact) {
                return std::find(join.begin(), join.end(), contact.endpoint) != join.end();
              };
              const auto& contacts = status.contacts;
              auto through = std::find_if(contacts.begin(), contacts.end(), joined);
              if (through == contacts.end()) through = contacts.begin();
              if (through != contacts.end()) return ask_to_dial_back(*through);
              ask_to_dial_back_later({ErrorCode::kNotReady, "no contact is known"});
            },
            [this](const caf::error& error) { ask_to_dial_back_later(from_caf(error)); });
  }

  void ask_to_dial_back(const routing::Contact& through) {
    proto::DialBack question;
    question.set_endpoint(deps_.endpoint.text());
    question.set_node_id(deps_.self.raw());
    const auto mail = make_mail(std::move(question), {}, kDialBack);
    const std::string by = through.endpoint.text();
    self_
        ->request(deps_.links, kLocal, resolve_atom::value, ActorId{through.id, kDialBackName},
                  through.endpoint)
        .then(
            [this, mail, by](const caf::actor& proxy) {
              request_mail(self_, proxy, mail, [this, by](const Result<Mail>& reply) {
                if (reply && reply->kind == proto::KIND_DIAL_BACK_REPLY)
                  dialled_back(by, reply->as<proto::DialBackReply>());
                else if (reply.code() == ErrorCode::kRefused)
                  not_dialled_back(by, reply.error());
                else if (!reply)
                  ask_to_dial_back_later(reply.error());
              });
            },
            [this](const caf::error& error) { ask_to_dial_back_later(from_caf(error)); });
  }

  /// It is busy, or gone: then another one is asked.
  void ask_to_dial_back_later(const Error& error) {
    if (++dial_back_tries_ > kDialBackTries) return say_how_to_join();
    const milliseconds pause(std::max(error.retry_after_ms, kDialBackPause_ms));
    self_->delayed_send(self_, pause, run_later_atom::value,
                        LocalTask([this] { ask_to_dial_back(); }));
  }

  void say_how_to_join() {
    const std::string line = deps_.launched ? "" : deps_.how_to_join(deps_.endpoint);
    if (!line.empty()) deps_.say(line);
  }

  void dialled_back(const std::string& by, const proto::DialBackReply& reply) {
    if (reply.reached()) return say_how_to_join();
    const std::string why = printable(reply.reason(), kMaxReason);
    const std::string own = deps_.endpoint.text();
    log_error(
        fmt::format("event=announce_unreachable {} cannot dial this node back at {}: {}; "
                    "correct --announce (or node.announce), or let that port in",
                    by, own, why));
    deps_.events->record(-1, -1, records::AnnounceUnreachable{own, by, why});
    deps_.hard_to_reach();
  }

  void not_dialled_back(const std::string& by, const Error& error) {
    const std::string why = printable(error.detail, kMaxReason);
    const std::string own = deps_.endpoint.text();
    log_warn(fmt::format("event=announce_untried {} has not tried to dial this node back at {}: {}",
                         by, own, why));
    deps_.events->record(-1, -1, records::AnnounceUntried{own, by, why});
    say_how_to_join();
  }

  std::string describe() const {
    static constexpr const char* kNames[] = {"joining", "naming", "in", "out"};
    return fmt::format("entrance of {}: {}\n", deps_.node_name, kNames[static_cast<int>(at_)]);
  }

  static constexpr milliseconds kLongestTtl{3'600'000};

  Self* self_ = nullptr;
  EntranceDeps deps_;
  At at_ = At::kJoining;
  caf::actor_clock::time_point started_at_, next_word_, next_alive_;
  std::vector<JoinFailure> failures_;
  std::set<std::string> trying_;              // addresses that are tried, or were just now
  std::map<std::string, std::string> found_;  // by address; empty: somebody answers there
  std::map<std::string, std::string> said_;   // by address: why it waits, as it said last
  uint64_t version_ = 0;
  int dial_back_tries_ = 0;
};

caf::behavior entrance(Entrance::Self* self, EntranceDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_entrance(caf::actor_system& system, EntranceDeps deps) {
  return system.spawn(entrance, std::move(deps));
}

}  // namespace swarm::actors

// Attacks the nodes of a run without having its key; for tests, on one's own machine only.
//
//   attacker --targets HOST:PORT,... [--addresses N] [--seconds S] [--rate N] [--hold N] [--acts A,...]
//
// It comes from N addresses (127.0.0.2 and on) and makes `rate` connections a second (0: as many as it
// can), of which the newest `hold` stay open. It learns run id, fingerprint and names by itself: a node
// tells them to whoever claims to have a key. The acts follow one another on every connection's turn:
//
//   idle     says nothing                            noise    random bytes, some like a chunk
//   unsaid   mail of every kind without a hello      hello    hellos with every role, name and proof
//   mail     every kind to every actor, after one    weights  asks for all that has tensors in it
//   slow     bodies, heads and hellos byte by byte   nested   1 MiB of messages in messages
//   flood    small requests, answers left unread     dht      records without end, and reads them
//
// SIGTERM ends it early. Prints one line of JSON: what it was answered, by kind, and `weight_bytes`: what came of tensors. Exit
// code 3 if any came.
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "routing/dht/dht_key.h"
#include "swarm/collect.pb.h"
#include "swarm/console.pb.h"
#include "swarm/dht.pb.h"
#include "swarm/error.pb.h"
#include "swarm/state.pb.h"
#include "swarm/train.pb.h"
#include "swarm/voting.pb.h"
#include "tests/attack/wire.h"

namespace swarm::attack {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<Target> targets;
  std::vector<std::string> acts{"idle",    "noise", "unsaid", "hello", "mail",
                                "weights", "slow",  "nested", "flood", "dht"};
  uint32_t addresses = 1;
  double seconds = 10;
  double rate = 0;
  size_t hold = 1'000;
};

const std::vector<std::string> kActors = {
    "dht",     "stage.0", "averager.0", "state.0",   "coordinator", "voter", "console",
    "records", "echo",    "supervisor", "dial_back", "call_back",   "links", "nobody"};

/// Of the message that a kind's head is; null: there is none.
const google::protobuf::Descriptor* type_of(const google::protobuf::EnumValueDescriptor& kind) {
  std::string name;
  bool upper = true;
  for (const char c : kind.name().substr(std::strlen("KIND_"))) {
    if (c != '_') name += static_cast<char>(upper ? c : c + ('a' - 'A'));
    upper = c == '_';
  }
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  const auto* found = pool->FindMessageTypeByName("swarm.proto." + name);
  return found != nullptr ? found : pool->FindMessageTypeByName("swarm.proto." + name + "Request");
}

/// How a message is filled.
enum class Fill { kEmpty, kSmall, kHuge };

/// What is known of the run; grows as nodes tell.
class Knowledge {
 public:
  void learn(const proto::Hello& hello) {
    std::lock_guard lock(mutex_);
    hello_ = hello;
    names_[hello.node_name()] = hello.node_id();
  }
  proto::Hello hello() {
    std::lock_guard lock(mutex_);
    return hello_;
  }
  /// (name, id) of a node; made up while none is known.
  std::pair<std::string, std::string> victim(uint32_t number) {
    std::lock_guard lock(mutex_);
    if (names_.empty()) return {"node", std::string(16, 'v')};
    return *std::next(names_.begin(), number % names_.size());
  }

 private:
  std::mutex mutex_;
  proto::Hello hello_;
  std::map<std::string, std::string> names_;
};

class Counts {
 public:
  void add(const std::string& what, uint64_t count = 1) {
    std::lock_guard lock(mutex_);
    counts_[what] += count;
  }
  uint64_t of(const std::string& what) { return counts_[what]; }
  std::string json() {
    std::string out = "{";
    for (const auto& [what, count] : counts_)
      out += (out.size() > 1 ? "," : "") + ("\"" + what + "\":") + std::to_string(count);
    return out + "}";
  }

 private:
  std::mutex mutex_;
  std::map<std::string, uint64_t> counts_{{"weight_bytes", 0}};
};

/// One thread's share of the attack.
class Attacker {
 public:
  Attacker(const Options& options, Knowledge& knowledge, Counts& counts, uint32_t seed)
      : options_(options), knowledge_(knowledge), counts_(counts), random_(seed), turn_(seed) {}

  void act() {
    const Target& target = options_.targets[random_() % options_.targets.size()];
    Line line(target, static_cast<uint32_t>(random_() % options_.addresses));
    counts_.add(line.open() ? "connections" : "not_connected");
    if (!line.open()) return;
    const std::string& act = options_.acts[turn_++ % options_.acts.size()];
    carry_out(act, line);
    hear(line, milliseconds(act == "idle" ? 0 : 20));  // thousands a second may stay open
    if (line.open()) held_.emplace_back(std::move(line), slow_);
  }
  /// Another byte of what is slow; the oldest of what is kept open are let go.
  void keep(size_t hold) {
    while (held_.size() > hold) held_.pop_front();
    for (auto& [line, slow] : held_)
      if (slow) line.say("\x01");
  }

 private:
  void carry_out(const std::string& act, Line& line) {
    slow_ = act == "slow";
    if (act == "noise") line.say(noise());
    if (act == "unsaid") say_mail(line, any_kind(), any_fill());
    if (act == "hello") greet(line, true);
    if (act == "mail" && greet(line, random_() % 2 == 0))
      for (int i = 0; i < 100 && line.open(); ++i) say_mail(line, any_kind(), any_fill());
    if (act == "weights" && greet(line, false)) ask_for_weights(line);
    if (act == "slow") be_slow(line);
    if (act == "nested" && greet(line, false)) nest(line);
    if (act == "flood" && greet(line, false)) flood(line);
    if (act == "dht" && greet(line, false)) fill_dht(line);
  }

  std::string bytes(size_t count) {
    std::string out(count, '\0');
    for (char& byte : out) byte = static_cast<char>(random_());
    return out;
  }
  std::string noise() {
    std::string out = bytes(1 + random_() % 65'536);
    if (random_() % 2 == 0) out.replace(0, 8, std::string("\xC5\x03\0\0\xFF\xFF\0\0", 8));
    if (random_() % 4 == 0)
      out.replace(8, 5, std::string("SWRM") + static_cast<char>(kProtocolVersion));
    return out;
  }
  Fill any_fill() { return static_cast<Fill>(random_() % 3); }
  const google::protobuf::EnumValueDescriptor& any_kind() {
    const auto& kinds = *proto::MessageKind_descriptor();
    return *kinds.value(static_cast<int>(random_() % static_cast<uint32_t>(kinds.value_count())));
  }

  /// A hello in somebody's name, or as a tool. `proves`: says that it has the key. True: it was
  /// answered with a hello.
  bool greet(Line& line, bool proves) {
    proto::Hello hello = knowledge_.hello();
    const auto [name, id] = knowledge_.victim(static_cast<uint32_t>(random_()));
    const bool tool = random_() % 4 == 0;
    hello.set_protocol_version(kProtocolVersion);
    hello.set_is_tool(tool);
    hello.set_roles(tool ? 0 : 7 - static_cast<uint32_t>(random_() % 8));
    hello.set_node_name(random_() % 2 == 0 ? name : "stranger" + std::to_string(random_() % 1000));
    hello.set_node_id(random_() % 4 == 0 ? id : bytes(16));
    hello.set_listen(random_() % 8 == 0 ? "far.invalid:9" : "127.0.0.1:9");
    hello.set_demands_key(false);
    hello.clear_proof();
    hello.set_nonce(proves ? bytes(random_() % 8 == 0 ? 5 : 16) : "");
    if (!line.say(frame_of({proto::KIND_HELLO, hello.SerializeAsString()}))) return false;
    proto::Hello theirs;
    for (const Heard& heard : hear(line, milliseconds(200)))
      if (heard.kind == proto::KIND_HELLO && theirs.ParseFromString(heard.head)) {
        knowledge_.learn(theirs);
        counts_.add(proves ? "hellos_answered" : "links_up");
        if (!proves) return true;
        proto::Proof proof;  // its own words back, or made up
        proof.set_proof(random_() % 2 == 0 ? theirs.proof() : bytes(32));
        return line.say(frame_of({proto::KIND_PROOF, proof.SerializeAsString()}));
      }
    return false;
  }

  void fill(Message& message, Fill how, int depth) {
    const auto& reflection = *message.GetReflection();
    for (int i = 0; how != Fill::kEmpty && i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* field = message.GetDescriptor()->field(i);
      if (field->name() == "payload") continue;
      const bool huge = how == Fill::kHuge;
      const auto number = huge ? UINT64_MAX : random_() % 3;
      for (int n = 0; n < (field->is_repeated() ? 3 : 1); ++n)
        set(message, reflection, field, number, how, depth);
    }
  }
  void set(Message& message, const google::protobuf::Reflection& to, const FieldDescriptor* field,
           uint64_t number, Fill how, int depth) {
    const bool many = field->is_repeated();
    const auto victim = knowledge_.victim(static_cast<uint32_t>(random_()));
    const auto put = [&](auto one, auto more, auto value) {
      many ? (to.*more)(&message, field, value) : (to.*one)(&message, field, value);
    };
    using R = google::protobuf::Reflection;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return put(&R::SetUInt32, &R::AddUInt32, static_cast<uint32_t>(number));
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(&R::SetUInt64, &R::AddUInt64, number);
      case FieldDescriptor::CPPTYPE_INT32:
        return put(&R::SetInt32, &R::AddInt32, static_cast<int32_t>(number));
      case FieldDescriptor::CPPTYPE_INT64:
        return put(&R::SetInt64, &R::AddInt64, static_cast<int64_t>(number));
      case FieldDescriptor::CPPTYPE_BOOL:
        return put(&R::SetBool, &R::AddBool, true);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return put(&R::SetFloat, &R::AddFloat, how == Fill::kHuge ? HUGE_VALF : 1.0F);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(&R::SetDouble, &R::AddDouble, how == Fill::kHuge ? HUGE_VAL : 1.0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return put(&R::SetEnumValue, &R::AddEnumValue, static_cast<int>(number % 100));
      case FieldDescriptor::CPPTYPE_STRING: {
        const bool raw = field->type() == FieldDescriptor::TYPE_BYTES;
        const std::array<std::string, 4> texts = {victim.first, victim.first, "10.9.8.7:80",
                                                  "far.invalid:80"};
        std::string text = raw ? victim.second : texts[random_() % texts.size()];
        if (how == Fill::kHuge)
          text += std::string("\x1b[2J\n") + std::string(random_() % 500, 'x');
        if (many) return to.AddString(&message, field, std::move(text));
        return to.SetString(&message, field, std::move(text));
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth == 0) return;
        return fill(many ? *to.AddMessage(&message, field) : *to.MutableMessage(&message, field),
                    how, depth - 1);
    }
  }

  void say_mail(Line& line, const google::protobuf::EnumValueDescriptor& kind, Fill how) {
    Said said;
    said.kind = static_cast<uint32_t>(kind.number());
    if (const auto* type = type_of(kind)) {
      const std::unique_ptr<Message> head(
          MessageFactory::generated_factory()->GetPrototype(type)->New());
      fill(*head, how, 3);
      said.head = head->SerializeAsString();
    }
    said.actor = kActors[random_() % kActors.size()];
    said.request_id = random_() % 4 == 0 ? 0 : ++next_id_;
    if (random_() % 8 == 0) said.body = bytes(1 + random_() % 4'096);
    line.say(frame_of(said));
  }

  void request(Line& line, proto::MessageKind kind, const std::string& actor, const Message& head) {
    line.say(
        frame_of({static_cast<uint32_t>(kind), head.SerializeAsString(), {}, actor, ++next_id_}));
  }
  void ask_for_weights(Line& line) {
    for (uint32_t stage = 0; stage < 2; ++stage) {
      proto::StateInfo info;
      info.set_stage(stage);
      request(line, proto::KIND_STATE_INFO, "state.0", info);
      proto::StateRange range;
      range.set_stage(stage);
      range.set_count(1'000);
      request(line, proto::KIND_STATE_RANGE, "state.0", range);
    }
    request(line, proto::KIND_LIST_RECORDS, "records", proto::ListRecords());
    proto::ConsoleRequest console;
    console.set_line("kill seed");
    request(line, proto::KIND_CONSOLE, "console", console);
    request(line, proto::KIND_CONSOLE_ORDER, "console", console);
    for (const Heard& heard : hear(line, milliseconds(100))) {
      proto::StateInfoReply state;
      if (heard.kind != proto::KIND_STATE_INFO_REPLY || !state.ParseFromString(heard.head))
        continue;
      proto::StateChunk chunk;
      chunk.set_handle(state.handle());
      chunk.set_size_bytes(1 << 20);
      request(line, proto::KIND_STATE_CHUNK, "state.0", chunk);
    }
    hear(line, milliseconds(100));
  }

  /// Begins what it never ends; keep() goes on.
  void be_slow(Line& line) {
    if (random_() % 3 == 0) {
      line.say(frame_of({proto::KIND_HELLO, std::string(4'000, 'h')}).substr(0, 60));
      return;
    }
    if (!greet(line, random_() % 2 == 0)) return;
    Said said;
    said.traffic = static_cast<uint8_t>(random_() % 4);
    const std::array<proto::MessageKind, 4> kinds = {proto::KIND_ECHO, proto::KIND_AVERAGE_PART,
                                                     proto::KIND_FORWARD, proto::KIND_ECHO};
    const std::array<const char*, 4> actors = {"echo", "averager.0", "stage.0", "echo"};
    said.kind = static_cast<uint32_t>(kinds[said.traffic]);
    said.actor = actors[said.traffic];
    said.request_id = ++next_id_;
    said.says_body = 64u << 20;
    said.body = "b";
    line.say(frame_of(said));
  }
  void nest(Line& line) {
    std::string nested(1'000'000, '\0');
    for (size_t i = 0; i + 1 < nested.size(); i += 2) nested[i] = 0x0a;  // field 1, without bytes
    for (const auto kind : {proto::KIND_CLOSE_STEP, proto::KIND_LEASE, proto::KIND_DHT_STORE,
                            proto::KIND_VOTER_STORE, proto::KIND_REGISTER_PEER})
      line.say(frame_of({static_cast<uint32_t>(kind), nested, {}, "coordinator", ++next_id_}));
    std::string deep;  // each in the next
    for (int i = 0; i < 20'000; ++i) {
      std::string size;
      for (size_t left = deep.size();; left >>= 7) {
        size += static_cast<char>(left > 0x7f ? left | 0x80 : left);
        if (left <= 0x7f) break;
      }
      deep = "\x0a" + size + deep;
    }
    line.say(frame_of({proto::KIND_DHT_STORE, deep, {}, "dht", ++next_id_}));
  }
  void flood(Line& line) {
    const std::string body(32u << 10, 'e');
    for (int i = 0; i < 50; ++i)
      if (!line.say(frame_of({proto::KIND_ECHO, {}, body, "echo", ++next_id_}))) return;
    for (int i = 0; i < 200; ++i)
      request(line, proto::KIND_SWARM_STATUS, "coordinator", proto::SwarmStatus());
  }

  /// Large records under the keys that all nodes read, small ones under keys of their own; each for an hour.
  void fill_dht(Line& line) {
    static const std::array<const char*, 3> kKeys = {"coordinator", "stage/0", "stage/1"};
    for (const char* name : kKeys) {
      const auto key = routing::dht_key(knowledge_.hello().run_id() + "/" + name).raw();
      store(line, key, 128, 4'096);
      proto::DhtFind find;
      find.set_key(key);
      request(line, proto::KIND_DHT_FIND, "dht", find);
    }
    for (int i = 0; i < 1'000 && line.open(); ++i) store(line, bytes(16), 1, 0);
  }
  void store(Line& line, const std::string& key, int records, size_t value_bytes) {
    proto::DhtStore message;
    message.set_key(key);
    for (int i = 0; i < records; ++i) {
      auto& record = *message.add_records();
      record.set_subkey(std::to_string(random_()));  // sorts before a node's
      record.set_value(bytes(value_bytes));
      record.set_ttl_ms(3'600'000);
    }
    request(line, proto::KIND_DHT_STORE, "dht", message);
  }

  std::vector<Heard> hear(Line& line, milliseconds patience) {
    auto all = line.listen(patience);
    for (const Heard& heard : all) {
      std::string what = proto::MessageKind_IsValid(static_cast<int>(heard.kind))
                             ? proto::MessageKind_Name(static_cast<proto::MessageKind>(heard.kind))
                             : "unknown";
      proto::Error error;
      if (heard.kind == proto::KIND_ERROR && error.ParseFromString(heard.head))
        what += " " + std::to_string(error.code());
      counts_.add(what);
      if (heard.body_bytes > 0 && heard.kind != proto::KIND_ECHO)
        counts_.add("weight_bytes", heard.body_bytes);
    }
    return all;
  }

  const Options& options_;
  Knowledge& knowledge_;
  Counts& counts_;
  std::mt19937_64 random_;
  size_t turn_;
  uint64_t next_id_ = 0;
  bool slow_ = false;  // the act under way
  std::deque<std::pair<Line, bool>> held_;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, ',');) out.push_back(one);
  return out;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--addresses") options.addresses = static_cast<uint32_t>(std::stoul(value));
    if (name == "--seconds") options.seconds = std::stod(value);
    if (name == "--rate") options.rate = std::stod(value);
    if (name == "--hold") options.hold = std::stoul(value);
    if (name == "--acts") options.acts = split(value);
    if (name != "--targets") continue;
    for (const auto& at : split(value)) {
      const size_t colon = at.rfind(':');
      options.targets.push_back(
          {at.substr(0, colon), static_cast<uint16_t>(std::stoul(at.substr(colon + 1)))});
    }
  }
  return options;
}

std::atomic<bool> told_to_stop{false};

int attack(const Options& options) {
  constexpr uint32_t kThreads = 4;
  Knowledge knowledge;
  Counts counts;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration<double>(options.seconds);
  std::atomic<uint64_t> made{0};
  std::vector<std::thread> threads;
  for (uint32_t n = 0; n < kThreads; ++n)
    threads.emplace_back([&, n] {
      Attacker attacker(options, knowledge, counts, n + 1);
      auto next_byte = begin;
      while (Clock::now() < end && !told_to_stop) {
        const auto number = static_cast<double>(made++);
        if (options.rate > 0)
          std::this_thread::sleep_until(begin +
                                        std::chrono::duration<double>(number / options.rate));
        attacker.act();
        if (Clock::now() < next_byte) continue;
        next_byte = Clock::now() + std::chrono::seconds(1);
        attacker.keep(options.hold / kThreads);
      }
    });
  for (auto& thread : threads) thread.join();
  std::printf("%s\n", counts.json().c_str());
  return counts.of("weight_bytes") == 0 ? 0 : 3;
}

}  // namespace
}  // namespace swarm::attack

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTERM, [](int) { swarm::attack::told_to_stop = true; });
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto options = swarm::attack::parse(argc, argv);
  if (options.targets.empty() || options.acts.empty() || options.addresses == 0) {
    std::fprintf(stderr,
                 "usage: attacker --targets HOST:PORT,... [--addresses N] [--seconds S] "
                 "[--rate N] [--hold N] [--acts A,...]\n");
    return 2;
  }
  return swarm::attack::attack(options);
}

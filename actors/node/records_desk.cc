#include "actors/node/records_desk.h"

#include <xxhash.h>

#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "records/node_files.h"
#include "storage/file_digest.h"
#include "swarm/collect.pb.h"

namespace swarm::actors {
namespace {

constexpr std::chrono::seconds kKeepSnapshot{30};
constexpr std::chrono::seconds kLocal{10};
constexpr std::chrono::seconds kTellRead{1};
constexpr int kMostNodes = 1'000;

Error invalid(std::string why) { return {ErrorCode::kInvalidArgument, std::move(why)}; }

class RecordsDesk {
 public:
  static constexpr const char* name = "records_desk";
  using Self = caf::stateful_actor<RecordsDesk>;

  caf::behavior start(Self* self, RecordsDeskDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    self_->send(deps_.links, register_atom::value, std::string(kRecordsName),
                caf::actor_cast<caf::actor>(self_));
    return {
        [this](const Mail& mail) { return on_mail(mail); },
        [](run_later_atom, const LocalTask& task) { task(); },
    };
  }

 private:
  caf::result<Mail> on_mail(const Mail& mail) {
    switch (mail.kind) {
      case proto::KIND_LIST_RECORDS:
        tell_read();
        return list();
      case proto::KIND_READ_RECORD: {
        tell_read();
        auto range = read(mail.as<proto::ReadRecord>());
        if (!range) return to_caf(range.error());
        return std::move(*range);
      }
      case proto::KIND_COLLECTED:
        deps_.collected(mail.as<proto::Collected>().finished());
        return make_mail(proto::Ack());
      default:
        return to_caf(invalid("the records desk lists and reads"));
    }
  }

  void tell_read() {
    const auto now = self_->clock().now();
    if (told_read_ && now < *told_read_ + kTellRead) return;
    told_read_ = now;
    deps_.read();
  }

  // -- what there is

  caf::result<Mail> list() {
    proto::ListRecordsReply reply;
    reply.set_run_id(deps_.run_id);
    reply.set_node_name(deps_.node_name);
    reply.set_num_stages(deps_.num_stages);
    for (const auto& file : records::node_files_in(deps_.node_folder)) add_file(file, reply);
    if (const auto added = add_snapshots(reply); !added) return to_caf(added.error());
    auto promise = self_->make_response_promise<Mail>();
    self_->request(deps_.dht, kLocal, dht_status_atom::value)
        .then(
            [this, reply, promise](const DhtStatus& status) mutable {
              for (const auto& contact : status.contacts)
                add_node(contact.id, contact.endpoint, reply);
              add_linked(std::move(reply), promise);
            },
            [this, reply, promise](const caf::error&) mutable {
              add_linked(std::move(reply), promise);
            });
    return promise;
  }

  void add_linked(proto::ListRecordsReply reply, caf::typed_response_promise<Mail> promise) {
    self_->request(deps_.links, kLocal, stats_atom::value)
        .then(
            [reply, promise](const LinksStats& stats) mutable {
              for (const auto& link : stats.links)
                if (!link.node.is_tool) add_node(link.node.id, link.node.endpoint, reply);
              promise.deliver(make_mail(std::move(reply)));
            },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  }

  static void add_node(const NodeId& id, const Endpoint& endpoint, proto::ListRecordsReply& out) {
    if (endpoint.port == 0 || out.nodes_size() >= kMostNodes) return;
    auto* one = out.add_nodes();
    one->set_node_id(id.raw());
    one->set_endpoint(endpoint.text());
  }

  void add_file(const std::string& file, proto::ListRecordsReply& out) const {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path_of(file), error);
    if (error) return;  // it is not written by every node
    const auto digest = storage::file_digest(path_of(file), bytes);
    if (!digest) return;
    auto* one = out.add_files();
    one->set_name(file);
    one->set_bytes(bytes);
    one->set_digest(*digest);
  }

  Status add_snapshots(proto::ListRecordsReply& out) const {
    for (uint32_t stage = 0; deps_.store && stage < deps_.num_stages; ++stage) {
      const auto steps = deps_.store->steps(stage_key(stage));
      if (!steps) return steps.error();
      for (const uint64_t step : *steps) {
        auto* one = out.add_snapshots();
        one->set_stage(stage);
        one->set_step(step);
      }
    }
    return {};
  }

  // -- ranges of it

  Result<Mail> read(const proto::ReadRecord& what) {
    if (what.max_bytes() == 0 || what.max_bytes() > kMostRecordBytes)
      return invalid("max_bytes: expected 1 to 1048576, found " + std::to_string(what.max_bytes()));
    return what.file().empty() ? read_snapshot(what) : read_file(what);
  }

  Result<Mail> read_file(const proto::ReadRecord& what) const {
    if (records::find_node_file(what.file()) == nullptr)
      return invalid("no such file of a node's records");
    std::ifstream file(path_of(what.file()), std::ios::binary | std::ios::ate);
    if (!file) return Error{ErrorCode::kNotFound, "there is no " + what.file()};
    const auto size = static_cast<uint64_t>(file.tellg());
    if (what.offset() > size) return invalid("the range begins beyond the end");
    std::string part(std::min<uint64_t>(what.max_bytes(), size - what.offset()), '\0');
    file.seekg(static_cast<std::streamoff>(what.offset()));
    if (!file.read(part.data(), static_cast<std::streamsize>(part.size())))
      return Error{ErrorCode::kIo, "cannot read " + what.file()};
    proto::ReadRecordReply reply;
    reply.set_total_bytes(size);
    return make_mail(std::move(reply), Buffer::from_string(std::move(part)));
  }

  Result<Mail> read_snapshot(const proto::ReadRecord& what) {
    if (auto there = open_snapshot(what.stage(), what.step()); !there) return there.error();
    const Buffer& value = open_->value;
    if (what.offset() > value.size()) return invalid("the range begins beyond the end");
    proto::ReadRecordReply reply;
    reply.set_total_bytes(value.size());
    reply.set_digest(open_->digest);
    const auto size = std::min<uint64_t>(what.max_bytes(), value.size() - what.offset());
    return make_mail(std::move(reply),
                     value.slice(static_cast<size_t>(what.offset()), static_cast<size_t>(size)));
  }

  Status open_snapshot(uint32_t stage, uint64_t step) {
    if (!deps_.store || stage >= deps_.num_stages)
      return Error{ErrorCode::kNotFound, "this node has no such snapshot"};
    if (!open_ || open_->stage != stage || open_->step != step) {
      open_.reset();  // before the next is read: one at a time
      auto value = deps_.store->get({stage_key(stage), step});
      if (!value) return value.error();
      const uint64_t digest = XXH64(value->data(), value->size(), 0);
      open_ = Snapshot{stage, step, *value, digest};
    }
    read_at_ = self_->clock().now();
    if (!watching_) watch();
    return {};
  }

  /// Lets the snapshot go once nobody has read from it for a while.
  void watch() {
    watching_ = open_ && self_->clock().now() < read_at_ + kKeepSnapshot;
    if (!watching_) return open_.reset();
    self_->delayed_send(self_, kKeepSnapshot, run_later_atom::value,
                        LocalTask([this] { watch(); }));
  }

  std::string path_of(const std::string& file) const { return deps_.node_folder + "/" + file; }

  struct Snapshot {
    uint32_t stage = 0;
    uint64_t step = 0;
    Buffer value;
    uint64_t digest = 0;
  };

  Self* self_ = nullptr;
  RecordsDeskDeps deps_;
  std::optional<Snapshot> open_;
  caf::actor_clock::time_point read_at_;
  std::optional<caf::actor_clock::time_point> told_read_;
  bool watching_ = false;
};

caf::behavior records_desk(RecordsDesk::Self* self, RecordsDeskDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_records_desk(caf::actor_system& system, RecordsDeskDeps deps) {
  return deps.detached ? system.spawn<caf::detached>(records_desk, std::move(deps))
                       : system.spawn(records_desk, std::move(deps));
}

}  // namespace swarm::actors

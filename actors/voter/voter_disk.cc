#include "actors/voter/voter_disk.h"

#include <ctime>
#include <utility>

#include "actors/net/log.h"
#include "storage/kept_file.h"
#include "storage/set_aside.h"

namespace swarm::actors {
namespace {

class VoterFile final : public VoterDisk {
 public:
  VoterFile(std::string path, std::shared_ptr<EventLog> events)
      : path_(std::move(path)), events_(std::move(events)) {}

  Result<std::optional<std::string>> load() override {
    const auto record = storage::read_kept(path_);
    if (record) return std::optional<std::string>(*record);
    if (record.code() == ErrorCode::kNotFound) return std::optional<std::string>();
    if (record.code() != ErrorCode::kCorruptCheckpoint) return record.error();
    const auto aside = storage::set_aside(path_, std::to_string(::time(nullptr)));
    if (!aside) return aside.error();
    log_error("event=voter_set_aside path=" + *aside + " reason=\"" + record.error().detail + "\"");
    events_->record(-1, -1, records::VoterSetAside{*aside, record.error()});
    return std::optional<std::string>();
  }

  Status save(const std::string& bytes) override { return storage::write_kept(path_, bytes); }

 private:
  std::string path_;
  std::shared_ptr<EventLog> events_;  // shared by all actors of the node
};

}  // namespace

std::shared_ptr<VoterDisk> voter_file(const std::string& node_folder,
                                      std::shared_ptr<EventLog> events) {
  return std::make_shared<VoterFile>(node_folder + "/" + kVoterFile, std::move(events));
}

}  // namespace swarm::actors

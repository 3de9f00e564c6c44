#include "records/kept_stages.h"

#include "records/fields.h"
#include "records/files.h"

namespace swarm::records {
namespace {

struct StagesFile {
  std::string run;
  std::vector<int32_t> first, now;
  template <class Visitor>
  void fields(Visitor& v) {
    v("run", run);
    v("first", first);
    v("now", now);
  }
};

std::string file_in(const std::string& folder) { return folder + "/stages.json"; }

}  // namespace

KeptStages::KeptStages(const std::string& folder, const std::string& run_id,
                       std::vector<int32_t> first)
    : first_(std::move(first)),
      now_(read_kept_stages(folder, run_id, first_)),
      file_(file_in(folder)),
      run_id_(run_id) {}

int32_t KeptStages::at(size_t place) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return now_.at(place);
}

std::vector<int32_t> KeptStages::all() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return now_;
}

Status KeptStages::move(size_t place, int32_t stage) {
  std::lock_guard<std::mutex> lock(mutex_);
  now_.at(place) = stage;
  if (file_.empty()) return {};
  StagesFile file{run_id_, first_, now_};
  return write_atomically(file_, to_json(write_fields(file)) + "\n");
}

std::vector<int32_t> read_kept_stages(const std::string& node_folder, const std::string& run_id,
                                      const std::vector<int32_t>& first) {
  const auto text = read_file(file_in(node_folder));
  const auto object = text ? parse_object(*text) : std::nullopt;
  if (!object) return first;
  std::string fault;
  const auto file = read_fields<StagesFile>(*object, &fault);
  const bool counts =
      fault.empty() && file.run == run_id && file.first == first && file.now.size() == first.size();
  return counts ? file.now : first;
}

}  // namespace swarm::records

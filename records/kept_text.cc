#include "records/kept_text.h"

#include <filesystem>
#include <system_error>

#include "records/fields.h"
#include "records/files.h"

namespace swarm::records {
namespace {

struct TextFile {
  std::string run;
  uint64_t fingerprint = 0;
  std::string path, node;
  template <class Visitor>
  void fields(Visitor& v) {
    v("run", run);
    v.hex("fingerprint", fingerprint);
    v("path", path);
    v("node", node);
  }
};

std::string file_in(const std::string& folder) { return folder + "/text.json"; }

Result<TextFile> read(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto object = parse_object(*text);
  std::string fault = "is no object";
  TextFile file;
  if (object) file = read_fields<TextFile>(*object, &fault);
  if (!fault.empty()) return Error{ErrorCode::kInvalidArgument, path + " is damaged: it " + fault};
  return file;
}

RunText text_of(const TextFile& file) { return {file.fingerprint, file.path, file.node}; }

}  // namespace

KeptText::KeptText(const std::string& folder, const std::string& run_id)
    : file_(file_in(folder)), run_id_(run_id) {
  if (const auto file = read(file_); file && file->run == run_id_)
    text_ = written_ = text_of(*file);
}

RunText KeptText::get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return text_;
}

void KeptText::keep(const RunText& text) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (text.known()) text_ = text;
}

Status KeptText::settle() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!text_.known() || text_ == written_ || file_.empty()) return {};
  written_ = text_;
  TextFile file{run_id_, text_.fingerprint, text_.path, text_.node_name};
  return write_atomically(file_, to_json(write_fields(file)) + "\n");
}

Result<RunText> read_kept_text(const std::string& node_folder) {
  const auto file = read(file_in(node_folder));
  if (!file) return file.error();
  return text_of(*file);
}

std::map<std::string, RunText> read_kept_texts(const std::string& run_folder) {
  std::map<std::string, RunText> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder + "/nodes", none))
    if (const auto text = read_kept_text(entry.path().string()))
      out[entry.path().filename().string()] = *text;
  return out;
}

}  // namespace swarm::records

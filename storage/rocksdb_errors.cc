#include "storage/rocksdb_errors.h"

namespace swarm::storage {

Error to_error(const rocksdb::Status& status, const std::string& what) {
  if (status.IsCorruption())
    return {ErrorCode::kCorruptCheckpoint, what + ": " + status.ToString()};
  return {ErrorCode::kIo, what + ": " + status.ToString()};
}

Error open_error(const rocksdb::Status& status, const std::string& directory) {
  std::string reason = status.ToString();
  if (!status.IsCorruption() && (reason.find("lock file") != std::string::npos ||
                                 reason.find("lock hold") != std::string::npos))
    return {ErrorCode::kNotReady,
            "the checkpoint store '" + directory +
                "' is in use by another process (or open twice in this one): stop "
                "that process or use another directory (" +
                reason + ")"};
  // A file that another one names is not there, or does not say what it must.
  const bool damaged = status.IsCorruption() || status.IsPathNotFound() ||
                       status.IsNotSupported() || status.IsInvalidArgument();
  return {damaged ? ErrorCode::kCorruptCheckpoint : ErrorCode::kIo,
          "cannot open the checkpoint store '" + directory + "': " + reason};
}

}  // namespace swarm::storage

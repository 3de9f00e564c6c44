/// Keeps a second process out of a node's folder. One owner.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/result.h"

namespace swarm::records {

class FolderLock {
 public:
  /// Waits up to `patience` for a process that is ending: a killed one holds it until it is gone. No
  /// child inherits it. A file system without locks lets everybody in. Errors: kIo, naming the folder.
  static Result<std::unique_ptr<FolderLock>> take(const std::string& folder,
                                                  std::chrono::milliseconds patience);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace swarm::records

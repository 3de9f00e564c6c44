#include "records/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace swarm::records {

Result<std::unique_ptr<FolderLock>> FolderLock::take(const std::string& folder,
                                                     std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{20};
  const std::string path = folder + "/.lock";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return Error{ErrorCode::kIo, "cannot open " + path + ": " + std::strerror(errno)};
  std::unique_ptr<FolderLock> lock(new FolderLock(fd));
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;
    if (std::chrono::steady_clock::now() >= until)
      return Error{ErrorCode::kIo, folder + " is in use by another process of this node"};
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace swarm::records

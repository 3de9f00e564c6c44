/// A full disk, as a library that `swarm run` preloads into the nodes where an experiment asks for one
/// (apps/launch/full_disk.h). While the file `disk_full` is in the folder that SWARM_FULL_DISK names,
/// writes to files below it fail with ENOSPC; not those to *.jsonl and *.txt, the records by which a run
/// is judged and its logs. Reads, renames and removals succeed, as they do on a full disk.
///
/// Stands in for the C library's functions, so it uses nothing that may write or allocate.
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool ends_in(const char* text, size_t size, const char* end) {
  const size_t length = std::strlen(end);
  return size >= length && std::memcmp(text + size - length, end, length) == 0;
}

/// Whether `fd` lies on the disk, and it is full. Leaves errno as it was.
bool no_space(int fd) {
  static const char* const folder = std::getenv("SWARM_FULL_DISK");
  if (folder == nullptr) return false;
  const int before = errno;
  char name[PATH_MAX], path[PATH_MAX];
  const size_t length = std::strlen(folder);
  std::snprintf(name, sizeof name, "%s/disk_full", folder);
  bool full = ::access(name, F_OK) == 0;
  if (full) {
    std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t size = ::readlink(name, path, sizeof path);
    const size_t end = size > 0 ? static_cast<size_t>(size) : 0;
    full = end > length && std::memcmp(path, folder, length) == 0 && path[length] == '/' &&
           !ends_in(path, end, ".jsonl") && !ends_in(path, end, ".txt");
  }
  errno = before;
  return full;
}

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The same for each function that writes to a descriptor.
#define SWARM_STAND_IN(name, parameters, arguments) \
  extern "C" ssize_t name parameters {              \
    static const auto real = next(&(name), #name);  \
    if (!no_space(fd)) return real arguments;       \
    errno = ENOSPC;                                 \
    return -1;                                      \
  }

SWARM_STAND_IN(write, (int fd, const void* data, size_t size), (fd, data, size))
SWARM_STAND_IN(pwrite, (int fd, const void* data, size_t size, off_t at), (fd, data, size, at))
SWARM_STAND_IN(pwrite64, (int fd, const void* data, size_t size, off64_t at), (fd, data, size, at))
SWARM_STAND_IN(writev, (int fd, const iovec* parts, int count), (fd, parts, count))

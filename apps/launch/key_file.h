/// The file with a run's key: 64 hex digits, mode 600. Who has it may act on the run's nodes and
/// fetch its weights (docs/protocol.md, the run's key).
#pragma once

#include <unistd.h>

#include <string>

#include "common/result.h"

namespace swarm::launch {

/// The key, 32 bytes. Errors: kNotFound; kInvalidArgument (others than its owner may read it, or it
/// holds no key); kIo.
Result<std::string> read_key_file(const std::string& path);

/// link(2), or what a file system without hard links makes of it.
using MakeLink = int (*)(const char* from, const char* to);

/// Makes a new key in `path` and its folders. Several processes may try at once: one key comes of
/// it, whole; where the file system has no hard links, who comes second may find it half written.
/// Errors: kAlreadyExists, kIo.
Status make_key_file(const std::string& path, MakeLink make_link = ::link);

/// How a node comes to its key.
struct KeyUse {
  std::string path;
  bool given = false;   ///< By the user: it is this one or none.
  bool makes = false;   ///< The node makes it if there is none.
  bool needed = false;  ///< The node listens where the key is demanded.
};
struct UsedKey {
  std::string key;      ///< Empty: the node goes on without.
  std::string warning;  ///< Why, if it should have had one.
};
/// A key that is neither given nor needed, and cannot be read or made (a file system without modes or
/// hard links), is done without. Errors: as read_key_file(); kNotFound also if there is no key and it is
/// needed.
Result<UsedKey> find_key(const KeyUse& use, MakeLink make_link = ::link);

}  // namespace swarm::launch

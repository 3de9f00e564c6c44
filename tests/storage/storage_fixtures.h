/// What the tests of storage share: values that depend on the step.
#pragma once

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "storage/checkpoint_store.h"
#include "tests/support/ids.h"
#include "tests/support/temporary_directory.h"

namespace swarm::testing {

/// A table of a snapshot's chunks: the others, of manifests, are small.
inline bool holds_chunks(const std::filesystem::directory_entry& file) {
  return file.path().extension() == ".sst" && file.file_size() > 20'000;
}

/// Incompressible bytes determined by (step, size).
inline Buffer content(uint64_t step, size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  uint64_t state = step * 0x9e3779b97f4a7c15ull + 0x1234567ull;
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state >> 32);
  }
  return Buffer::from_string(std::move(bytes));
}

inline std::shared_ptr<storage::CheckpointStore> open_store(const std::string& directory,
                                                            uint32_t chunk_bytes = 64u << 10) {
  auto store = storage::open_rocksdb_checkpoint_store({directory, chunk_bytes});
  BOOST_REQUIRE_MESSAGE(store.ok(), (store.ok() ? "" : to_string(store.error())));
  return *store;
}

}  // namespace swarm::testing

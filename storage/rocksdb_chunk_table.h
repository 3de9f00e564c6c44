/// The chunks of one snapshot as a sorted table of its own, that a database takes in whole and drops
/// whole (docs/checkpoint_format.md).
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <set>
#include <string>

#include "common/buffer.h"
#include "storage/snapshot_manifest.h"

namespace swarm::storage {

/// Of a table that is being written, in the database's directory: RocksDB does not look at it.
inline constexpr char kTableInTheMaking[] = "/incoming.part";

/// Writes the chunks of `value` into a new table in the database's `directory` and has the database take
/// it in. Then they are durable, and found by their keys. `options`: of the database, whose files are
/// table_keeping_files(). Where it fails the next opening deletes what is left of it. `value` is not empty.
rocksdb::Status take_in_chunks(rocksdb::DB& db, const rocksdb::Options& options,
                               const std::string& directory, const SnapshotManifest& manifest,
                               const Buffer& value);

/// Takes the tables of all puts but `kept` out; each is deleted when no iterator is left that could read it.
rocksdb::Status drop_tables_but(rocksdb::DB& db, const std::set<uint64_t>& kept);

/// An upper bound of what any snapshot in the database can hold: nothing is compressed.
uint64_t stored_bytes(rocksdb::DB& db);

/// Whether a put is of before there were tables.
bool is_old(rocksdb::DB& db, const rocksdb::ReadOptions& at, uint64_t put_id);

/// The highest put of which there is a table, or was when tables were joined; 0: there is none.
uint64_t last_put_in_tables(rocksdb::DB& db);

}  // namespace swarm::storage

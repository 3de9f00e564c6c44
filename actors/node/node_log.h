/// A node's log.txt, which stays small (records/segmented_file.h).
#pragma once

#include <string>

#include "actors/net/log.h"
#include "common/result.h"
#include "records/lost_lines.h"
#include "records/segmented_file.h"

namespace swarm::actors {

/// For open_log(). What a full disk does not take, and what says the same again and again, is told as a
/// number; the first in `lost` too. Errors: kIo.
Result<TakeLogLine> open_node_log(const std::string& path, const records::SegmentLimits& limits,
                                  records::LostLines lost = nullptr);

}  // namespace swarm::actors

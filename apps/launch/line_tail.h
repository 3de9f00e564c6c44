/// Lines of files as the parts of the launcher read them.
#pragma once

#include "records/line_tail.h"

namespace swarm::launch {

using records::LineSplitter;
using records::LineTail;

}  // namespace swarm::launch

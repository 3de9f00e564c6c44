/// The pages of the reference that are printed from the catalogue.
#pragma once

#include <string>

namespace swarm::records {

/// docs/events.md. tests/records/reference_test.cc keeps the file equal to it.
std::string events_reference();

}  // namespace swarm::records

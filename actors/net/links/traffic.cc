#include "actors/net/links/links.h"

namespace swarm::actors {

const char* to_string(TrafficClass traffic) {
  switch (traffic) {
    case TrafficClass::kControl:
      return "control";
    case TrafficClass::kGradients:
      return "gradients";
    case TrafficClass::kActivations:
      return "activations";
    case TrafficClass::kState:
      return "state";
  }
  return "unknown";
}

TrafficClass traffic_class(proto::MessageKind kind) {
  switch (kind) {
    case proto::KIND_FORWARD_REPLY:
    case proto::KIND_AVERAGE_PART:
    case proto::KIND_AVERAGE_PART_REPLY:
      return TrafficClass::kGradients;
    case proto::KIND_FORWARD:
      return TrafficClass::kActivations;
    case proto::KIND_STATE_CHUNK_REPLY:
      return TrafficClass::kState;
    default:
      return TrafficClass::kControl;
  }
}

}  // namespace swarm::actors

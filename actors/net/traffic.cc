#include "actors/net/traffic.h"

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

}  // namespace swarm::actors

/// What `swarm bench codec` makes of its measurements. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::apps {

/// Rates are of one core: bytes of float32 values (of memory: bytes read, bytes copied) by seconds
/// of CPU time, in 10^9 a second, one each round.
struct CodecFigures {
  struct Codec {
    std::string name;
    double bytes_per_value = 0;
    std::vector<double> encode_gb_s, decode_gb_s;
    double normal_error = 0;  ///< rms(decoded - value) / rms(value), of normal values ...
    double heavy_error = 0;   ///< ... and of heavy-tailed ones: Student's t, 3 degrees of freedom.
  };
  uint64_t values = 0;  ///< In memory, of each measurement.
  std::vector<double> read_gb_s, copy_gb_s;
  std::vector<Codec> codecs;
};

/// A table for people and one JSON object {"codec": {"memory": {...}, "codecs": [...]}}.
std::string codec_table(const CodecFigures& figures);
std::string codec_json(const CodecFigures& figures);

/// rms(decoded - value) / rms(value). 0 if all values are 0. Requires equal sizes.
double relative_error(const std::vector<float>& values, const std::vector<float>& decoded);

}  // namespace swarm::apps

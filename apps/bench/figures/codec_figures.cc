#include "apps/bench/figures/codec_figures.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {

std::string codec_table(const CodecFigures& figures) {
  TextTable codecs({"codec", "bytes a value", "encode GB/s", "decode GB/s", "error, normal",
                    "error, heavy-tailed"});
  for (const auto& one : figures.codecs)
    codecs.add({one.name, fmt::format("{:.4f}", one.bytes_per_value),
                fmt::format("{:.1f}", median(one.encode_gb_s)),
                fmt::format("{:.1f}", median(one.decode_gb_s)),
                fmt::format("{:.2e}", one.normal_error), fmt::format("{:.2e}", one.heavy_error)});
  TextTable memory({"memory, one core", "GB/s"});
  memory.add({"read", fmt::format("{:.1f}", median(figures.read_gb_s))});
  memory.add({"copy", fmt::format("{:.1f}", median(figures.copy_gb_s))});
  return fmt::format(
      "{}\n{}\n{} values, medians of {} rounds, GB of float32 a second of CPU time\n",
      codecs.text(), memory.text(), figures.values, figures.read_gb_s.size());
}

std::string codec_json(const CodecFigures& figures) {
  auto codecs = nlohmann::json::array();
  for (const auto& one : figures.codecs)
    codecs.push_back({{"codec", one.name},
                      {"bytes_per_value", one.bytes_per_value},
                      {"encode_gb_s", median(one.encode_gb_s)},
                      {"decode_gb_s", median(one.decode_gb_s)},
                      {"normal_error", one.normal_error},
                      {"heavy_error", one.heavy_error},
                      {"rounds_encode_gb_s", one.encode_gb_s},
                      {"rounds_decode_gb_s", one.decode_gb_s}});
  const nlohmann::json memory = {{"read_gb_s", median(figures.read_gb_s)},
                                 {"copy_gb_s", median(figures.copy_gb_s)},
                                 {"rounds_read_gb_s", figures.read_gb_s},
                                 {"rounds_copy_gb_s", figures.copy_gb_s}};
  const nlohmann::json all = {{"values", figures.values}, {"memory", memory}, {"codecs", codecs}};
  return nlohmann::json{{"codec", all}}.dump(2) + "\n";
}

double relative_error(const std::vector<float>& values, const std::vector<float>& decoded) {
  double away = 0, size = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i], difference = double(decoded[i]) - value;
    away += difference * difference;
    size += value * value;
  }
  return size == 0 ? 0 : std::sqrt(away / size);
}

}  // namespace swarm::apps
